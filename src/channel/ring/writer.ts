import { isMade, literal, type Names, optionsIn } from "../../core/argument.ts";
import { AccessError, messageOf, throwAll } from "../../core/errors.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import { sealAgainstWriters } from "../../core/native/memfd.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { Tensor } from "../../core/tensors/tensor.ts";
import { warn } from "../../core/warn.ts";
import { badMessage } from "../errors.ts";
import { encoded, KINDS } from "../message.ts";
import { checks, signalIn, type SignalOptions } from "../options.ts";
import { type Packet, receivePacket } from "../packet.ts";
import { connectionOf, type Peer } from "../peer.ts";
import type { Server } from "../server.ts";
import { outgoing } from "../transfer.ts";
import { Turns } from "../turns.ts";
import { Changes } from "./changes.ts";
import { lend, takeOver } from "./lend.ts";
import { isEnd, isTimestamp, mostHeld, noticeIn, NOTICES, type WhenFull } from "./notice.ts";
import { Polling } from "./polling.ts";
import { type Held, Slot, Subscriber } from "./slot.ts";

/** Options of {@link RingWriter.publish}. */
export interface PublishOptions {
  /** When it was made, in nanoseconds; by default what the frame's metadata says. */
  readonly timestamp?: bigint;
}

/** How long to wait where a reader cannot be taken, in milliseconds. */
const RETRY_MS = 100;

/** A reader that has released nothing for so long, while the writer waits, is named in a warning. */
const SLOW_MS = 5000;

const WAIT: Names<SignalOptions> = { signal: true };
const PUBLISH: Names<PublishOptions> = { timestamp: true };

/** A frame on its way from `next` to `publish`. */
interface Turn<T extends Tensor | Frame> {
  readonly slot: Slot<T>;
  published: boolean;
}

/**
 * The side of a ring that fills its frames. It listens until it is disposed, and keeps the process alive.
 *
 * Readers come and go at any time. One that ends in the middle of a frame, by whatever cause, gives it back by that: the
 * kernel tells.
 */
export class RingWriter<T extends Tensor | Frame = Frame> extends NativeObject {
  /** Its end of life: readers see the end of the ring, and keep the frames that they have. */
  readonly resource: Resource;
  /** The socket's file. */
  readonly path: string;
  readonly #slots: readonly Slot<T>[];
  readonly #whenFull: WhenFull;
  readonly #free: Slot<T>[];
  /** The frames that readers wait for, the oldest first. */
  readonly #published: Set<Slot<T>> = new Set();
  readonly #turns: WeakMap<object, Turn<T>> = new WeakMap();
  /** The turns of the frames that the program has, and those frames' ends of life. */
  readonly #filling: Map<Turn<T>, Resource> = new Map();
  readonly #readers: Set<Subscriber<T>> = new Set();
  readonly #changes: Changes = new Changes();
  readonly #publishing: Turns = new Turns();
  readonly #polling: Polling = new Polling();
  #sequence = 0;
  #writable: WritableStream<T> | undefined;

