import { messageOf, warn } from "../../core/errors.ts";
import type { Resource } from "../../core/life/resource.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import type { Look } from "../packet.ts";
import { beginningOf } from "./beginning.ts";
import { Changes } from "./changes.ts";
import type { Arrival, Door } from "./link.ts";
import { isEnd, noticeOf, NOTICES, type ReceivedNotice, type WhenFull } from "./notice.ts";
import type { Slot } from "./slot.ts";
import { Subscriber } from "./subscriber.ts";

const RETRY_MS = 100;

/** The notices that a reader may send. One that may hold all frames never waits for another. */
const ACCEPTED: Readonly<Record<WhenFull, Look<ReceivedNotice>>> = {
  "wait": noticeOf([NOTICES.released]),
  "drop-oldest": noticeOf([NOTICES.released, NOTICES.wanted]),
};

interface AudienceInit<T extends Tensor | Frame> {
  readonly ring: Resource;
  readonly slots: readonly Slot<T>[];
  readonly whenFull: WhenFull;
  /** Called with a frame once no reader waits for it. */
  readonly onFree: (slot: Slot<T>) => void;
}

/** The writer's side of a ring's readers: lets them in, announces frames, and takes note of the frames they release. */
export class Audience<T extends Tensor | Frame> {
  /** Reports when a reader comes, goes, or gives a frame back. */
  readonly changes: Changes = new Changes();
  readonly #ring: Resource;
  readonly #slots: readonly Slot<T>[];
  readonly #whenFull: WhenFull;
  readonly #onFree: (slot: Slot<T>) => void;
  readonly #readers: Set<Subscriber<T>> = new Set();
  /** The frames that readers wait for, the oldest first. */
  readonly #published: Set<Slot<T>> = new Set();

  constructor({ ring, slots, whenFull, onFree }: AudienceInit<T>) {
    this.#ring = ring;
    this.#slots = slots;
    this.#whenFull = whenFull;
    this.#onFree = onFree;
  }

  get size(): number {
    return this.#readers.size;
  }

  /** How many frames readers hold, or are going to get. */
  get waitedFor(): number {
    return this.#published.size;
  }

  async listen(door: Door): Promise<void> {
    while (door.resource.isLive) {
      try {
        for await (const arrival of door) this.#serve(arrival);
      } catch (error) { // too many fds are open, perhaps for a moment
        warn(`${this.#ring.name} cannot take a reader, and tries again: ${messageOf(error)}`);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  publish(slot: Slot<T>): void {
    this.#published.add(slot);
    for (const reader of this.#readers) reader.queue(slot);
    this.#freeIfUnwanted(slot);
  }

  /** For "drop-oldest": takes back the oldest frame not yet announced; returns undefined if all are announced. */
  takeOldest(): Slot<T> | undefined {
    if (this.#whenFull === "wait") return undefined;
    for (const slot of this.#published) {
      if (slot.isHeld) continue;
      for (const reader of this.#readers) reader.forget(slot);
      slot.waitedFor = 0;
      this.#published.delete(slot);
      return slot;
    }
  }

  takeNotices(): void {
    for (const reader of this.#readers) if (!this.#takeAll(reader)) this.#end(reader);
  }

  /** Waits until every reader has been notified of every frame, or has gone. */
  async notified(signal: AbortSignal | undefined): Promise<void> {
    while (this.#ring.isLive && !this.#readers.values().every(({ isNotified }) => isNotified)) {
      await this.change(signal);
    }
    await Promise.all(this.#readers.values().map(({ link }) => link.sent(signal)));
  }

  async change(signal: AbortSignal | undefined): Promise<void> {
    const over = new AbortController();
    const waiting = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
    const words = [...this.#readers].map(({ link }) => link.ready("read", waiting).catch(() => {}));
    try {
      await Promise.race([this.changes.next(waiting), ...words]);
    } finally {
      over.abort();
    }
    signal?.throwIfAborted();
    this.takeNotices();
  }

  /** Warns, once for each reader, about those that have held frames for so long and released none. */
  nameSlow(ms: number): void {
    for (const reader of this.#readers) {
      if (reader.isNamed || !reader.isSlow(ms)) continue;
      reader.isNamed = true;
      warn(
        `${this.#ring.name} waits: ${reader.link.who} has not released a frame for ${ms / 1000} s. ` +
          'Have it dispose its frames, or pass { whenFull: "drop-oldest" }.',
      );
    }
  }

  async #serve(arrival: Arrival): Promise<void> {
    let reader: Subscriber<T>;
    try {
      const link = await arrival.welcome(
        this.#ring,
        beginningOf({ count: this.#slots.length, whenFull: this.#whenFull }),
      );
      // A frame can be dropped only before it is announced. So a reader gets notice of one frame, and of more if it asks.
      const window = this.#whenFull === "wait" ? this.#slots.length : 1;
      reader = new Subscriber<T>(link, window, (error) => this.#lose(reader, error));
    } catch (error) {
      if (!isEnd(error) && this.#ring.isLive) this.#turnAway(error);
      return;
    }
    try {
      this.#readers.add(reader);
      this.changes.wake();
      // Releases are read when a frame is needed, because waking up for each would cost more than all else. But a reader
      // that may have one frame at a time needs a notice of the next.
      const event = this.#whenFull === "wait" ? "hang-up" : "read";
      do await reader.link.ready(event, undefined); while (this.#takeAll(reader));
    } catch (error) {
      this.#lose(reader, error);
    } finally {
      this.#end(reader);
    }
  }

  /**
   * Takes all notices of a reader, which cannot be endless: it may release each frame that it has once, and ask once for
   * another. Returns false once it has ended, or has sent anything else.
   */
  #takeAll(reader: Subscriber<T>): boolean {
    const { link } = reader;
    try {
      while (link.resource.isLive) {
        const notice = link.take(ACCEPTED[this.#whenFull]);
        if (notice === "later") return true;
        if (notice === "ended") return false;
        this.#take(reader, notice);
      }
    } catch (error) {
      this.#lose(reader, error);
    }
    return false;
  }

  #take(reader: Subscriber<T>, notice: ReceivedNotice): void {
    if (notice.kind === NOTICES.wanted) reader.wantMore(notice);
    else this.#letGo(reader.release(notice));
  }

  /** Drops a reader that can no longer be reached, or has broken the rules; the latter with a warning. */
  #lose(reader: Subscriber<T>, error: unknown): void {
    const { resource } = reader.link;
    if (!isEnd(error) && resource.isLive) this.#turnAway(error);
    this.#end(reader);
    resource.dispose();
  }

  #turnAway(error: unknown): void {
    warn(`${this.#ring.name} turns a reader away: ${messageOf(error)}`);
  }

  #end(reader: Subscriber<T>): void {
    if (!this.#readers.delete(reader)) return;
    for (const slot of reader.end()) this.#letGo(slot);
    reader.link.resource.dispose();
    this.changes.wake();
  }

  #letGo(slot: Slot<T>): void {
    slot.waitedFor--;
    this.#freeIfUnwanted(slot);
    if (this.#whenFull === "wait") return;
    for (const reader of this.#readers) reader.announce(); // one more may be held now
  }

  #freeIfUnwanted(slot: Slot<T>): void {
    if (slot.waitedFor > 0) return;
    this.#published.delete(slot);
    this.#onFree(slot);
    this.changes.wake();
  }
}
