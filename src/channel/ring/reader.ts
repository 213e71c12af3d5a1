import { literal, type Names, optionsIn } from "../../core/argument.ts";
import { messageOf, warn } from "../../core/errors.ts";
import { finalizers, keepFor } from "../../core/life/finalizers.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { withMoment } from "../../core/layout/frame_info.ts";
import { Pace } from "../../core/pace.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { Metadata } from "../../core/tensors/metadata.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import type { Connection, Credentials } from "../connection.ts";
import { badMessage } from "../errors.ts";
import { oneOf, record, whole } from "../fields.ts";
import { decoded, jsonIn, KINDS } from "../message.ts";
import { isReasonOf, signalIn, type SignalOptions } from "../options.ts";
import { receivePacket } from "../packet.ts";
import { connectionOf, type Peer, unlessDisposed } from "../peer.ts";
import { Turns } from "../../core/turns.ts";
import { ReusedFrame, type TurnFacts } from "../../core/tensors/reused.ts";
import type { Facts } from "./facts.ts";
import { FORMAT, isEnd, mostHeld, type Notice, noticeOf, NOTICES, tell, type Told, type WhenFull } from "./notice.ts";
import { Polling, SLOW_MS } from "./polling.ts";

export const MOST_FRAMES = 1024;

interface Memory<T extends Tensor | Frame> {
  readonly frames: readonly T[];
  readonly whenFull: WhenFull;
}

const WAIT: Names<SignalOptions> = { signal: true };

const published = noticeOf([NOTICES.published]);

/** The side of a ring that reads its frames, the writer's own memory. A write into a view ends this process. */
export class RingReader<T extends Tensor | Frame = Frame> extends NativeObject implements AsyncIterable<T> {
  /** Its end of life: the frames that it gave end, and the writer gets them back. */
  readonly resource: Resource;
  /** Kept alive: it would be closed with the last reference to it. */
  readonly #peer: Peer;
  readonly #connection: Connection;
  readonly #frames: readonly ReusedFrame<T>[];
  readonly #whenFull: WhenFull;
  readonly #inHand: Map<number, Notice> = new Map();
  readonly #polling: Polling = new Polling();
  /** However many tasks wait for a frame, a notice wakes one of them. */
  readonly #waiting: Turns = new Turns();
  readonly #pace: Pace = new Pace();
  #last = 0;
  #missed = 0;
  #begun = false;
  #readable: ReadableStream<T> | undefined;
  /** Does the writer know that this side waits for one more? */
  #asked = false;
  /** Was the program warned that it holds itself up? */
  #isNamed = false;

  /** Takes connection and memory over: made by {@link FrameRing.open}. */
  constructor(peer: Peer, { frames, whenFull }: Memory<T>, name: string) {
    super();
    this.#peer = peer;
    this.#connection = connectionOf(peer);
    this.#frames = frames.map((frame, i) => new ReusedFrame(frame, `frame ${i} of ${name}`));
    this.#whenFull = whenFull;
    this.resource = new Resource({ name });
    peer.resource.dependOn(this.resource);
    for (const frame of frames) frame.resource.dependOn(this.resource);
    finalizers.register(this, this.resource, this);
  }

