import { BOOLEAN, integer } from "../../core/checks.ts";
import { messageOf, NativeCallError, warn } from "../../core/errors.ts";
import type { Context } from "../../core/graph/context.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import type { RingReader, RingWriter, WhenFull } from "../../channel/mod.ts";
import { host } from "../../host/mod.ts";
import { Source } from "../pipeline.ts";
import { StageError } from "../errors.ts";
import { PLACEMENT, several } from "../plan.ts";
import { checks, MOST_AT_A_TIME, Sink } from "../stage.ts";
import { pause } from "../time.ts";

/** What makes rings and joins them: `FrameRing` of `@samepage/interop/channel`, or `ucx.rings()` for other machines. */
export interface Rings {
  /** Makes a ring. */
  create(path: string, options: { readonly frames: readonly Frame[]; readonly whenFull?: WhenFull }): RingWriter<Frame>;
  /** Joins the ring at a path. */
  open(
    path: string,
    options: { readonly contexts: Iterable<Context>; readonly signal?: AbortSignal },
  ): Promise<RingReader<Frame>>;
}

/** Options of {@link toRing}. */
export interface ToRingOptions {
  /**
   * How many frames the ring has; 4 if left out. With `"drop-oldest"`, give it as many as all readers have in flight, which
   * is 4 for each pipeline, and two more: else a slow reader holds what a fast one waits for.
   */
  readonly frames?: number;
  /** What happens while the readers have all of them: the pipeline waits, or readers miss some. */
  readonly whenFull?: WhenFull;
  /** True to wait while there is no reader: before the first one comes, and where one has died until the next one does. */
  readonly join?: boolean;
}

const TO_RING = { frames: integer(2, MOST_AT_A_TIME), whenFull: true, join: BOOLEAN };

/**
 * A sink that hands frames to other processes, in memory that they share, with their metadata and times. The
 * transform before it writes them there; without one, put {@link copy} before it. Readers come and go; the frames of one
 * that dies come back.
 *
 * @param rings `FrameRing`, or `ucx.rings()`
 * @param path the file of the ring's socket, or its address
 * @throws {ArgumentError} for what makes no rings.
 */
export function toRing(rings: Rings, path: string, options: ToRingOptions = {}): Sink {
  assertRings(rings);
  const { frames: count = 4, whenFull, join = false } = checks.optionsIn(options, TO_RING);
  let ring: RingWriter<Frame> | undefined;
  return new Sink({
    name: "to ring",
    allocate: (info) => {
      const allocate = () => host.allocateFrame(info, { ...PLACEMENT, sharable: true });
      const create = (frames: readonly Frame[]) =>
        rings.create(path, { frames, ...whenFull !== undefined && { whenFull } });
      const made = ring = several(info, count, allocate, create);
      return { next: (signal, { media }) => made.next({ signal, ...media !== undefined && { media } }) };
    },
    write: async (frame, { signal }) => {
      if (join) await ring?.joined({ signal });
      if (ring !== undefined) return await ring.publish(frame);
      throw new StageError("to ring", `${frame.name} does not lie in the ring's memory.`, {
        hint: "Put a transform before it that writes new frames: copy(), or one with gives().",
      });
    },
    close: () => ring?.end(),
    abort: () => ring?.[Symbol.asyncDispose](),
  });
}

/** Options of {@link fromRing}. */
export interface FromRingOptions {
  /** Where the frames go: the first context that imports their memory; the host if left out. */
  readonly contexts?: Iterable<Context>;
  /** True to wait for a writer that is not there yet. */
  readonly wait?: boolean;
  /** True to wait for the next writer where one ends, dies or hangs, too: the source never ends by itself then. */
  readonly reconnect?: boolean;
}

const FROM_RING = { contexts: true, wait: BOOLEAN, reconnect: BOOLEAN };

/**
 * The frames of another process's ring, in its memory, with their metadata and times. They can be read.
 *
 * @throws {ArgumentError} for what joins no rings.
 */
export function fromRing(rings: Rings, path: string, options: FromRingOptions = {}): Source {
  assertRings(rings);
  const { contexts = [host], wait = false, reconnect = false } = checks.optionsIn(options, FROM_RING);
  const all = [...contexts];
  return new Source({
    name: "from ring",
    contexts: all,
    async *frames({ signal }) {
      const open = () => rings.open(path, { contexts: all, signal });
      do {
        const reader = await (wait || reconnect ? whenThere(open, signal) : open());
        const lives = new Lives(() => {
          try {
            reader[Symbol.dispose]();
          } catch (error) { // the pipeline may have ended before
            warn(`${reader.resource.name} cannot be left: ${messageOf(error)}`);
          }
        });
        try {
          for (let frame; (frame = await reader.next({ signal })) !== undefined;) yield lives.with(frame);
        } catch (error) { // only its silence says that another machine has died
          if (!reconnect || signal.aborted || !GONE.includes(codeOf(error))) throw error;
        } finally {
          lives.end();
        }
      } while (reconnect);
    },
  });
}

/** Calls back once no more frames come, and all that came have ended: they would end with their reader. */
class Lives {
  readonly #whenOver: () => void;
  #count = 1;

  constructor(whenOver: () => void) {
    this.#whenOver = whenOver;
  }

  with(frame: Frame): Frame {
    this.#count++;
    frame.resource.undo.unshift(() => queueMicrotask(() => this.end())); // its turn ends first
    return frame;
  }

  end(): void {
    if (--this.#count === 0) this.#whenOver();
  }
}

function assertRings(rings: Rings): void {
  if (typeof rings?.create === "function" && typeof rings.open === "function") return;
  throw checks.wrongKind("rings", "FrameRing", rings, "Import it from @samepage/interop/channel, and pass it first.");
}

const AGAIN_MS = 100;

/**
 * How many times in a row joining may fail in the middle. A writer may end or hang while it lets this process in; one that
 * refuses the process does so each time.
 */
const MOST_FAILED = 5;

/** What calls fail with where the writer has ended, died or hangs, over fds and over UCX. */
const GONE: readonly (string | undefined)[] = [
  ...["ECONNRESET", "EPIPE", "ETIMEDOUT"],
  ...["UCS_ERR_CONNECTION_RESET", "UCS_ERR_ENDPOINT_TIMEOUT", "UCS_ERR_SHMEM_SEGMENT", "UCS_ERR_TIMED_OUT"],
];

function codeOf(error: unknown): string | undefined {
  return error instanceof NativeCallError ? error.codeName : undefined;
}

async function whenThere<T>(open: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let failed = 0;;) {
    try {
      return await open();
    } catch (error) {
      signal.throwIfAborted();
      const code = codeOf(error);
      if (GONE.includes(code)) failed++;
      else if (code === "ENOENT" || code === "ECONNREFUSED") failed = 0;
      else throw error; // a failure of this process's own comes again
      if (failed > MOST_FAILED) throw error;
      await pause(AGAIN_MS, signal);
    }
  }
}
