import { unlessAborted } from "../core/device/fence.ts";
import { messageOf, throwAll, warn } from "../core/errors.ts";
import type { FrameInfo } from "../core/layout/frame_info.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Metadata } from "../core/tensors/metadata.ts";
import { ReusedFrame, type TurnFacts } from "../core/tensors/reused.ts";
import { Turns } from "../core/turns.ts";

/** The frames that a stage writes: allocated once, and lent again and again. */
export class Slots implements AsyncDisposable {
  /** Bytes of all of them. */
  readonly byteLength: number;
  readonly #frames: readonly ReusedFrame<Frame>[];
  readonly #free: ReusedFrame<Frame>[];
  /** A frame that comes free wakes one of those that wait. */
  readonly #turns = new Turns();
  #wake: (() => void) | undefined;
  #isOver = false;

  /** Takes the frames over. */
  constructor(frames: readonly Frame[], stage: string) {
    this.byteLength = frames.reduce((sum, { byteLength }) => sum + byteLength, 0);
    this.#frames = frames.map((frame) => new ReusedFrame(frame, `a frame of ${stage}`));
    this.#free = [...this.#frames];
  }

  /** One of the frames, to ask what can be done with all of them. */
  get example(): Frame {
    return this.#frames[0].whole;
  }

  /** True if all are free, and no stage waits for one. */
  get isIdle(): boolean {
    return this.#free.length === this.#frames.length && !this.#turns.isBusy;
  }

  /** How many there are. */
  get count(): number {
    return this.#frames.length;
  }

  /** The next free frame, with these facts and this metadata. */
  async next(signal: AbortSignal, info: FrameInfo, metadata: Metadata): Promise<Frame> {
    const facts = { info, metadata };
    if (this.#free.length > 0 && !this.#turns.isBusy) return this.#lend(facts);
    return await this.#turns.run(async () => {
      await this.#waited(signal);
      return this.#lend(facts);
    }, signal);
  }

  #lend(facts: TurnFacts): Frame {
    const [frame] = this.#free;
    const lent = frame.lend("read-write", () => this.#giveBack(frame), facts);
    this.#free.shift(); // only now: lend() throws if a tensor over the same memory is in use
    return lent;
  }

  async #waited(signal: AbortSignal): Promise<void> {
    while (this.#free.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await unlessAborted(promise, signal);
    }
  }

  #giveBack(frame: ReusedFrame<Frame>): void {
    if (this.#isOver) return queueMicrotask(() => this.#end(frame)); // its turn ends first
    this.#free.push(frame);
    this.#wake?.();
  }

  /** Disposes the frames. One that a program has taken out of the pipeline ends once the program disposes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    const ends = await Promise.allSettled(this.#free.map(({ whole }) => whole[Symbol.asyncDispose]()));
    throwAll(ends.flatMap((end) => end.status === "rejected" ? [end.reason] : []), "giving frames back");
  }

  /** Warns instead of throwing: the pipeline has ended, so there is no caller to throw to. */
  #end({ whole }: ReusedFrame<Frame>): void {
    try {
      whole[Symbol.dispose]();
    } catch (error) {
      warn(`${whole.name} cannot be given back: ${messageOf(error)}`);
    }
  }
}