  /** Takes server and frames over: made by {@link FrameRing.create}. */
  constructor(server: Server, frames: readonly T[], whenFull: WhenFull) {
    super();
    this.path = server.path;
    this.#whenFull = whenFull;
    const release: Undo = [];
    const name = `ring at ${server.path}`;
    this.#slots = slotsOf(frames, name, { most: mostHeld(frames.length, whenFull), count: 0 }, release);
    this.#free = [...this.#slots];
    this.resource = new Resource({ name, undo: [...release, () => this.#changes.tell()] });
    for (const frame of frames) frame.resource.dependOn(this.resource);
    server.resource.dependOn(this.resource);
    this.#listen(server);
  }

  /** How many readers there are. */
  get readers(): number {
    return this.#readers.size;
  }

  /** A stream of frames: what {@link next} gave is published by a write. Its end waits until all of them were read. */
  get writable(): WritableStream<T> {
    return this.#writable ??= new WritableStream<T>({
      write: async (frame) => void await this.publish(frame),
      close: () => this.flush(),
    });
  }

  /**
   * A frame to fill: its memory itself. Publish it, or dispose it to give it back unread.
   *
   * If none is free, it waits until the slowest reader has released one. With `whenFull: "drop-oldest"` it takes the oldest
   * frame that no reader was told of: there is always one.
   *
   * @throws {AccessError} if this program has all frames itself: that wait would not end.
   * @throws {DisposedError} if the ring is disposed, before or during the wait.
   */
  async next(options: SignalOptions = {}): Promise<T> {
    const { signal } = signalIn(optionsIn(options, WAIT).signal);
    let warning: ReturnType<typeof setInterval> | undefined;
    const wait = () => {
      warning ??= setInterval(() => this.#nameSlowReaders(), SLOW_MS);
      return this.#change(signal);
    };
    try {
      return this.#lend(await this.#polling.until(() => this.#room(), wait));
    } finally {
      clearInterval(warning);
    }
  }

  /**
   * Gives a filled frame to all readers, and answers its sequence number. The frame is disposed, so its work and its maps end
   * first. If they fail, nothing is published.
   *
   * @throws {ArgumentError} if the frame is not from {@link next}, or was published or disposed before.
   * @throws {DisposedError} if the ring is disposed.
   */
  async publish(frame: T, options: PublishOptions = {}): Promise<number> {
    const { timestamp: given } = optionsIn(options, PUBLISH);
    if (given !== undefined && typeof given !== "bigint") throw checks.wrongKind("timestamp", "a bigint", given);
    const turn = this.#turnOf(frame);
    const timestamp = given ?? (frame instanceof Frame ? frame.metadata.get("timestamp") : undefined);
    if (timestamp !== undefined && !isTimestamp(timestamp)) {
      throw checks.wrong("timestamp", `expected a bigint between -2^63 and 2^63, got ${literal(timestamp)}.`);
    }
    turn.published = true; // before its turn comes: who disposes or publishes it meanwhile does not give it back
    this.#filling.delete(turn);
    return await this.#publishing.run(async () => {
      try {
        frame.resource.ending = "published";
        await frame[Symbol.asyncDispose]();
      } catch (error) {
        this.#giveBack(turn.slot);
        throw error;
      }
      this.resource.assertLive();
      return this.#announce(turn.slot, timestamp);
    });
  }

  /** Waits until there is a reader: what is published before is seen by nobody. */
  async joined(options: SignalOptions = {}): Promise<void> {
    const { signal } = signalIn(optionsIn(options, WAIT).signal);
    while (this.#readers.size === 0) {
      this.resource.assertLive();
      await this.#changes.next(signal);
    }
  }

  /** Waits until every reader has released every frame. */
  async flush(options: SignalOptions = {}): Promise<void> {
    const { signal } = signalIn(optionsIn(options, WAIT).signal);
    while (this.#published.size > 0 && this.resource.isLive) await this.#change(signal);
  }

  /** The turn of a frame that the program may publish. */
  #turnOf(frame: T): Turn<T> {
    const given: unknown = frame;
    if (given instanceof Promise) {
      throw checks.wrong("frame", "expected a frame, got a promise.", "Await it: ring.publish(await ring.next()).");
    }
    if (!isMade(frame, Frame) && !isMade(frame, Tensor)) throw checks.wrongKind("frame", "a frame", given);
    this.resource.assertLive();
    const turn = this.#turns.get(frame);
    if (turn === undefined) throw checks.wrong("frame", `expected one of ring.next(), got ${frame.name}.`);
    const hint = "Ask for another: await ring.next().";
    if (turn.published) throw checks.wrong("frame", `${frame.name} was published before.`, hint);
    if (!frame.resource.isLive) {
      throw checks.wrong("frame", `${frame.name} was disposed, and by that given back unread.`, hint);
    }
    return turn;
  }

