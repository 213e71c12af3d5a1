import { type Names, optionsIn } from "../../core/argument.ts";
import { messageOf, warn } from "../../core/errors.ts";
import { finalizers, keepFor } from "../../core/life/finalizers.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { withMoment } from "../../core/layout/frame_info.ts";
import { Pace, SLOW_MS } from "../../core/pace.ts";
import { Frame, planesOf } from "../../core/tensors/frame.ts";
import { Metadata } from "../../core/tensors/metadata.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import type { Credentials } from "../connection.ts";
import { badMessage } from "../errors.ts";
import { isReasonOf, signalIn, type SignalOptions } from "../options.ts";
import { unlessDisposed } from "../peer.ts";
import { Turns } from "../../core/turns.ts";
import { ReusedFrame, type TurnFacts } from "../../core/tensors/reused.ts";
import { Changes } from "./changes.ts";
import type { Facts } from "./facts.ts";
import type { Fetch, Joined, Link } from "./link.ts";
import {
  isEnd,
  mostHeld,
  type Notice,
  noticeOf,
  NOTICES,
  notify,
  type ReceivedNotice,
  type WhenFull,
} from "./notice.ts";
import { Polling } from "./polling.ts";

const WAIT: Names<SignalOptions> = { signal: true };

/** So many places are named at a time: the next frame's bytes move while the program has the one before. */
const AHEAD = 2;

const published = noticeOf([NOTICES.published]);

/** The side of a ring that reads its frames in the writer's own memory. A write into a view ends this process. */
export class RingReader<T extends Tensor | Frame = Frame> extends NativeObject implements AsyncIterable<T> {
  /** Its end of life: frames that are still held end, and the writer gets them back. */
  readonly resource: Resource;
  readonly #link: Link;
  readonly #fetch: Fetch | undefined;
  readonly #frames: readonly ReusedFrame<T>[];
  readonly #whenFull: WhenFull;
  /** The frames that the program holds, by index. */
  readonly #inHand: Map<number, Notice> = new Map();
  readonly #polling: Polling = new Polling();
  /** A notice wakes one of the tasks that wait for a frame. */
  readonly #waiting: Turns = new Turns();
  readonly #pace: Pace = new Pace();
  /** Reports that the program has disposed a frame, if the writer need not know. */
  readonly #freed: Changes = new Changes();
  /** The announced frame whose bytes are awaited. If the wait for them is given up, the next call gets the frame. */
  #arriving: ReceivedNotice | undefined;
  /** Where its bytes go, and where those of the frames after it may go meanwhile. */
  readonly #places: number[] = [];
  #last = 0;
  #missed = 0;
  #begun = false;
  #readable: ReadableStream<T> | undefined;
  /** True once the writer knows that this side waits for another frame. */
  #asked = false;
  /** True once the program was warned that it holds itself up. */
  #isNamed = false;

  /** Takes link and memory over: made by {@link FrameRing.open}. */
  constructor({ link, frames, whenFull, fetch }: Joined<T>, name: string) {
    super();
    this.#link = link;
    this.#fetch = fetch;
    this.#frames = frames.map((frame, i) => new ReusedFrame(frame, `frame ${i} of ${name}`));
    this.#whenFull = whenFull;
    const freed = this.#freed;
    this.resource = new Resource({ name, undo: [() => freed.wake()] });
    link.resource.dependOn(this.resource);
    for (const frame of frames) {
      frame.resource.dependOn(this.resource);
      for (const part of [frame, ...planesOf(frame)]) keepFor(part, this); // what is lent of it keeps it, and ends with this
    }
    finalizers.register(this, this.resource, this);
  }

  /** The process that writes, as the kernel reports it; undefined where that is on another machine. */
  get credentials(): Credentials | undefined {
    return this.#link.credentials;
  }

  /** The sequence number of the newest frame that {@link next} returned; 0 before the first. */
  get sequence(): number {
    return this.#last;
  }

  /** How many frames the writer has dropped since the first that this reader got. */
  get missed(): number {
    return this.#missed;
  }

  /**
   * The frames of {@link next} as a stream, which takes one for each read. Dispose each. It closes when the writer has
   * ended, or this is disposed. Cancelling it does not end the ring. The frame of an abandoned read (`releaseLock()`, an
   * aborted `pipeTo`) goes to the next read; cancelling disposes it.
   */
  get readable(): ReadableStream<T> {
    return this.#readable ??= this.#stream(new AbortController());
  }

