import { isMade, literal, type Names, optionsIn } from "../../core/argument.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { allOrNothing, type Undo } from "../../core/life/undo.ts";
import { type MediaFacts, mediaFacts } from "../../core/layout/frame_info.ts";
import { Given } from "../../core/memory/view.ts";
import { Pace, SLOW_MS } from "../../core/pace.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { Tensor } from "../../core/tensors/tensor.ts";
import { warn } from "../../core/errors.ts";
import { checks, signalIn, type SignalOptions } from "../options.ts";
import { Turns } from "../../core/turns.ts";
import { Audience } from "./audience.ts";
import { ReusedFrame } from "../../core/tensors/reused.ts";
import { encodedFacts } from "./facts.ts";
import type { Door } from "./link.ts";
import { isTimestamp, mostHeld, type WhenFull } from "./notice.ts";
import { Polling } from "./polling.ts";
import { type Held, Slot } from "./slot.ts";

/** Options of {@link RingWriter.next}. */
export interface NextOptions extends SignalOptions {
  /** Codec facts about the frame to be filled in: its `info.media`, which readers get. */
  readonly media?: MediaFacts;
}

/** Options of {@link RingWriter.publish}. */
export interface PublishOptions {
  /** When it was made, in nanoseconds; by default what the frame's metadata says. */
  readonly timestamp?: bigint;
}

const WAIT: Names<SignalOptions> = { signal: true };
const NEXT: Names<NextOptions> = { ...WAIT, media: true };
const PUBLISH: Names<PublishOptions> = { timestamp: true };

interface Turn<T extends Tensor | Frame> {
  readonly slot: Slot<T>;
  published: boolean;
}

/** A frame that a ring has lent to its program: it knows its turn. */
class Lent extends Given {
  readonly #turn: Turn<Tensor | Frame>;

  constructor(frame: Tensor | Frame, turn: Turn<Tensor | Frame>) {
    super(frame);
    this.#turn = turn;
  }

  static turnOf(frame: object): Turn<Tensor | Frame> | undefined {
    return #turn in frame ? frame.#turn : undefined;
  }
}

/**
 * The side of a ring that fills its frames. It listens until it is disposed, and keeps the process alive.
 *
 * Readers come and go at any time. If one ends in the middle of a frame, for whatever reason, the kernel reports its end,
 * and the frame comes back.
 */
export class RingWriter<T extends Tensor | Frame = Frame> extends NativeObject {
  /** Its end of life: readers see the end of the ring, and keep the frames that they have. */
  readonly resource: Resource;
  /** Where it listens: the socket's file. */
  readonly path: string;
  readonly #slots: readonly Slot<T>[];
  readonly #free: Slot<T>[];
  readonly #audience: Audience<T>;
  readonly #publishing: Turns = new Turns();
  /** A change wakes one of the tasks that wait for a frame. */
  readonly #waiting: Turns = new Turns();
  readonly #polling: Polling = new Polling();
  readonly #pace: Pace = new Pace();
  #sequence = 0;
  /** True once the program was warned that it holds itself up. */
  #isNamed = false;
  #writable: WritableStream<T> | undefined;

