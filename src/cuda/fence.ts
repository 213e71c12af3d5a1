import { DisposedError } from "../core/errors.ts";
import { Fence } from "../core/life/fence.ts";
import type { CudaContext } from "./context.ts";
import type { Timeline } from "./timeline.ts";

/** A point in the work of a CUDA stream. */
export class CudaFence extends Fence {
  /** The context whose work it is. */
  readonly context: CudaContext;
  /** The stream's commands, in order. */
  readonly line: Timeline;
  /** Which of them it stands behind. */
  readonly mark: number;
  #owners: number;

  /** Made by streams; `owners` is by how many it will be disposed, each once. */
  constructor(context: CudaContext, line: Timeline, mark: number, owners = 1) {
    super();
    this.#owners = owners;
    this.context = context;
    this.line = line;
    this.mark = mark;
  }

  /** True for what this class has made, and not for a proxy of it: for those who write mappers. */
  static override owns(value: object): boolean {
    return #owners in value;
  }

  /** True once the work was seen over. */
  override get over(): boolean {
    return this.line.wasReached(this.mark);
  }

  /** True once the work is done. @throws {CudaLostError} where a kernel has gone wrong. */
  reached(): boolean {
    this.#assertLive();
    return this.line.reached(this.mark);
  }

  /**
   * Blocks until the work is done. It may wait for more, never for less: for what the stream was given behind it, by
   * whomever.
   *
   * @throws {CudaLostError} where a kernel has gone wrong.
   */
  waitSync(): void {
    this.#assertLive();
    this.line.wait(this.mark);
  }

  /** A stream's work ends in order, and what goes wrong in CUDA goes wrong for all that comes after it: for those who write mappers. */
  override supersedes(earlier: Fence): boolean {
    return #owners in earlier && earlier.line === this.line && earlier.mark <= this.mark;
  }

  /** Another owner of the same point. */
  retain(): CudaFence {
    this.#assertLive();
    return new CudaFence(this.context, this.line, this.mark);
  }

  /** Gives up this owner's share. */
  [Symbol.dispose](): void {
    this.#owners--;
  }

  /** At once: nothing of this isolate stands in front of work on a GPU. */
  protected waitable(): undefined {
    return undefined;
  }

  /** cudaEventSynchronize off this thread; the device's context stays until it returns. */
  protected async waitNonblocking(): Promise<void> {
    if (this.over) return;
    const letGo = this.context.keepPrimary();
    try {
      await this.line.waitElsewhere(this.mark);
    } finally {
      letGo();
    }
  }

  #assertLive(): void {
    if (this.#owners <= 0) throw new DisposedError("this fence was disposed.", { api: "cuda" });
  }
}
