import { BOOLEAN, integer } from "../../core/checks.ts";
import { messageOf, NativeCallError, warn } from "../../core/errors.ts";
import { type Context, isTarget, type Target } from "../../core/graph/context.ts";
import type { FrameInfo } from "../../core/layout/frame_info.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import { frameAllocator } from "../../core/tensors/over.ts";
import type { RingReader, RingWriter, WhenFull } from "../../channel/mod.ts";
import { host } from "../../host/mod.ts";
import { Source } from "../pipeline.ts";
import { StageError } from "../errors.ts";
import { PLACEMENT, several } from "../plan.ts";
import { checks, MAX_AT_A_TIME, Sink } from "../stage.ts";
import { pause } from "../time.ts";

/** Makes and joins rings: `FrameRing` of `@samepage/interop/channel`, or `ucx.rings()` between machines. */
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
   * How many frames the ring has; 4 if left out. With `"drop-oldest"`, give it two more than all readers have in flight,
   * which is 4 for each pipeline: otherwise a slow reader holds frames that a fast one waits for.
   */
  readonly frames?: number;
  /**
   * The memory of the ring's frames; the host's if left out. With `ucx.rings()` it may be a GPU's: a CUDA context, where
   * the UCX context `takesCuda`.
   */
  readonly memory?: Target;
  /** What happens while the readers hold all frames: the pipeline waits, or readers miss frames. */
  readonly whenFull?: WhenFull;
  /** True to wait while there is no reader: before the first one joins, and after the last one has gone. */
  readonly join?: boolean;
}

const TO_RING = { frames: integer(2, MAX_AT_A_TIME), memory: true, whenFull: true, join: BOOLEAN };

/**
 * A sink that passes frames to other processes in shared memory, with their metadata and times. The transform before it
 * writes them there; without a transform, put {@link copy} before it. Readers come and go; the frames of a reader that dies
 * come back.
 *
 * @param rings `FrameRing`, or `ucx.rings()`
 * @param path the file of the ring's socket, or its address
 * @throws {ArgumentError} for anything that cannot make rings.
 */
export function toRing(rings: Rings, path: string, options: ToRingOptions = {}): Sink {
  assertRings(rings);
  const { frames: count = 4, memory, whenFull, join = false } = checks.optionsIn(options, TO_RING);
  checks.assertText(path, "path");
  const own = memory === undefined ? undefined : allocatorIn(memory);
  let ring: RingWriter<Frame> | undefined;
  return new Sink({
    name: "to ring",
    contexts: memory === undefined ? [] : [memory.context],
    allocate: (info) => {
      const allocate = () => own?.(info) ?? host.allocateFrame(info, { ...PLACEMENT, sharable: true });
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
  /** True to wait also for the next writer after one has ended, died or hung. The source then never ends by itself. */
  readonly reconnect?: boolean;
}

const FROM_RING = { contexts: true, wait: BOOLEAN, reconnect: BOOLEAN };

/**
 * The frames of another process's ring, in that process's memory, with their metadata and times. They can only be read.
 *
 * @throws {ArgumentError} for anything that cannot join rings.
 */
export function fromRing(rings: Rings, path: string, options: FromRingOptions = {}): Source {
  assertRings(rings);
  const { contexts = [host], wait = false, reconnect = false } = checks.optionsIn(options, FROM_RING);
  checks.assertText(path, "path");
  const all = checks.listIn<Context>(contexts, "contexts");
  return new Source({
    name: "from ring",
    contexts: all,
    async *frames({ signal }) {
      const open = () => rings.open(path, { contexts: all, signal });
      do {
        const reader = await (wait || reconnect ? whenThere(open, signal) : open());
        const frames = new OpenFrames(() => {
          try {
            reader[Symbol.dispose]();
          } catch (error) { // warned, not thrown: the pipeline may have ended already
            warn(`${reader.resource.name} cannot be left: ${messageOf(error)}`);
          }
        });
        try {
          for (let frame; (frame = await reader.next({ signal })) !== undefined;) yield frames.with(frame);
        } catch (error) { // the death of another machine shows only as a timeout
          if (!reconnect || signal.aborted || !GONE.includes(codeOf(error))) throw error;
        } finally {
          frames.end();
        }
      } while (reconnect);
    },
  });
}

/** Calls back once the source and all its frames have ended. The reader must live until then: they end with it. */
class OpenFrames {
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

function allocatorIn(memory: Target): (info: FrameInfo) => Frame {
  const allocate = isTarget(memory) ? frameAllocator(memory) : undefined;
  if (allocate !== undefined) return allocate;
  throw checks.wrongKind("memory", "a kind of memory that frames are allocated in", memory, "Pass a CUDA context.");
}

function assertRings(rings: Rings): void {
  if (typeof rings?.create === "function" && typeof rings.open === "function") return;
  throw checks.wrongKind("rings", "FrameRing", rings, "Import it from @samepage/interop/channel, and pass it first.");
}

const AGAIN_MS = 100;

/**
 * How many times in a row joining may fail halfway. A writer may end or hang while it lets this process in; one that
 * refuses this process does so every time.
 */
const MAX_FAILED = 5;

/** Codes of calls that fail because the writer has ended, died or hung, over fds and over UCX. */
const GONE: readonly (string | undefined)[] = [
  ...["ECONNRESET", "EPIPE", "ETIMEDOUT"],
  ...[
    "UCS_ERR_CONNECTION_RESET",
    "UCS_ERR_ENDPOINT_TIMEOUT",
    "UCS_ERR_SHMEM_SEGMENT",
    "UCS_ERR_TIMED_OUT",
    "UCS_ERR_UNREACHABLE",
  ],
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
      else throw error; // this process's own failure, which would only come again
      if (failed > MAX_FAILED) throw error;
      await pause(AGAIN_MS, signal);
    }
  }
}