  /** Takes door and frames over: made by {@link FrameRing.create}. */
  constructor(door: Door, frames: readonly T[], whenFull: WhenFull) {
    super();
    this.path = door.path;
    const release: Undo = [];
    const name = `ring at ${door.path}`;
    const slots = slotsOf(frames, name, { most: mostHeld(frames.length, whenFull), count: 0 }, release);
    this.#slots = slots;
    this.#free = [...slots];
    this.resource = new Resource({ name, undo: [...release, () => this.#audience.changes.wake()] });
    this.#audience = new Audience({ ring: this.resource, slots, whenFull, onFree: (slot) => this.#free.push(slot) });
    for (const frame of frames) frame.resource.dependOn(this.resource);
    door.resource.dependOn(this.resource);
    this.#audience.listen(door);
  }

  /** How many readers there are. */
  get readers(): number {
    return this.#audience.size;
  }

  /** A stream whose writes publish frames of {@link next}. Its close waits until all of them were read. */
  get writable(): WritableStream<T> {
    return this.#writable ??= new WritableStream<T>({
      write: async (frame) => void await this.publish(frame),
      close: () => this.flush(),
    });
  }

  /**
   * A frame to fill in place. Publish it, or dispose it to give it back unread.
   *
   * If none is free, it waits until the slowest reader has released one. With `whenFull: "drop-oldest"` it takes the
   * oldest frame that was announced to no reader. If this program holds all frames itself, it waits until another of its
   * tasks publishes or disposes one. A warning names a reader that it waits for longer than 5 s.
   *
   * @throws {ArgumentError} for wrong `media`, and for those of a ring of tensors.
   * @throws {DisposedError} if the ring is disposed, before or during the wait.
   */
  async next(options: NextOptions = {}): Promise<T> {
    const { signal: given, media } = optionsIn(options, NEXT);
    const { signal } = signalIn(given);
    const facts = media === undefined ? undefined : this.#mediaOf(media);
    const turn = this.#pace.next();
    const slot = turn !== undefined || this.#waiting.isBusy ? undefined : this.#room();
    return this.#lend(slot ?? await this.#waiting.run(() => this.#waitForRoom(signal, turn), signal), facts);
  }

  /**
   * Passes a filled frame to all readers, with its metadata and its `info.media`, and returns its sequence number. The
   * frame is disposed, so its work and its maps end first. If they fail, nothing is published.
   *
   * @throws {ArgumentError} if the frame is not from {@link next}, or was published or disposed before, or if its metadata
   *     is longer than 64 KiB. Then it can still be published.
   * @throws {DisposedError} if the ring is disposed.
   */
  async publish(frame: T, options: PublishOptions = {}): Promise<number> {
    const { timestamp: given } = optionsIn(options, PUBLISH);
    if (given !== undefined && typeof given !== "bigint") throw checks.wrongKind("timestamp", "a bigint", given);
    const turn = this.#turnOf(frame);
    const timestamp = given ?? (frame instanceof Frame ? frame.metadataIfMade?.get("timestamp")?.pts : undefined);
    if (timestamp !== undefined && !isTimestamp(timestamp)) {
      throw checks.wrong("timestamp", `expected a bigint between -2^63 and 2^63, got ${literal(timestamp)}.`);
    }
    const facts = frame instanceof Frame ? encodedFacts(frame) : undefined;
    turn.published = true; // before its turn comes: who disposes or publishes it meanwhile does not give it back
    const isFirst = !this.#publishing.isBusy;
    const ending = isFirst ? this.#end(frame, turn.slot) : undefined;
    if (isFirst && ending === undefined) return this.#announce(turn.slot, timestamp, facts);
    return await this.#publishing.run(async () => {
      await (isFirst ? ending : this.#end(frame, turn.slot));
      return this.#announce(turn.slot, timestamp, facts);
    });
  }

  /**
   * Waits until there is a reader. Readers do not see what was published before they joined.
   *
   * @throws {DisposedError} if the ring is disposed, before or during the wait.
   */
  async joined(options: SignalOptions = {}): Promise<void> {
    const { signal } = signalIn(optionsIn(options, WAIT).signal);
    this.resource.assertLive();
    while (this.readers === 0) {
      await this.#audience.changes.next(signal);
      this.resource.assertLive();
    }
  }

  /** Waits until every reader has released every frame. */
  async flush(options: SignalOptions = {}): Promise<void> {
    const { signal } = signalIn(optionsIn(options, WAIT).signal);
    while (this.#audience.waitedFor > 0 && this.resource.isLive) await this.#audience.change(signal);
  }

  /**
   * Ends the ring once every reader has been notified of every published frame: readers read those, then see the end, and
   * keep their frames for as long as they want. Use it rather than {@link flush} if a reader may keep a frame until it
   * sees the end, as an encoder does: flush() would wait for that frame for ever.
   */
  async end(options: SignalOptions = {}): Promise<void> {
    const { signal } = signalIn(optionsIn(options, WAIT).signal);
    await this.#publishing.run(() => this.#audience.notified(signal), signal);
    await this[Symbol.asyncDispose]();
  }

  #turnOf(frame: T): Turn<T> {
    const given: unknown = frame;
    if (given instanceof Promise) {
      throw checks.wrong("frame", "expected a frame, got a promise.", "Await it: ring.publish(await ring.next()).");
    }
    if (!isMade(frame, Frame) && !isMade(frame, Tensor)) throw checks.wrongKind("frame", "a frame", given);
    this.resource.assertLive();
    const turn = Lent.turnOf(frame) as Turn<T> | undefined;
    if (turn === undefined || turn.slot !== this.#slots[turn.slot.index]) {
      throw checks.wrong("frame", `expected one of ring.next(), got ${frame.name}.`);
    }
    const hint = "Ask for another: await ring.next().";
    if (turn.published) throw checks.wrong("frame", `${frame.name} was published before.`, hint);
    if (!frame.resource.isLive) {
      throw checks.wrong("frame", `${frame.name} was disposed, and by that given back unread.`, hint);
    }
    return turn;
  }

