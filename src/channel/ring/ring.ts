import { isMade, type Names, optionsIn } from "../../core/argument.ts";
import { ofArgument } from "../../core/errors.ts";
import { allOrNothing, undone } from "../../core/life/undo.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { Tensor } from "../../core/tensors/tensor.ts";
import { type ChannelOptions, checks, readerOptions, signalIn, type SignalOptions } from "../options.ts";
import { connectAs, listen } from "../server.ts";
import type { WhenFull } from "./notice.ts";
import { MAX_FRAMES } from "./beginning.ts";
import { doorOf, joined } from "./by_fd.ts";
import { RingReader } from "./reader.ts";
import { RingWriter } from "./writer.ts";

/** Options of {@link FrameRing.create}. */
export interface RingOptions<T extends Tensor | Frame> extends Pick<ChannelOptions, "allow"> {
  /** The frames, which the ring takes over: all of one kind and size, in memory that other processes can open. */
  readonly frames: readonly T[];
  /**
   * What happens when no frame is free: `"wait"` (the default: no frame is lost, and the slowest reader sets the pace) or
   * `"drop-oldest"` (the writer goes on, and slow readers miss frames).
   */
  readonly whenFull?: WhenFull;
}

/** Options of {@link FrameRing.open}. */
export interface OpenRingOptions extends ChannelOptions, SignalOptions {}

const CREATE: Names<RingOptions<Frame>> = { frames: true, whenFull: true, allow: true };
const OPEN: Names<OpenRingOptions> = { contexts: true, allow: true, signal: true };

const WHEN_FULL: Readonly<Record<WhenFull, true>> = { "wait": true, "drop-oldest": true };

/**
 * A few frames in shared memory, which one process fills and any number of processes read, in turns. No byte is copied:
 * over a Unix socket the processes agree on who has which frame.
 *
 * @example
 * ```ts
 * import { type Frame, host, type HostTensor, imageInfo } from "@samepage/interop";
 * import { FrameRing } from "@samepage/interop/channel";
 *
 * const path = `${await Deno.makeTempDir()}/camera`;
 * const info = imageInfo({ format: "RGBA", width: 64, height: 48 });
 * const frames = Array.from({ length: 4 }, () => host.allocateFrame(info, { sharable: true }));
 * await using camera = FrameRing.create(path, { frames });
 *
 * // In another process, as a rule:
 * await using screen = await FrameRing.open<Frame<HostTensor>>(path, { contexts: [host] });
 *
 * const frame = await camera.next();
 * frame.planes[0].bytes().fill(7);
 * await camera.publish(frame);
 *
 * for await (const shown of screen) {
 *   console.log(screen.sequence, shown.planes[0].bytes()[0]); // 1 7
 *   break;
 * }
 * ```
 */
export class FrameRing {
  private constructor() {}

  /**
   * Makes a ring, and listens at a path for its readers.
   *
   * @throws {ArgumentError} for other frames, and if another process listens there.
   * @throws {NativeCallError} if the socket cannot be made.
   */
  static create<T extends Tensor | Frame>(path: string, options: RingOptions<T>): RingWriter<T> {
    const { allow, ...others } = optionsIn(options, CREATE);
    const { frames, whenFull } = ringOptions(others);
    const server = listen(path, allow === undefined ? {} : { allow });
    return allOrNothing("making a ring", () => new RingWriter(doorOf(server, frames), frames, whenFull), [
      () => server[Symbol.dispose](),
    ]);
  }

  /**
   * Joins the ring at a path. It gives the frames that are published from now on.
   *
   * @typeParam T what the writer's frames are in the first of `contexts` that takes them: `Frame<HostTensor>`
   * @throws {ArgumentError} without a context for its frames.
   * @throws {NativeCallError} ENOENT or ECONNREFUSED if no process listens there; ECONNRESET if its writer ends meanwhile, or
   *     does not let this process in.
   * @throws {MessageError} if it is not a ring, or its memory is not what its writer says.
   */
  static async open<T extends Tensor | Frame = Frame>(path: string, options: OpenRingOptions): Promise<RingReader<T>> {
    const { signal, ...channel } = optionsIn(options, OPEN);
    const wait = signalIn(signal);
    const allowed = readerOptions(channel);
    signal?.throwIfAborted();
    const peer = connectAs<T>(path, allowed);
    try {
      return new RingReader<T>(await joined<T>(peer, wait), `ring at ${path}`);
    } catch (error) {
      throw undone(error, [() => peer[Symbol.dispose]()], "opening a ring");
    }
  }
}

/** Checks what a ring is made of. */
export function ringOptions<T extends Tensor | Frame>({ frames, whenFull = "wait" }: RingOptions<T>): RingParts<T> {
  checks.nameIn(whenFull, WHEN_FULL, "whenFull");
  return { frames: framesIn(frames), whenFull };
}

export interface RingParts<T extends Tensor | Frame> {
  readonly frames: readonly T[];
  readonly whenFull: WhenFull;
}

function framesIn<T extends Tensor | Frame>(given: readonly T[]): readonly T[] {
  if (!Array.isArray(given)) throw checks.wrongKind("frames", "an array of frames", given);
  const frames = checks.itemsIn<T>(given, "frames");
  if (frames.length < 2 || frames.length > MAX_FRAMES) {
    throw checks.wrong("frames", `expected 2 to ${MAX_FRAMES} frames, got ${frames.length}.`);
  }
  const expected = propertiesOf(checkedFrame(frames[0], 0));
  for (const [i, frame] of frames.entries()) {
    const first = frames.indexOf(frame);
    if (first < i) throw checks.wrong(`frames[${i}]`, `it is frames[${first}] again.`);
    const given = propertiesOf(checkedFrame(frame, i));
    const other = Object.keys({ ...expected, ...given }).find((name) => given[name] !== expected[name]);
    if (other === undefined) continue;
    throw checks.wrong(
      `frames[${i}]`,
      `expected the ${other} ${expected[other] ?? "undefined"} of the first, got ${given[other] ?? "undefined"}.`,
    );
  }
  if (shareBytes(frames)) {
    throw checks.wrong("frames", "two of them share bytes, so one would change while the other is read.");
  }
  return frames;
}

function shareBytes(frames: readonly (Tensor | Frame)[]): boolean {
  const byMemory = Map.groupBy(frames.flatMap(({ grants }) => grants), ({ allocation }) => allocation);
  return [...byMemory.values()].some((grants) => {
    const sorted = grants.toSorted((a, b) => a.start - b.start);
    return sorted.some(({ start }, i) => i > 0 && sorted[i - 1].end > start);
  });
}

function checkedFrame<T extends Tensor | Frame>(frame: T, i: number): T {
  if (!isMade(frame, Frame) && !isMade(frame, Tensor)) throw checks.wrongKind(`frames[${i}]`, "a frame", frame);
  try {
    frame.assertUsable("read-write");
  } catch (error) {
    throw ofArgument(error, `frames[${i}]`, `frames[${i}]`);
  }
  return frame;
}

function propertiesOf(frame: Tensor | Frame): Readonly<Record<string, string>> {
  if (!(frame instanceof Frame)) return { dtype: frame.layout.dtype, shape: `[${frame.layout.shape}]` };
  const { media: _, ...kind } = frame.info; // frames of one kind have times of their own
  const info = Object.entries(kind).map(([name, value]) => [name, inWords(value)]);
  return Object.fromEntries([...info, ["planes", frame.planes.map(({ layout }) => `[${layout.shape}]`).join(" and ")]]);
}

function inWords(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : `${value}`;
}
