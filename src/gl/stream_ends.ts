import { type Names, optionsIn } from "../core/argument.ts";
import type { Checks } from "../core/checks.ts";
import { asked } from "../core/device/asking.ts";
import { whole } from "../core/layout/layout.ts";
import type { Resource } from "../core/life/resource.ts";

/** How a consumer of an `EGLStream` acquires a frame. */
export interface AcquireOptions {
  /**
   * How long it waits for a new frame, in microseconds. Then it acquires the previous frame once more, if the stream keeps
   * that (`reuse`). Left out, it takes new frames only.
   */
  readonly timeout?: number;
}

const OPTIONS: Names<AcquireOptions> = { timeout: true };

/** The largest `EGLint`; CUDA would take twice as much. */
const LONGEST = 2 ** 31 - 1;

/** @throws {ArgumentError} for anything but a number of microseconds. */
export function timeoutIn(checks: Checks, options: AcquireOptions): number | undefined {
  const { timeout } = optionsIn(options, OPTIONS);
  if (timeout === undefined || whole(timeout, "options.timeout", 0) <= LONGEST) return timeout;
  throw checks.wrong("options.timeout", `expected at most ${LONGEST} microseconds, got ${timeout}.`);
}

interface Consumer<F> {
  readonly isOpen: boolean;
  acquire(options?: AcquireOptions): F | undefined;
}

/** The consumer's next frame, while the event loop goes on; undefined once the producer has disconnected. */
export async function nextFrame<F>(consumer: Consumer<F>, timeout = Infinity): Promise<F | undefined> {
  const end = performance.now() + timeout / 1000;
  const { frame } = await asked(() => {
    const frame = consumer.acquire();
    if (frame !== undefined || !consumer.isOpen) return { frame };
    return performance.now() < end ? undefined : { frame: consumer.acquire({ timeout: 0 }) };
  });
  return frame;
}

/** What a stream knows about its consumer. */
export interface ConsumerFacts {
  /** CUDA's number of its device, where it takes frames of that device only. */
  readonly ordinal?: number;
  /** True if it takes frames of arrays, false if of pointers; undefined if it takes both. */
  readonly arrays?: boolean;
}

const known: WeakMap<object, StreamEnds> = new WeakMap();

/** What the two ends of a stream in one process know about each other, whichever APIs they belong to. For backends. */
export class StreamEnds {
  /** The consumer, while it is connected. */
  consumer: ConsumerFacts | undefined;
  /** The producer, while it is connected: the frames that the consumer holds end before it. */
  producer: Resource | undefined;
  /** How many frames the consumer holds. */
  acquired = 0;
  /** How many frames the producer has put in so far. */
  presented = 0;
  /** The number of the frame that the consumer acquired last. */
  consumed = 0;

  private constructor() {}

  /** The ends of a stream. */
  static of(stream: object): StreamEnds {
    let ends = known.get(stream);
    if (ends === undefined) known.set(stream, ends = new StreamEnds());
    return ends;
  }

  /** True if both ends are in this process: then the driver need not be asked what they have done. */
  get hasBothEnds(): boolean {
    return this.consumer !== undefined && this.producer !== undefined;
  }

  /** How many frames the consumer has acquired so far. If it is in another process, the stream is asked. */
  consumedOf(stream: { readonly consumed: number }): number {
    return this.hasBothEnds ? this.consumed : stream.consumed;
  }

  /** True if the stream takes another frame. A mailbox always does. */
  hasRoom(fifo: number, consumed: number): boolean {
    return fifo === 0 || this.presented - consumed < fifo;
  }

  /** With no new frame: true if the driver still has the previous one, or may get a new one during the wait. */
  mayAcquire(state: string, timeout: number | undefined): boolean {
    if (timeout === undefined) return false;
    return state === "old-frame" || (state === "empty" && timeout > 0 && !this.hasBothEnds);
  }

  /** Counts a frame that the consumer has acquired: the next one (in a mailbox, the newest), or the previous one again. */
  acquire(fifo: number, isNew: boolean): void {
    this.acquired++;
    if (isNew) this.consumed = fifo > 0 ? this.consumed + 1 : this.presented;
  }
}