  /** The process that writes, as the kernel reports it. */
  get credentials(): Credentials {
    return this.#peer.credentials;
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
      const there = turn !== undefined || this.#waiting.isBusy ? undefined : this.#received();
      const frame = there ?? await this.#waiting.run(() => this.#waitForFrame(signal, turn), signal);
      return frame === "ended" ? undefined : frame;
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

  async #waitForFrame(signal: AbortSignal | undefined, turn: Promise<void> | undefined): Promise<T | "ended"> {
    await turn;
    signal?.throwIfAborted();
    return this.#received() ?? await this.#polling.until(
      () => this.#received(),
      () => this.#connection.ready("read", signal),
      !this.#hasAll,
      () => this.#nameItself(),
    );
  }

  /** The next frame that the writer has announced, if any. It is lent at once: another task may ask before this one goes on. */
  #received(): T | "ended" | undefined {
    this.resource.assertLive();
    this.#connection.resource.assertLive();
    const notice = receivePacket(this.#connection.fd, published);
    if (notice === "later") return this.#askForMore();
    this.#asked = false;
    if (notice === "ended") return notice;
    this.#check(notice);
    return this.#lend(notice);
  }

  /** Lets the writer know of a wait for more than one frame. */
  #askForMore(): undefined {
    if (this.#inHand.size === 0 || this.#asked || this.#whenFull === "wait") return;
    this.#asked = true;
    const [oldest] = this.#inHand.values();
    tellWriter(this.#connection, this.resource.name, NOTICES.wanted, oldest);
  }

  get #most(): number {
    return mostHeld(this.#frames.length, this.#whenFull);
  }

  get #hasAll(): boolean {
    return this.#inHand.size >= this.#most;
  }

  #nameItself(): void {
    if (this.#isNamed || !this.#hasAll) return;
    this.#isNamed = true;
    warn(
      `${this.resource.name} waits: this program has had ${this.#most} of its ${this.#frames.length} frames for ` +
        `${SLOW_MS / 1000} s${this.#whenFull === "wait" ? "" : ", and the last is the writer's to fill"}. Dispose one.`,
    );
  }

  #check({ index, sequence }: Notice): void {
    if (index >= this.#frames.length) {
      throw badMessage("notice", `the ring has ${this.#frames.length} frames, got frame ${index}.`);
    }
    if (this.#inHand.has(index)) throw badMessage("notice", `frame ${index} is published while it is being read.`);
    if (sequence <= this.#last) throw badMessage("sequence", `expected more than ${this.#last}, got ${sequence}.`);
  }

  #lend({ index, sequence, timestamp, known }: Told): T {
    const notice: Notice = { index, sequence, timestamp };
    if (this.#begun) this.#missed += sequence - this.#last - 1;
    this.#begun = true;
    this.#last = sequence;
    const connection = this.#connection;
    const inHand = this.#inHand;
    const { name } = this.resource;
    const atEnd = () => {
      inHand.delete(index);
      tellWriter(connection, name, NOTICES.released, notice);
    };
    const reused = this.#frames[index];
    const frame = reused.lend("read", atEnd, reused.whole instanceof Frame ? factsOf(reused.whole, known) : {});
    inHand.set(index, notice);
    if (frame instanceof Frame) {
      const { metadata } = frame;
      if (metadata.get("source")?.sequence === undefined) metadata.set("source", { sequence });
      metadata.set("timestamp", { pts: timestamp });
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
function tellWriter(connection: Connection, ring: string, kind: number, notice: Notice): void {
  tell(connection, kind, notice, (error) => {
    if (isEnd(error) || !connection.resource.isLive) return; // what the writer had sent can still be read
    warn(
      `${ring}: this side leaves it, because its writer cannot be notified of frame ${notice.index}: ${
        messageOf(error)
      }`,
    );
    connection.resource.dispose();
  });
}

export async function memoryOf<T extends Tensor | Frame>(peer: Peer, signal: SignalOptions): Promise<Memory<T>> {
  using made = new DisposableStack();
  const frames: T[] = [];
  const { count, whenFull } = await beginning(peer, signal);
  for (let i = 0; i < count; i++) {
    const frame = await peer.receive(signal);
    if (frame === undefined) throw ended();
    frames.push(made.use(frame as T));
    if (frame.access !== "read") throw badMessage("access", `expected "read", got "${frame.access}".`);
  }
  made.move();
  return { frames, whenFull };
}

async function beginning(peer: Peer, { signal }: SignalOptions): Promise<{ count: number; whenFull: WhenFull }> {
  const packet = await connectionOf(peer).receive(signal);
  if (packet === undefined) throw ended();
  using fds = packet.fds;
  const { kind, body } = decoded(packet.bytes, fds.length);
  if (kind === KINDS.memory) {
    throw badMessage("kind", "this is a channel, not a ring: use connect() and peer.receive().");
  }
  if (kind !== KINDS.ring || fds.length > 0) throw badMessage("kind", `expected ${KINDS.ring}, a ring's, got ${kind}.`);
  const { frames, whenFull, notices } = record(jsonIn(body), "body", ["frames", "whenFull", "notices"]);
  if (notices !== FORMAT) {
    const what = `expected ${FORMAT}, got ${literal(notices)}.`;
    throw badMessage("notices", `${what} Let writer and reader have the same version of samepage.`);
  }
  const count = whole(frames, "frames", 1);
  if (count > MOST_FRAMES) throw badMessage("frames", `expected at most ${MOST_FRAMES}, got ${count}.`);
  return { count, whenFull: oneOf(whenFull, "whenFull", ["wait", "drop-oldest"]) };
}

function ended(): Error {
  return badMessage("ring", "its writer ended before it had sent its memory.");
}