  #room(): Slot<T> | undefined {
    this.resource.assertLive();
    if (this.#free.length === 0) this.#audience.takeNotices();
    return this.#free.shift() ?? this.#audience.takeOldest();
  }

  async #waitForRoom(signal: AbortSignal | undefined, turn: Promise<void> | undefined): Promise<Slot<T>> {
    await turn;
    signal?.throwIfAborted();
    const ask = () => this.#room(); // one may have come while others had their turns
    const slot = ask() ?? (this.#audience.waitedFor > 0 ? this.#polling.spin(ask) : undefined);
    if (slot !== undefined) return slot;
    return await this.#polling.until(ask, () => this.#audience.change(signal), () => this.#nameWhoIsWaitedFor());
  }

  #nameWhoIsWaitedFor(): void {
    if (this.#audience.waitedFor > 0) return this.#audience.nameSlow(SLOW_MS);
    if (this.#isNamed) return;
    this.#isNamed = true;
    warn(
      `${this.resource.name} waits: this program has had all ${this.#slots.length} frames for ${SLOW_MS / 1000} s. ` +
        "Publish or dispose one.",
    );
  }

  #mediaOf(media: MediaFacts): MediaFacts {
    if (this.#slots[0].frame.whole instanceof Frame) return mediaFacts(media);
    throw checks.wrong("media", "a ring of tensors has none.", "Make it of frames.");
  }

  #lend(slot: Slot<T>, media: MediaFacts | undefined): T {
    const turn: Turn<T> = { slot, published: false };
    const atEnd = () => {
      if (!turn.published) this.#giveBack(slot);
    };
    let frame: T;
    try {
      frame = slot.frame.lend("read-write", atEnd, slot.factsOf(media));
    } catch (error) {
      atEnd(); // a tensor over the same memory is in use
      throw error;
    }
    new Lent(frame, turn);
    return frame;
  }

  #giveBack(slot: Slot<T>): void {
    this.#free.push(slot);
    this.#audience.changes.wake();
  }

  /** Ends a frame that is published; undefined where there is nothing to wait for. */
  #end(frame: T, slot: Slot<T>): Promise<void> | undefined {
    const giveBack = (error: unknown) => {
      this.#giveBack(slot);
      throw error;
    };
    frame.resource.ending = "published";
    try {
      return frame.disposeSoon()?.catch(giveBack);
    } catch (error) {
      return giveBack(error);
    }
  }

  #announce(slot: Slot<T>, timestamp: bigint | undefined, facts: Uint8Array | undefined): number {
    this.resource.assertLive();
    const sequence = ++this.#sequence;
    slot.notice = { index: slot.index, sequence, timestamp, facts };
    this.#audience.publish(slot);
    if (this.#free.length === 0) this.#audience.takeNotices(); // while the readers are at work, and not before the next frame
    return sequence;
  }
}

function slotsOf<T extends Tensor | Frame>(
  frames: readonly T[],
  name: string,
  held: Held,
  release: Undo,
): readonly Slot<T>[] {
  return allOrNothing("making a ring", () =>
    frames.map((whole, i) => {
      const frame = new ReusedFrame(whole, `frame ${i} of ${name}`);
      release.push(frame.takeOver(name));
      return new Slot(i, frame, held);
    }), release);
}
