import { type Names, optionsIn } from "../../core/argument.ts";
import { messageOf, warn } from "../../core/errors.ts";
import { finalizers, keepFor } from "../../core/life/finalizers.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { withMoment } from "../../core/layout/frame_info.ts";
import { Pace, SLOW_MS } from "../../core/pace.ts";
import { Frame } from "../../core/tensors/frame.ts";
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
import type { Joined, Link } from "./link.ts";
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

const published = noticeOf([NOTICES.published]);

/** The side of a ring that reads its frames in the writer's own memory. A write into a view ends this process. */
export class RingReader<T extends Tensor | Frame = Frame> extends NativeObject implements AsyncIterable<T> {
  /** Its end of life: frames that are still held end, and the writer gets them back. */
  readonly resource: Resource;
  readonly #link: Link;
  readonly #fetch: Joined<T>["fetch"];
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
  /** The announced frame, and where its bytes go. If the wait for them is given up, the next call gets the frame. */
  #arriving: { readonly notice: ReceivedNotice; into?: number } | undefined;
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
    for (const frame of frames) frame.resource.dependOn(this.resource);
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
      const waits = turn !== undefined || this.#waiting.isBusy || this.#fetch !== undefined;
      const notice = waits ? undefined : this.#announced();
      if (notice !== undefined) return notice === "ended" ? undefined : this.#lend(notice);
      return await this.#waiting.run(() => this.#waitForFrame(signal, turn), signal);
    } catch (error) {
      if (!isReasonOf(signal, error)) this[Symbol.dispose]();
      throw error;
    }
  }

  /** Each frame, until the writer ends or this is disposed. A frame is released by its dispose, or by the next turn. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (;;) {
      const frame = await this.next().catch(unlessDisposed);
      if (frame === undefined) return;
      try {
        yield frame;
      } finally {
        await frame[Symbol.asyncDispose]();
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

  async #waitForFrame(signal: AbortSignal | undefined, turn: Promise<void> | undefined): Promise<T | undefined> {
    await turn;
    signal?.throwIfAborted();
    const notice = this.#arriving?.notice ?? this.#announced() ?? await this.#polling.until(
      () => this.#announced(),
      () => this.#link.ready("read", signal),
      !this.#hasAll,
      () => this.#nameItself(),
    );
    if (notice === "ended") return undefined;
    if (this.#fetch === undefined) return this.#lend(notice);
    this.#arriving ??= { notice };
    const into = this.#arriving.into ??= this.#free() ?? await this.#untilFree(signal);
    const hasCome = await this.#fetch(into, signal);
    this.#arriving = undefined;
    if (!hasCome) return undefined;
    notifyWriter(this.#link, this.resource.name, NOTICES.released, notice);
    return this.#lend(notice, into);
  }

  /** The index of a frame that the program does not hold. */
  #free(): number | undefined {
    this.resource.assertLive();
    const place = this.#frames.findIndex((_, i) => !this.#inHand.has(i));
    return place < 0 ? undefined : place;
  }

  async #untilFree(signal: AbortSignal | undefined): Promise<number> {
    return await this.#polling.until(
      () => this.#free(),
      () => this.#freed.next(signal),
      false,
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
    const frame = reused.lend("read", atEnd, reused.whole instanceof Frame ? factsOf(reused.whole, known) : {});
    inHand.set(place, notice);
    if (frame instanceof Frame) {
      const { metadata } = frame;
      if (metadata.get("source")?.sequence === undefined) metadata.set("source", { sequence });
      if (timestamp !== undefined || metadata.get("timestamp") !== undefined) {
        metadata.set("timestamp", { pts: timestamp });
      }
    }
    keepFor(frame, this); // its end is the frame's
    return frame;
  }
}

/** The frame's facts in this turn, without anything from another turn. */
function factsOf({ info }: Frame, { media, metadata = new Metadata() }: Facts = {}): TurnFacts {
  return { info: withMoment(info, media), metadata };
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
