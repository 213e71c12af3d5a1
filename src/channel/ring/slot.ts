import { type FrameInfo, frameInfo, type MediaFacts, withMoment } from "../../core/layout/frame_info.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { Metadata } from "../../core/tensors/metadata.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import type { ReusedFrame, TurnFacts } from "../../core/tensors/reused.ts";
import type { Notice } from "./notice.ts";

export interface Held {
  readonly most: number;
  count: number;
}

export class Slot<T extends Tensor | Frame> {
  readonly index: number;
  readonly frame: ReusedFrame<T>;
  notice: Notice;
  /** How many readers hold the frame, or are going to get it. */
  waitedFor = 0;
  /** What the frame is in every turn; undefined for a tensor. */
  readonly #kind: FrameInfo | undefined;
  readonly #held: Held;
  #holders = 0;

  constructor(index: number, frame: ReusedFrame<T>, held: Held) {
    this.index = index;
    this.frame = frame;
    this.notice = { index, sequence: 0, timestamp: undefined };
    this.#kind = frame.whole instanceof Frame ? timeless(frame.whole.info) : undefined;
    this.#held = held;
  }

  /** The frame's facts in a new turn, without metadata. */
  factsOf(media: MediaFacts | undefined): TurnFacts {
    return this.#kind === undefined ? {} : { info: withMoment(this.#kind, media), metadata: noMetadata };
  }

  get isHeld(): boolean {
    return this.#holders > 0;
  }

  get mayBeHeld(): boolean {
    return this.isHeld || this.#held.count < this.#held.most;
  }

  hold(): void {
    if (this.#holders++ === 0) this.#held.count++;
  }

  letGo(): void {
    if (--this.#holders === 0) this.#held.count--;
  }
}

const noMetadata = () => new Metadata();

/** A frame's times from before it joined the ring belong to none of its turns. */
function timeless({ media: _, ...kind }: FrameInfo): FrameInfo {
  return frameInfo(kind as FrameInfo);
}
