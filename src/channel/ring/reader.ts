import { type Names, optionsIn } from "../../core/argument.ts";
import { messageOf, warn } from "../../core/errors.ts";
import { finalizers, keepFor } from "../../core/life/finalizers.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { withMoment } from "../../core/layout/frame_info.ts";
import { Pace } from "../../core/pace.ts";
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
import { isEnd, mostHeld, type Notice, noticeOf, NOTICES, tell, type Told, type WhenFull } from "./notice.ts";
import { Polling, SLOW_MS } from "./polling.ts";

const WAIT: Names<SignalOptions> = { signal: true };

const published = noticeOf([NOTICES.published]);

/** The side of a ring that reads its frames, the writer's own memory. A write into a view ends this process. */
export class RingReader<T extends Tensor | Frame = Frame> extends NativeObject implements AsyncIterable<T> {
  /** Its end of life: the frames that it gave end, and the writer gets them back. */
  readonly resource: Resource;
  readonly #link: Link;
  readonly #fetch: Joined<T>["fetch"];
  readonly #frames: readonly ReusedFrame<T>[];
  readonly #whenFull: WhenFull;
  /** What the program has, by its place among the frames. */
  readonly #inHand: Map<number, Notice> = new Map();
  readonly #polling: Polling = new Polling();
  /** However many tasks wait for a frame, a notice wakes one of them. */
  readonly #waiting: Turns = new Turns();
  readonly #pace: Pace = new Pace();
  /** Reports when the program has disposed a frame, where the writer has no interest in that. */
  readonly #freed: Changes = new Changes();
  /** What was announced, and where its bytes come to. Where the wait for them is given up, the next one gets it. */
  #comes: { readonly told: Told; into?: number } | undefined;
  #last = 0;
  #missed = 0;
  #begun = false;
  #readable: ReadableStream<T> | undefined;
  /** Does the writer know that this side waits for one more? */
  #asked = false;
  /** Was the program warned that it holds itself up? */
  #isNamed = false;

  /** Takes link and memory over: made by {@link FrameRing.open}. */
  constructor({ link, frames, whenFull, fetch }: Joined<T>, name: string) {
    super();
    this.#link = link;
    this.#fetch = fetch;
    this.#frames = frames.map((frame, i) => new ReusedFrame(frame, `frame ${i} of ${name}`));
    this.#whenFull = whenFull;
    const freed = this.#freed;
    this.resource = new Resource({ name, undo: [() => freed.tell()] });
    link.resource.dependOn(this.resource);
    for (const frame of frames) frame.resource.dependOn(this.resource);
    finalizers.register(this, this.resource, this);
  }

  /** The process that writes, as the kernel reports it; undefined where that is on another machine. */
  get credentials(): Credentials | undefined {
    return this.#link.credentials;
  }

  /** The sequence number of the newest frame that it gave; 0 before the first. */
  get sequence(): number {
    return this.#last;
  }

  /** How many frames the writer has dropped since the first that this reader got. */
  get missed(): number {
    return this.#missed;
  }

  /**
   * A stream of frames: what {@link next} gives, one when it is asked for one. Dispose each. It closes when the writer has
   * ended, or this is disposed. Cancelling it does not end the ring. The frame of a read that was given up (`releaseLock()`,
   * a `pipeTo` that was aborted) goes to the next read; cancelling disposes it.
   */
  get readable(): ReadableStream<T> {
    return this.#readable ??= this.#stream(new AbortController());
  }

  /**
   * The next frame; undefined once the writer has ended. Dispose it: until then the writer cannot fill it again. All frames
   * can be held at a time, with `"drop-oldest"` all but one. If this program holds as many, it waits until another of its
   * tasks disposes one; if that takes longer than 5 s, a warning says so.
   *
   * @throws {MessageError} if what the writer says is wrong. The ring is disposed then.
   * @throws {DisposedError} if it is disposed, before or during the wait.
   */
  async next(options: SignalOptions = {}): Promise<T | undefined> {
    const { signal } = signalIn(optionsIn(options, WAIT).signal);
    try {
      signal?.throwIfAborted();
      const turn = this.#pace.next();
      const waits = turn !== undefined || this.#waiting.isBusy || this.#fetch !== undefined;
      const told = waits ? undefined : this.#announced();
      if (told !== undefined) return told === "ended" ? undefined : this.#lend(told);
      return await this.#waiting.run(() => this.#waitForFrame(signal, turn), signal);
    } catch (error) {
      if (!isReasonOf(signal, error)) this[Symbol.dispose]();
      throw error;
    }
  }

  /** Each frame, until the writer ends or this is disposed. The loop's next turn, or its dispose, releases it. */
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
   * A read can be given up while `pull` waits for its frame, and the stream drops what is in its queue without a word when
   * it is cancelled. So a frame that no read waits for is kept here as far as that can be seen: the stream is not locked.
   * Where it was locked again without a read, the frame goes into the queue, and no later than the next `pull` it has left
   * it.
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
    const told = this.#comes?.told ?? this.#announced() ?? await this.#polling.until(
      () => this.#announced(),
      () => this.#link.ready("read", signal),
      !this.#hasAll,
      () => this.#nameItself(),
    );
    if (told === "ended") return undefined;
    if (this.#fetch === undefined) return this.#lend(told);
    this.#comes ??= { told };
    const into = this.#comes.into ??= this.#free() ?? await this.#untilFree(signal);
    const hasCome = await this.#fetch(into, signal);
    this.#comes = undefined;
    if (!hasCome) return undefined;
    tellWriter(this.#link, this.resource.name, NOTICES.released, told);
    return this.#lend(told, into);
  }

  /** A frame that the program has not. */
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
  #announced(): Told | "ended" | undefined {
    this.resource.assertLive();
    const notice = this.#link.take(published);
    if (notice === "later") return this.#askForMore();
    this.#asked = false;
    if (notice === "ended") return notice;
    this.#check(notice);
    return notice;
  }

  /** Lets the writer know of a wait for more than one frame. */
  #askForMore(): undefined {
    const isAtWriter = this.#inHand.size > 0 && this.#fetch === undefined;
    if (!isAtWriter || this.#asked || this.#whenFull === "wait") return;
    this.#asked = true;
    const [oldest] = this.#inHand.values();
    tellWriter(this.#link, this.resource.name, NOTICES.wanted, oldest);
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

  #lend({ index, sequence, timestamp, known }: Told, place: number = index): T {
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
      if (freed === undefined) tellWriter(link, name, NOTICES.released, notice);
      else freed.tell();
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

/** What a frame is in a turn of which this is known: nothing of it is another turn's. */
function factsOf({ info }: Frame, { media, metadata = new Metadata() }: Facts = {}): TurnFacts {
  return { info: withMoment(info, media), metadata };
}

/** Sends the writer a notice. If that fails, this side leaves the ring, so that the writer gets its frames back. */
function tellWriter(link: Link, ring: string, kind: number, notice: Notice): void {
  tell(link, kind, notice, (error) => {
    if (isEnd(error) || !link.resource.isLive) return; // what the writer had sent can still be read
    warn(
      `${ring}: this side leaves it, because its writer cannot be notified of frame ${notice.index}: ${
        messageOf(error)
      }`,
    );
    link.resource.dispose();
  });
}