  #lend(slot: Slot<T>): T {
    const turn: Turn<T> = { slot, published: false };
    const atEnd = () => {
      this.#filling.delete(turn);
      if (!turn.published) this.#giveBack(slot);
    };
    const name = `frame ${slot.index} of ${this.resource.name}`;
    let frame: T;
    try {
      frame = lend(slot.frame, { access: "read-write", name, atEnd });
    } catch (error) {
      atEnd(); // a tensor over the same memory is in use
      throw error;
    }
    this.#filling.set(turn, frame.resource);
    if (frame instanceof Frame) {
      for (const [key] of [...frame.metadata.entries()]) {
        frame.metadata.delete(key as never);
      }
    }
    this.#turns.set(frame, turn);
    return frame;
  }

  #giveBack(slot: Slot<T>): void {
    this.#free.push(slot);
    this.#changes.tell();
  }

  #announce(slot: Slot<T>, timestamp: bigint | undefined): number {
    const sequence = ++this.#sequence;
    slot.notice = { index: slot.index, sequence, timestamp };
    this.#published.add(slot);
    for (const reader of this.#readers) reader.queue(slot);
    this.#freeIfUnwanted(slot);
    return sequence;
  }

  #freeIfUnwanted(slot: Slot<T>): void {
    if (slot.waitedFor > 0) return;
    this.#published.delete(slot);
    this.#giveBack(slot);
  }

  /** The oldest frame that no reader was told of; none gets it. */
  #dropped(): Slot<T> | undefined {
    if (this.#whenFull === "wait") return undefined;
    for (const slot of this.#published) {
      if (slot.isHeld) continue;
      for (const reader of this.#readers) reader.forget(slot);
      slot.waitedFor = 0;
      this.#published.delete(slot);
      return slot;
    }
  }

  /** Waits until a reader says something, comes or goes, or a frame is given back. */
  async #change(signal: AbortSignal | undefined): Promise<void> {
    const over = new AbortController();
    const waiting = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
    const words = [...this.#readers].map(({ connection }) => connection.ready("read", waiting).catch(() => {}));
    try {
      await Promise.race([this.#changes.next(waiting), ...words]);
    } finally {
      over.abort();
    }
    signal?.throwIfAborted();
    this.#hearAll();
  }

  /** A frame to fill, if there is one. */
  #room(): Slot<T> | undefined {
    this.resource.assertLive();
    if (this.#free.length === 0) this.#hearAll();
    const slot = this.#free.shift() ?? this.#dropped();
    if (slot === undefined) this.#assertOthersHaveSome();
    return slot;
  }

  /** Throws if the program waits for itself. What it has given to a stream is on its way. */
  #assertOthersHaveSome(): void {
    const { length } = this.#slots;
    if (this.#writable !== undefined || this.#filling.size < length) return;
    for (const resource of this.#filling.values()) if (!resource.isLive) return; // it is on its way back
    throw new AccessError(
      `${this.resource.name} has no frame to fill: this program has all ${length} frames already.`,
      {
        api: "channel",
        fn: "next",
        hint: "Publish or dispose one first.",
      },
    );
  }

  #nameSlowReaders(): void {
    for (const reader of this.#readers) {
      if (reader.isNamed || !reader.isSlow(SLOW_MS)) continue;
      reader.isNamed = true;
      warn(
        `${this.resource.name} waits: process ${reader.pid} has not released a frame for ${SLOW_MS / 1000} s. ` +
          'Have it dispose its frames, or pass { whenFull: "drop-oldest" }.',
      );
    }
  }

  #hearAll(): void {
    for (const reader of this.#readers) if (!this.#hear(reader)) this.#end(reader);
  }

  /** Takes what a reader has released. Answers false once it has ended, or lies. */
  #hear(reader: Subscriber<T>): boolean {
    try {
      while (reader.connection.resource.isLive) {
        const packet = receivePacket(reader.connection.fd);
        if (packet === "later") return true;
        if (packet === "ended") return false;
        this.#take(reader, packet);
      }
    } catch (error) {
      this.#lose(reader, error);
    }
    return false;
  }

  /** It cannot be talked to any more: because it or the ring has ended, or by what has to be said. */
  #lose(reader: Subscriber<T>, error: unknown): void {
    const { resource } = reader.connection;
    if (!isEnd(error) && resource.isLive) warn(`${this.resource.name} turns a reader away: ${messageOf(error)}`);
    this.#end(reader);
    resource.dispose();
  }

  #end(reader: Subscriber<T>): void {
    if (!this.#readers.delete(reader)) return;
    for (const slot of reader.end()) this.#letGo(slot);
    reader.connection.resource.dispose();
    this.#changes.tell();
  }

  async #listen(server: Server): Promise<void> {
    while (server.resource.isLive) {
      try {
        for await (const peer of server) this.#serve(peer);
      } catch (error) { // too many fds are open, perhaps for a moment
        warn(`${this.resource.name} cannot take a reader, and tries again: ${messageOf(error)}`);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** One reader, from its beginning to its end. */
  async #serve(peer: Peer): Promise<void> {
    const connection = connectionOf(peer);
    // Before a frame is dropped, a reader must not have been told of it: so it is told of one, and of more if it asks.
    const window = this.#whenFull === "wait" ? this.#slots.length : 1;
    const reader = new Subscriber<T>(peer, window, (error) => this.#lose(reader, error));
    try {
      this.resource.assertLive(); // else its fds are closed, and their numbers are others'
      peer.resource.dependOn(this.resource);
      await connection.send(encoded(KINDS.ring, 0, { frames: this.#slots.length, whenFull: this.#whenFull }), []);
      for (const { message: { bytes, fds } } of this.#slots) await connection.send(bytes, fds);
      this.#readers.add(reader);
      this.#changes.tell();
      // What is released is asked for when a frame is needed: to be woken for each would cost more than all else. But one
      // who may have one frame at a time has to be told of the next.
      const event = this.#whenFull === "wait" ? "hang-up" : "read";
      do await connection.ready(event, undefined); while (this.#hear(reader));
    } catch (error) {
      this.#lose(reader, error);
    } finally {
      this.#end(reader);
      peer[Symbol.dispose]();
    }
  }

  #take(reader: Subscriber<T>, packet: Packet): void {
    const notice = noticeIn(packet, [NOTICES.released, NOTICES.wanted]);
    if (notice.kind === NOTICES.wanted) {
      if (!reader.wantMore(notice)) throw badMessage("notice", "it keeps a frame that it does not have.");
      return;
    }
    const slot = reader.release(notice);
    if (slot === undefined) throw badMessage("notice", "it releases a frame that it does not have.");
    this.#letGo(slot);
  }

  #letGo(slot: Slot<T>): void {
    slot.waitedFor--;
    this.#freeIfUnwanted(slot);
    if (this.#whenFull === "wait") return;
    for (const reader of this.#readers) reader.tell(); // one more may be held now
  }
}

/** The frames, taken over, with their fds, which are open until `release` runs. */
function slotsOf<T extends Tensor | Frame>(
  frames: readonly T[],
  name: string,
  held: Held,
  release: Undo,
): readonly Slot<T>[] {
  try {
    const slots = frames.map((frame, i) => {
      const message = outgoing(frame, "read", `frames[${i}]`);
      release.push(...message.release, takeOver(frame, name));
      return new Slot(i, frame, message, held);
    });
    for (const { message } of slots) for (const fd of message.fds) sealAgainstWriters(fd);
    return slots;
  } catch (error) {
    throwAll([error, ...unwind(release)], "making a ring");
    throw error;
  }
}
