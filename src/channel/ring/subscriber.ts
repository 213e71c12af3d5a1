import type { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import { badMessage } from "../errors.ts";
import type { Link } from "./link.ts";
import { type Notice, NOTICES, notify } from "./notice.ts";
import type { Slot } from "./slot.ts";

export class Subscriber<T extends Tensor | Frame> {
  readonly link: Link;
  /** True once the program was warned that this reader holds the writer up. */
  isNamed = false;
  /** How many frames it gets without asking for another. */
  readonly #window: number;
  readonly #onFailure: (error: unknown) => void;
  #unread: Slot<T>[] = [];
  readonly #inHand: Map<number, Slot<T>> = new Map();
  #wantsMore = false;
  #since = 0;

  /** `onFailure` is called if the reader cannot be notified of a frame. */
  constructor(link: Link, window: number, onFailure: (error: unknown) => void) {
    this.link = link;
    this.#window = window;
    this.#onFailure = onFailure;
  }

  isSlow(ms: number): boolean {
    return this.#inHand.size > 0 && performance.now() - this.#since >= ms;
  }

  /** True if it has been notified of all frames queued for it. */
  get isNotified(): boolean {
    return this.#unread.length === 0;
  }

  /** Queues a frame, and notifies the reader if it may have another. */
  queue(slot: Slot<T>): void {
    slot.waitedFor++;
    this.#unread.push(slot);
    this.announce();
  }

  /** Notes that it keeps a frame and waits for another. @throws {MessageError} if it does not have it, or waits already. */
  wantMore(notice: Notice): void {
    this.#has(notice, "keeps");
    if (this.#wantsMore) throw badMessage("notice", "it asks for one more frame twice, before it got one.");
    this.#wantsMore = true;
    this.announce();
  }

  forget(slot: Slot<T>): void {
    this.#unread = this.#unread.filter((other) => other !== slot);
  }

  /** Takes back a frame. @throws {MessageError} if the reader did not have it. */
  release(notice: Notice): Slot<T> {
    const slot = this.#has(notice, "releases");
    this.#inHand.delete(slot.index);
    slot.letGo();
    this.#since = performance.now();
    this.announce();
    return slot;
  }

  /** Ends the reader; yields the frames that it held, then those that it was going to get. */
  *end(): Generator<Slot<T>> {
    for (const slot of this.#inHand.values()) {
      slot.letGo();
      yield slot;
    }
    this.#inHand.clear();
    yield* this.#unread.splice(0);
  }

  #has({ index, sequence }: Notice, does: string): Slot<T> {
    const slot = this.#inHand.get(index);
    if (slot?.notice.sequence === sequence) return slot;
    throw badMessage("notice", `it ${does} a frame that it does not have.`);
  }

  /** Announces the queued frames that it may have. */
  announce(): void {
    while (this.#unread.length > 0 && this.#unread[0].mayBeHeld) {
      if (this.#inHand.size >= this.#window && !this.#wantsMore) return;
      const slot = this.#unread.shift()!;
      if (this.#inHand.size === 0) this.#since = performance.now();
      this.#wantsMore = false;
      this.#inHand.set(slot.index, slot);
      slot.hold();
      notify(this.link, NOTICES.published, slot.notice, this.#onFailure);
    }
  }
}
