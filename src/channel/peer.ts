import { isBytes, OF_BYTES } from "../core/checks.ts";
import { isMade, type Names, optionsIn, unexpected } from "../core/argument.ts";
import { Port } from "../core/device/port.ts";
import { DisposedError, throwAll } from "../core/errors.ts";
import type { Target } from "../core/graph/context.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import type { Resource } from "../core/life/resource.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { type Access, accessOf } from "../core/memory/access.ts";
import { Frame } from "../core/tensors/frame.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import { Connection, type Credentials, type Sendable } from "./connection.ts";
import { MEMORY_KINDS, type SentKind } from "./description.ts";
import { asArgument } from "./errors.ts";
import { checks, isReasonOf, signalIn, type SignalOptions } from "./options.ts";
import type { Packet } from "./packet.ts";
import { portIn, portMessage } from "./port_message.ts";
import { incoming, outgoing, type Parcel } from "./transfer.ts";

/** Options of {@link Peer.send}. */
export interface SendOptions extends SignalOptions {
  /** What the other side may do with the memory; `"read"` by default. */
  readonly access?: Access;
  /** The kind of fd to send, if the memory has several; the best of them by default. */
  readonly as?: SentKind;
}

const RECEIVE: Names<SignalOptions> = { signal: true };
const SEND: Names<SendOptions> = { signal: true, access: true, as: true };

export let connectionOf: (peer: Peer) => Connection;

/**
 * Another process, to which memory is sent and from which it is received. Memory lives for as long as either side has it.
 *
 * Both sides see the same bytes, and neither knows when the other uses them: agree on who writes when.
 *
 * @typeParam T what the other side sends, in the first context that takes it: `Frame<HostTensor>`. It is not checked.
 */
export class Peer<T extends Tensor | Frame = Tensor | Frame> extends NativeObject implements AsyncIterable<T> {
  /** Its end of life: the connection is closed. Tensors that were received stay. */
  readonly resource: Resource;
  /** The other process, as the kernel reports it. */
  readonly credentials: Credentials;
  readonly #connection: Connection;
  readonly #targets: readonly Target[];

  /** Takes a connected socket over: made by {@link connect} and {@link Server.accept}. */
  constructor(fd: number, credentials: Credentials, targets: readonly Target[]) {
    super();
    this.#connection = new Connection(fd, `channel to process ${credentials.pid}`);
    this.#targets = targets;
    this.credentials = Object.freeze(credentials);
    this.resource = this.#connection.resource;
    finalizers.register(this, this.resource, this);
  }

  static {
    connectionOf = (peer) => peer.#connection;
  }

