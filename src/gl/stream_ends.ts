import type { Resource } from "../core/life/resource.ts";

/** What a consumer of frames says of itself. */
export interface ConsumerFacts {
  /** CUDA's number of its device, where it takes frames of that device only. */
  readonly ordinal?: number;
  /** True if it takes frames of arrays, false if of pointers; undefined if it takes both. */
  readonly arrays?: boolean;
}

const known: WeakMap<object, StreamEnds> = new WeakMap();

/** What the two ends of a stream of frames in one process know of each other, of whichever APIs. For backends. */
export class StreamEnds {
  /** The consumer, while it is connected. */
  consumer: ConsumerFacts | undefined;
  /** The producer, while it is connected: the frames that the consumer has end before it. */
  producer: Resource | undefined;
  /** How many frames the consumer has. */
  acquired = 0;
  /** How many frames the producer has put in so far. */
  presented = 0;
  /** The number of the frame that the consumer has acquired last. */
  consumed = 0;

  private constructor() {}

  /** Those of a stream. */
  static of(stream: object): StreamEnds {
    let ends = known.get(stream);
    if (ends === undefined) known.set(stream, ends = new StreamEnds());
    return ends;
  }

  /** True if both are here: then the driver need not be asked what they have done. */
  get isNear(): boolean {
    return this.consumer !== undefined && this.producer !== undefined;
  }

  /** The consumer has one frame more: the next, or of a mailbox the newest. */
  acquire(fifo: number): void {
    this.acquired++;
    this.consumed = fifo > 0 ? this.consumed + 1 : this.presented;
  }
}
