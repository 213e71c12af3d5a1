import { badMessage } from "../../channel/errors.ts";
import { LONGEST_BODY } from "../../channel/packet.ts";
import { type ChannelOptions, readerOptions, signalIn, type SignalOptions } from "../../channel/options.ts";
import { beginningIn } from "../../channel/ring/beginning.ts";
import type { Joined } from "../../channel/ring/link.ts";
import { RingReader } from "../../channel/ring/reader.ts";
import { type RingOptions, ringOptions } from "../../channel/ring/ring.ts";
import { RingWriter } from "../../channel/ring/writer.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import type { Target } from "../../core/graph/context.ts";
import { DisposedError } from "../../core/errors.ts";
import { keepFor } from "../../core/life/finalizers.ts";
import { Resource } from "../../core/life/resource.ts";
import { allOrNothing, type Undo, undone } from "../../core/life/undo.ts";
import { Printed } from "../../core/printed.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import { API, checks } from "../library.ts";
import type { OpenUcx } from "../place.ts";
import { UcpWorker } from "../worker.ts";
import { doorOf } from "./door.ts";
import { helloOf, receiveSide, sendHello } from "./handshake.ts";
import { insideOf, UcxLink } from "./link.ts";
import { assertAlike, described, gpuIn, placeOf, type Room, roomFor } from "./memory.ts";
import type { Bytes } from "./messages.ts";
import {
  agreedInTime,
  type Meeting,
  meetingIn,
  socketError,
  type UcxListener,
  type UcxRingsOptions,
} from "./sockets.ts";
import type { Conn, Stream } from "./stream.ts";

/** Options of {@link UcxRings.create}. */
export type UcxRingOptions<T extends Tensor | Frame> = Omit<RingOptions<T>, "allow">;

/** Options of {@link UcxRings.open}. */
export interface OpenUcxRingOptions extends Pick<ChannelOptions, "contexts">, SignalOptions {}

const CREATE: Names<UcxRingOptions<Frame>> = { frames: true, whenFull: true };
const OPEN: Names<OpenUcxRingOptions> = { contexts: true, signal: true };

/** A header has 16 bytes. */
const LONGEST_MESSAGE = LONGEST_BODY + 16;

/**
 * Rings between processes that have no memory in common: a reader gets each frame into memory of its own. All else is as in
 * `FrameRing` of `@samepage/interop/channel`, in whose place it can be passed to `toRing` and `fromRing`.
 *
 * Made by {@link UcxContext.rings}. A ring that is open keeps its process alive, on both sides.
 */
export class UcxRings extends Printed {
  readonly #ucx: OpenUcx;
  readonly #worker: UcpWorker;
  readonly #owner: Resource;
  readonly #meeting: Meeting;

  /** Made by {@link UcxContext.rings}. */
  constructor(ucx: OpenUcx, worker: UcpWorker, owner: Resource, options: UcxRingsOptions) {
    super();
    this.#ucx = ucx;
    this.#worker = worker;
    this.#owner = owner;
    this.#meeting = meetingIn(options);
  }

  /** Names their context. */
  toString(): string {
    return `rings of ${this.#owner}`;
  }

