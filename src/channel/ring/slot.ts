import type { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import type { Outgoing } from "../transfer.ts";
import type { ReusedFrame } from "../../core/tensors/reused.ts";
import type { Notice } from "./notice.ts";

export interface Held {
  readonly most: number;
  count: number;
}

export class Slot<T extends Tensor | Frame> {
  readonly index: number;
  readonly frame: ReusedFrame<T>;
  readonly message: Outgoing;
  notice: Notice;
  /** How many readers have it, or are going to get it. */
  waitedFor = 0;
  readonly #held: Held;
  #holders = 0;

  constructor(index: number, frame: ReusedFrame<T>, message: Outgoing, held: Held) {
    this.index = index;
    this.frame = frame;
    this.message = message;
    this.notice = { index, sequence: 0, timestamp: undefined };
    this.#held = held;
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
