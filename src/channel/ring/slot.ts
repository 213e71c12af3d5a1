import type { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import type { Outgoing } from "../transfer.ts";
import type { RingFrame } from "./lend.ts";
import type { Notice } from "./notice.ts";

/** How many of a ring's frames readers hold. */
export interface Held {
  /** How many they may. */
  readonly most: number;
  /** How many they do. */
  count: number;
}

/** One frame of a ring, as its writer sees it. */
export class Slot<T extends Tensor | Frame> {
  /** Its number. */
  readonly index: number;
  /** The memory, for all turns. */
  readonly frame: RingFrame<T>;
  /** What a reader gets once. */
  readonly message: Outgoing;
  /** Its last turn. */
  notice: Notice;
  /** How many readers have it, or are going to get it. */
  waitedFor = 0;
  readonly #held: Held;
  /** How many readers have it. */
  #holders = 0;

  /** It is free. */
  constructor(index: number, frame: RingFrame<T>, message: Outgoing, held: Held) {
    this.index = index;
    this.frame = frame;
    this.message = message;
    this.notice = { index, sequence: 0, timestamp: undefined };
    this.#held = held;
  }

  /** Does a reader have it? */
  get isHeld(): boolean {
    return this.#holders > 0;
  }

  /** May a reader get it? */
  get mayBeHeld(): boolean {
    return this.isHeld || this.#held.count < this.#held.most;
  }

  /** A reader gets it. */
  hold(): void {
    if (this.#holders++ === 0) this.#held.count++;
  }

  /** A reader has it no more. */
  letGo(): void {
    if (--this.#holders === 0) this.#held.count--;
  }
}