  /**
   * Sends a tensor or a frame: its fds and a description, but none of its bytes. It first waits for work on it, and for
   * maps of it that are ending. It also waits while the other side does not read. Messages arrive in the order of the calls.
   *
   * @throws {ArgumentError} if other processes cannot open its memory.
   * @throws {AccessError} if it is lent, or `access` exceeds its own.
   * @throws the failure of work on it, if its map was left to end by itself (`disposeAfter`).
   * @throws {NativeCallError} if the other side has ended.
   */
  async send(frame: Tensor | Frame, options: SendOptions = {}): Promise<void> {
    const { signal, access: asked, as } = optionsIn(options, SEND);
    if (as !== undefined && !MEMORY_KINDS.includes(as)) {
      throw unexpected("as", MEMORY_KINDS.map((kind) => `"${kind}"`).join(" or "), as);
    }
    const access = accessOf(asked, "read");
    const wait = { signal: this.#connection.untilEnd(signalIn(signal).signal) };
    if (!isMade(frame, Tensor) && !isMade(frame, Frame)) {
      throw checks.wrongKind("frame", "a tensor or a frame", frame, isBytes(frame) ? OF_BYTES : undefined);
    }
    const release: Undo = [];
    const making = this.#message({ mapped: frame, access, kinds: as && [as] }, wait, release);
    const [sent] = await Promise.allSettled([this.#connection.sendNext(making, signal), making]);
    throwAll([...sent.status === "fulfilled" ? [] : [sent.reason], ...unwind(release)], "sending memory");
  }

  /**
   * The next tensor or frame, which is yours; undefined once the other side has ended.
   *
   * @typeParam R the type of this message, if messages differ
   * @throws {MessageError} if the message is wrong. The connection is then closed, because the sender cannot be trusted.
   */
  async receive<R extends Tensor | Frame = T>(options: SignalOptions = {}): Promise<R | undefined> {
    const { signal } = signalIn(optionsIn(options, RECEIVE).signal);
    const packet = await this.#packet(signal);
    return packet && this.#open<R>(packet);
  }

  /**
   * Sends a port: an fd of any API, with its kind and numbers. The port stays yours; the other side gets its own fd.
   *
   * @throws {ArgumentError} for a port without an fd, or with a kind or numbers that no message can hold.
   * @throws {NativeCallError} if the other side has ended.
   *
   * @example
   * ```ts ignore
   * import { Port } from "@samepage/interop";
   * import { connect } from "@samepage/interop/channel";
   * import { EglContext } from "@samepage/interop/egl";
   *
   * using peer = connect("/run/user/1000/frames");
   * using egl = EglContext.open();
   * using stream = egl.stream({ fifo: 4 });
   * using port = new Port("egl-stream", { fd: stream.exportFd() });
   * await peer.sendPort(port); // there: egl.attachStream(port.fd, { fifo: 4 })
   * ```
   */
  async sendPort(port: Port, options: SignalOptions = {}): Promise<void> {
    const { signal } = signalIn(optionsIn(options, RECEIVE).signal);
    if (!(port instanceof Port)) throw checks.wrongKind("port", "a Port", port);
    if (port.fd === -1) throw checks.wrong("port", "it has no fd.", "Only handles that are fds go to other processes.");
    checks.fdIn(port.fd, "port.fd");
    await this.#connection.send(messageAbout(port), [port.fd], signal);
  }

  /**
   * The next port, which is yours to dispose; undefined once the other side has ended.
   *
   * @param kind what it has to be: `"egl-stream"`
   * @throws {MessageError} if the message is wrong, or a port of another kind. The connection is then closed.
   */
  async receivePort<K extends string>(kind: K, options: SignalOptions = {}): Promise<Port<K> | undefined> {
    checks.assertText(kind, "kind");
    const { signal } = signalIn(optionsIn(options, RECEIVE).signal);
    const packet = await this.#packet(signal);
    return packet && this.#unless(() => portIn(packet, kind));
  }

  /** Each tensor or frame, until the other side ends or this is disposed. @throws like {@link receive}. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (;;) {
      const packet = await this.#packet().catch(unlessDisposed);
      if (packet === undefined) return;
      yield this.#open<T>(packet);
    }
  }

  async #message(parcel: Parcel, wait: SignalOptions, release: Undo): Promise<Sendable> {
    const { mapped: frame, access } = parcel;
    frame.resource.assertLive();
    for (const fence of frame.workBefore(access)) await fence.wait(wait);
    while (frame.usable(access).length > 0) await frame.returned(access, wait);
    frame.raiseKept();
    this.resource.assertLive();
    const message = outgoing({ ...parcel, media: frame instanceof Frame ? frame.info.media : undefined });
    release.push(...message.release);
    for (const fence of message.waits) await fence.wait(wait);
    return message;
  }

  async #packet(signal?: AbortSignal): Promise<Packet | undefined> {
    try {
      return await this.#connection.receive(signal);
    } catch (error) {
      if (!isReasonOf(signal, error)) this[Symbol.dispose]();
      throw error;
    }
  }

  #open<R extends Tensor | Frame>(packet: Packet): R {
    return this.#unless(() => incoming(packet, this.#targets) as R);
  }

  /** Closes the connection if the message turns out to be wrong. */
  #unless<R>(read: () => R): R {
    try {
      return read();
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }
}

function messageAbout(port: Port): Uint8Array<ArrayBuffer> {
  try {
    return portMessage(port);
  } catch (error) {
    throw asArgument(error, "port", "no message can describe it");
  }
}

/** Ends a loop over messages when its object is disposed. */
export function unlessDisposed(error: unknown): undefined {
  if (!(error instanceof DisposedError)) throw error;
}