  /**
   * The next frame; undefined once the writer has ended. Dispose it: until then the writer cannot fill it again. You can
   * hold all frames at a time, with `"drop-oldest"` all but one. If this program holds that many, it waits until another
   * of its tasks disposes one; if that takes longer than 5 s, a warning says so.
   *
   * @throws {MessageError} if the writer sends something wrong. The ring is then disposed.
   * @throws {DisposedError} if it is disposed, before or during the wait.
   */
  async next(options: SignalOptions = {}): Promise<T | undefined> {
    const { signal } = signalIn(optionsIn(options, WAIT).signal);
    try {
      signal?.throwIfAborted();
      const turn = this.#pace.next();
      if (turn !== undefined || this.#waiting.isBusy) {
        return await this.#waiting.run(() => this.#takeTurn(signal, turn), signal);
      }
      const frame = this.#frameNow();
      return frame === "later" ? await this.#waiting.run(() => this.#waitForFrame(signal), signal) : frame;
    } catch (error) {
      if (!isReasonOf(signal, error)) this[Symbol.dispose]();
      throw error;
    }
  }

  /** Each frame, until the writer ends or this is disposed. A frame is released by its dispose, or by the next turn. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (;;) {
      let frame: T | undefined;
      try {
        frame = await this.next();
      } catch (error) {
        unlessDisposed(error);
      }
      if (frame === undefined) return;
      try {
        yield frame;
      } finally {
        const ending = frame.disposeSoon();
        if (ending !== undefined) await ending;
      }
    }
  }

  /**
   * A read can be abandoned while `pull` waits for its frame, and a cancelled stream drops its queue without disposing
   * frames. So a frame is kept here, and not queued, while the stream is not locked, which means that no read waits. If
   * the stream was locked again without a read, the frame is queued, and leaves the queue before the next `pull`.
   */
  #stream(cancelled: AbortController): ReadableStream<T> {
    const { signal } = cancelled;
    let kept: T | undefined;
    let queued: T | undefined;
    const stream = new ReadableStream<T>({
      pull: async (controller) => {
        queued = undefined;
        const frame = kept?.resource.isLive ? kept : await this.next({ signal }).catch(unlessDisposed);
        kept = undefined;
        if (signal.aborted) return await frame?.[Symbol.asyncDispose]();
        if (frame === undefined) return controller.close();
        if (!stream.locked) return void (kept = frame);
        controller.enqueue(frame);
        if (controller.desiredSize! < 0) queued = frame;
      },
      cancel: async (reason) => {
        cancelled.abort(reason);
        await Promise.all([kept?.[Symbol.asyncDispose](), queued?.[Symbol.asyncDispose]()]);
      },
    }, { highWaterMark: 0 }); // a frame that waits in the stream could not be filled again
    return stream;
  }

  async #takeTurn(signal: AbortSignal | undefined, turn: Promise<void> | undefined): Promise<T | undefined> {
    await turn;
    signal?.throwIfAborted();
    const frame = this.#frameNow();
    return frame === "later" ? await this.#waitForFrame(signal) : frame;
  }

  /** The next frame, or undefined at the end; "later" if the event loop has to turn before. */
  #frameNow(): T | undefined | "later" {
    const notice = this.#arriving ?? this.#announced() ??
      (this.#hasAll ? undefined : this.#polling.spin(() => this.#announced()));
    if (notice === undefined) return "later";
    if (notice === "ended") return undefined;
    if (this.#fetch === undefined) return this.#lend(notice);
    this.#arriving = notice;
    const place = this.#places[0] ?? this.#free();
    if (place === undefined) return "later";
    this.#places[0] = place;
    return this.#fetch.unpack(place) ? this.#arrived(notice) : "later";
  }

  async #waitForFrame(signal: AbortSignal | undefined): Promise<T | undefined> {
    const notice = this.#arriving ?? await this.#polling.until(
      () => this.#announced(),
      () => this.#link.ready("read", signal),
      () => this.#nameItself(),
    );
    if (notice === "ended") return undefined;
    if (this.#fetch === undefined) return this.#lend(notice);
    this.#arriving = notice;
    const places = this.#places;
    if (places.length === 0) places.push(this.#free() ?? await this.#untilFree(signal));
    if (this.#fetch.unpack(places[0])) return this.#arrived(notice);
    const another = places.length < AHEAD ? this.#free() : undefined;
    if (another !== undefined) places.push(another);
    if (await this.#fetch.bring(places, signal)) return this.#arrived(notice);
    this.#arriving = undefined;
  }

  /** Lends the frame whose bytes have come to the first place. */
  #arrived(notice: ReceivedNotice): T {
    this.#arriving = undefined;
    notifyWriter(this.#link, this.resource.name, NOTICES.released, notice);
    return this.#lend(notice, this.#places.shift());
  }

  /** The index of a frame that neither the program holds, nor bytes may come to. */
  #free(): number | undefined {
    this.resource.assertLive();
    const place = this.#frames.findIndex((_, i) => !this.#inHand.has(i) && !this.#places.includes(i));
    return place < 0 ? undefined : place;
  }

  async #untilFree(signal: AbortSignal | undefined): Promise<number> {
    return await this.#polling.until(
      () => this.#free(),
      () => this.#freed.next(signal),
      () => this.#nameItself(),
    );
  }

  /** The next frame that the writer has announced, if any. */
  #announced(): ReceivedNotice | "ended" | undefined {
    this.resource.assertLive();
    const notice = this.#link.take(published);
    if (notice === "later") return this.#askForMore();
    this.#asked = false;
    if (notice === "ended") return notice;
    this.#check(notice);
    return notice;
  }

  /** Notifies the writer that this side holds frames and waits for another. */
  #askForMore(): undefined {
    const isAtWriter = this.#inHand.size > 0 && this.#fetch === undefined;
    if (!isAtWriter || this.#asked || this.#whenFull === "wait") return;
    this.#asked = true;
    const [oldest] = this.#inHand.values();
    notifyWriter(this.#link, this.resource.name, NOTICES.wanted, oldest);
  }

  get #most(): number {
    return this.#fetch === undefined ? mostHeld(this.#frames.length, this.#whenFull) : this.#frames.length;
  }

  get #hasAll(): boolean {
    return this.#inHand.size >= this.#most;
  }

  #nameItself(): void {
    if (this.#isNamed || !this.#hasAll) return;
    this.#isNamed = true;
    warn(
      `${this.resource.name} waits: this program has had ${this.#most} of its ${this.#frames.length} frames for ` +
        `${SLOW_MS / 1000} s${
          this.#most === this.#frames.length ? "" : ", and the last is the writer's to fill"
        }. Dispose one.`,
    );
  }

  #check({ index, sequence }: Notice): void {
    if (index >= this.#frames.length) {
      throw badMessage("notice", `the ring has ${this.#frames.length} frames, got frame ${index}.`);
    }
    if (this.#inHand.has(index) && this.#fetch === undefined) {
      throw badMessage("notice", `frame ${index} is published while it is being read.`);
    }
    if (sequence <= this.#last) throw badMessage("sequence", `expected more than ${this.#last}, got ${sequence}.`);
  }

  #lend({ index, sequence, timestamp, known }: ReceivedNotice, place: number = index): T {
    const notice: Notice = { index, sequence, timestamp };
    if (this.#begun) this.#missed += sequence - this.#last - 1;
    this.#begun = true;
    this.#last = sequence;
    const link = this.#link;
    const inHand = this.#inHand;
    const { name } = this.resource;
    const freed = this.#fetch && this.#freed;
    const atEnd = () => {
      inHand.delete(place);
      if (freed === undefined) notifyWriter(link, name, NOTICES.released, notice);
      else freed.wake();
    };
    const reused = this.#frames[place];
    const facts = reused.whole instanceof Frame ? factsOf(reused.whole, known, sequence, timestamp) : {};
    const frame = reused.lend("read", atEnd, facts);
    inHand.set(place, notice);
    return frame;
  }
}

/** The frame's facts in this turn, without anything from another turn. */
function factsOf(
  { info }: Frame,
  { media, metadata = new Metadata() }: Facts = {},
  sequence: number,
  timestamp: bigint | undefined,
): TurnFacts {
  const withTurn = () => {
    if (metadata.get("source")?.sequence === undefined) metadata.set("source", { sequence });
    if (timestamp !== undefined || metadata.get("timestamp") !== undefined) {
      metadata.set("timestamp", { pts: timestamp });
    }
    return metadata;
  };
  return { info: withMoment(info, media), metadata: withTurn };
}

/** Notifies the writer. If that fails, this side leaves the ring, so that the writer gets its frames back. */
function notifyWriter(link: Link, ring: string, kind: number, notice: Notice): void {
  notify(link, kind, notice, (error) => {
    if (isEnd(error) || !link.resource.isLive) return; // what the writer had sent can still be read
    warn(
      `${ring}: this side leaves it, because its writer cannot be notified of frame ${notice.index}: ${
        messageOf(error)
      }`,
    );
    link.resource.dispose();
  });
}
