import type { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import { badMessage } from "../errors.ts";
import type { Link } from "./link.ts";
import { type Notice, NOTICES, tell } from "./notice.ts";
import type { Slot } from "./slot.ts";

export class Subscriber<T extends Tensor | Frame> {
  readonly link: Link;
  /** Was the program warned that it holds the writer up? */
  isNamed = false;
  /** How many frames it gets without asking for one more. */
  readonly #window: number;
  readonly #onFailure: (error: unknown) => void;
  #unread: Slot<T>[] = [];
  readonly #inHand: Map<number, Slot<T>> = new Map();
  #wantsMore = false;
  #since = 0;

  /** It has the ring's memory. `onFailure` is called if it cannot be notified of a frame. */
  constructor(link: Link, window: number, onFailure: (error: unknown) => void) {
    this.link = link;
    this.#window = window;
    this.#onFailure = onFailure;
  }

  isSlow(ms: number): boolean {
    return this.#inHand.size > 0 && performance.now() - this.#since >= ms;
  }

  /** Has it been notified of all frames that were queued for it? */
  get isNotified(): boolean {
    return this.#unread.length === 0;
  }

  /** Queues a frame, and notifies the reader if it may have one more. */
  queue(slot: Slot<T>): void {
    slot.waitedFor++;
    this.#unread.push(slot);
    this.tell();
  }

  /** It keeps a frame, and waits for one more. @throws {MessageError} if it does not have that, or waits already. */
  wantMore(notice: Notice): void {
    this.#has(notice, "keeps");
    if (this.#wantsMore) throw badMessage("notice", "it asks for one more frame twice, before it got one.");
    this.#wantsMore = true;
    this.tell();
  }

  forget(slot: Slot<T>): void {
    this.#unread = this.#unread.filter((other) => other !== slot);
  }

  /** It has finished with a frame. @throws {MessageError} if it did not have that. */
  release(notice: Notice): Slot<T> {
    const slot = this.#has(notice, "releases");
    this.#inHand.delete(slot.index);
    slot.letGo();
    this.#since = performance.now();
    this.tell();
    return slot;
  }

  /** It has gone: what it had, and what it was going to get. */
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

  /** Announces what it may have. */
  tell(): void {
    while (this.#unread.length > 0 && this.#unread[0].mayBeHeld) {
      if (this.#inHand.size >= this.#window && !this.#wantsMore) return;
      const slot = this.#unread.shift()!;
      if (this.#inHand.size === 0) this.#since = performance.now();
      this.#wantsMore = false;
      this.#inHand.set(slot.index, slot);
      slot.hold();
      tell(this.link, NOTICES.published, slot.notice, this.#onFailure);
    }
  }
}
