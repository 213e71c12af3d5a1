import type { Resource } from "../life/resource.ts";

/** What a consumer of frames says of itself. */
export interface ConsumerFacts {
  /** CUDA's number of its device, where it takes frames of that device only. */
  readonly ordinal?: number;
  /** True if it takes frames of arrays, false if of pointers; undefined if it takes both. */
  readonly arrays?: boolean;
}

const known: WeakMap<object, StreamEnds> = new WeakMap();

/**
 * What the two ends of a stream of frames know of each other where both are in this process, whichever APIs they are of. For
 * those who write backends.
 */
export class StreamEnds {
  /** The consumer, while it is connected. */
  consumer: ConsumerFacts | undefined;
  /** The producer, while it is connected: the frames that the consumer has end before it. */
  producer: Resource | undefined;
  /** How many frames the consumer has. */
  acquired = 0;

  private constructor() {}

  /** Those of a stream. */
  static of(stream: object): StreamEnds {
    let ends = known.get(stream);
    if (ends === undefined) known.set(stream, ends = new StreamEnds());
    return ends;
  }
}