  /**
   * Makes a ring, and listens for its readers.
   *
   * @param address `"host:port"`, or what the program's `listen` takes
   * @param options frames in memory that the CPU sees, or in CUDA's if the context takes that; each in one block
   * @throws {ArgumentError} for other frames or another address.
   * @throws {NativeCallError} if the address cannot be listened at, or UCX cannot register the memory.
   */
  create<T extends Tensor | Frame>(address: string, options: UcxRingOptions<T>): RingWriter<T> {
    checks.assertText(address, "address");
    const { frames, whenFull } = ringOptions(optionsIn(options, CREATE));
    this.#owner.assertLive();
    const argument = (i: number) => `frames[${i}]`;
    assertAlike(frames);
    const descriptions = frames.map((frame, i) => described(frame, argument(i)));
    const undo: Undo = [];
    return allOrNothing("making a ring", () => {
      const places = frames.map((frame, i) => placeOf(this.#ucx, frame, argument(i), undo));
      const worker = new UcpWorker(this.#ucx.handle, undo);
      const listener = listening(this.#meeting, address);
      undo.push(() => listener.close());
      // UCX knows the memory: the links end before it, also where the program disposes a frame of a ring that is open.
      const owners = frames.flatMap(({ grants }) => grants.map(({ resource }) => resource));
      const resource = new Resource({ name: `door of a ring at ${address}`, undo, owners: [...new Set(owners)] });
      const meeting = this.#meeting;
      const door = doorOf({ path: address, resource, listener, meeting, worker, frames: places, descriptions });
      const ring = new RingWriter<T>(door, frames, whenFull);
      ring.resource.dependOn(this.#owner);
      const contexts = new Set(frames.map(({ target: { context } }) => context.resource));
      for (const context of contexts) if (context !== undefined) ring.resource.dependOn(context);
      keepFor(ring, this);
      return ring;
    }, undo);
  }

  /**
   * Joins the ring at an address. It gives the frames that are published from now on, in memory of this side's, for reading.
   *
   * @typeParam T what they are in the first of `contexts` that imports a memfd (`Frame<HostTensor>`) or is CUDA's, where this
   *     UCX takes that (`Frame<CudaTensor>`)
   * @throws {ArgumentError} without a context for its frames.
   * @throws {NativeCallError} ECONNREFUSED or ENOENT if no writer listens there; UCS_ERR_TIMED_OUT if its writer says nothing;
   *     ECONNRESET, UCS_ERR_UNREACHABLE or UCS_ERR_ENDPOINT_TIMEOUT if its writer ends meanwhile.
   * @throws {MessageError} if its writer does not know the secret, or what it says makes no sense.
   */
  async open<T extends Tensor | Frame = Frame>(address: string, options: OpenUcxRingOptions): Promise<RingReader<T>> {
    checks.assertText(address, "address");
    const { signal, ...channel } = optionsIn(options, OPEN);
    signalIn(signal);
    const { targets } = readerOptions(channel);
    this.#owner.assertLive();
    signal?.throwIfAborted();
    const ending = new AbortController();
    const given = signal === undefined ? [] : [signal];
    using _ = this.#visit(() => ending.abort(new DisposedError(`${this.#owner.name} was disposed.`, { api: API })));
    const joined = await agreedInTime(
      connected(this.#meeting, address),
      this.#meeting.timeout,
      AbortSignal.any([...given, ending.signal]),
      (stream, over) => this.#join<T>(stream, address, targets, over),
    );
    try {
      this.#owner.assertLive();
      const reader = new RingReader<T>(joined, `ring at ${address}`);
      reader.resource.dependOn(this.#owner);
      keepFor(reader, this);
      return reader;
    } catch (error) {
      const frames = joined.frames.map((frame) => () => frame[Symbol.dispose]());
      throw undone(error, [() => joined.link.resource.dispose(), ...frames], "opening a ring");
    }
  }

  /** Keeps the worker going, which the writer's reaches, for as long as there is one. `atEnd` is called at its end, too. */
  #visit(atEnd: () => void): Disposable {
    const undo = [this.#worker.serve(), atEnd];
    const resource = new Resource({ name: `visit to a ring by ${this.#owner.name}`, undo });
    resource.dependOn(this.#owner);
    return { [Symbol.dispose]: () => resource.dispose() };
  }

  async #join<T extends Tensor | Frame>(
    stream: Stream,
    name: string,
    targets: readonly Target[],
    signal: AbortSignal,
  ): Promise<Joined<T>> {
    const { timeout } = this.#meeting;
    await this.#meeting.admit(stream, "reader");
    const gpu = gpuIn(targets, this.#ucx);
    const hello = helloOf({ worker: this.#worker.address, isApart: gpu !== undefined, timeout });
    await sendHello(stream, hello);
    const { count, whenFull } = beginningIn(await stream.receive(LONGEST_MESSAGE), 0);
    const messages: Bytes[] = [];
    for (let i = 0; i < count; i++) messages.push(await stream.receive(LONGEST_MESSAGE));
    const { worker: address, isApart, timeout: theirTimeout } = await receiveSide(stream);
    this.#owner.assertLive();
    const undo: Undo = [];
    using frames = new DisposableStack();
    const joined = allOrNothing("joining a ring", () => {
      const rooms = messages.map((message) => {
        const room = roomFor(this.#ucx, message, { gpu, targets }, undo);
        frames.use(room.frame);
        return room;
      });
      const isLikeFirst = ({ planes, place: { byteLength } }: Room) =>
        planes === rooms[0].planes && byteLength === rooms[0].place.byteLength;
      if (!rooms.every(isLikeFirst)) {
        throw badMessage("planes", "frames of one ring lie in several ways.");
      }
      const { tags } = hello;
      const slots = whenFull === "wait" ? count : 1;
      const places = rooms.map(({ place }) => place);
      const inside = insideOf(places, isApart || hello.isApart);
      const times = { timeout, theirTimeout };
      const init = { name, worker: this.#worker, address, stream, tags, ...times, inside, places, slots };
      const link = new UcxLink(init, undo);
      link.resource.dependOn(this.#owner); // it may end before there is a reader
      for (const { owner } of rooms) if (owner !== undefined) link.resource.dependOn(owner);
      return { link, frames: rooms.map(({ frame }) => frame as T), whenFull, fetch: link };
    }, undo);
    try {
      await joined.link.met(signal);
    } catch (error) {
      throw undone(error, [() => joined.link.resource.dispose()], "meeting the other side of a ring");
    }
    frames.move();
    joined.link.begin();
    return joined;
  }
}

function listening(meeting: Meeting, address: string): UcxListener {
  try {
    return meeting.listen(address);
  } catch (error) {
    throw socketError(error, "listen", address);
  }
}

async function connected(meeting: Meeting, address: string): Promise<Conn> {
  try {
    return await meeting.connect(address);
  } catch (error) {
    throw socketError(error, "connect", address);
  }
}
