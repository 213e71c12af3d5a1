import { SO_PEERCRED, SOL_SOCKET } from "../../ffi/channel/constants.ts";
import { readUcred, ucred } from "../../ffi/channel/structs.ts";
import { DisposedError } from "../core/errors.ts";
import { counted } from "../core/life/ledger.ts";
import { Resource } from "../core/life/resource.ts";
import { closeFd } from "../core/native/fd.ts";
import { type Readiness, ready } from "../core/native/poller.ts";
import { Pace } from "../core/pace.ts";
import { socketError, sockets } from "./library.ts";
import { type Packet, packetOf, receivePacket, sendPacket } from "./packet.ts";
import { Turns } from "../core/turns.ts";

/** The process on the other side, as the kernel reported it (SO_PEERCRED) when the connection was made. */
export interface Credentials {
  /** The process. */
  readonly pid: number;
  /** The user that it acts for. */
  readonly uid: number;
  /** That user's group. */
  readonly gid: number;
}

/** A socket whose waits do not block the thread, and end when it is closed. */
export class OpenSocket {
  readonly resource: Resource;
  readonly fd: number;
  readonly #closing: AbortController;

  /** Takes the fd over. `atEnd` runs before it is closed. */
  constructor(fd: number, name: string, atEnd: () => void = () => {}) {
    const closing = new AbortController();
    this.fd = fd;
    this.#closing = closing;
    const close = counted("channel.socket", () => closeFd(fd));
    const endWaits = () => closing.abort(new DisposedError(`${name} was disposed.`, { api: "channel" }));
    this.resource = new Resource({ name, undo: [close, atEnd, endWaits] });
  }

  untilEnd(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
  }

  /** Waits until reading or writing would not block. @throws the signal's reason, or a {@link DisposedError} at its end. */
  async ready(readiness: Readiness, signal: AbortSignal | undefined): Promise<void> {
    await ready(this.fd, readiness, { signal: this.untilEnd(signal) });
  }
}

const NO_FDS: readonly number[] = [];

export interface Sendable {
  readonly bytes: Uint8Array;
  readonly fds: readonly number[];
}

/** A connection to another process: messages with fds, both ways, in order. */
export class Connection extends OpenSocket {
  readonly #sending: Turns = new Turns();
  readonly #receiving: Turns = new Turns();
  readonly #pace: Pace = new Pace();

  /** Sends one message; waits while the other side does not read. The fds stay the caller's. */
  async send(bytes: Uint8Array, fds: readonly number[], signal?: AbortSignal): Promise<void> {
    await this.sendNext({ bytes, fds }, signal);
  }

  /** The same for a message that is still being made: messages arrive in the order of these calls. */
  async sendNext(message: Sendable | Promise<Sendable>, signal?: AbortSignal): Promise<void> {
    await this.#sending.run(async () => {
      const { bytes, fds } = await message;
      this.resource.assertLive();
      while (!sendPacket(this.fd, bytes, fds)) {
        await this.ready("write", signal);
        this.resource.assertLive();
      }
    }, signal);
  }

  /** Sends one message without fds. Returns false, having done nothing, if it would have to wait. */
  sendNow(bytes: Uint8Array): boolean {
    this.resource.assertLive();
    return !this.#sending.isBusy && sendPacket(this.fd, bytes, NO_FDS);
  }

  /** Waits until all earlier messages have been sent. */
  async sent(signal?: AbortSignal): Promise<void> {
    await this.#sending.run(async () => {}, signal);
  }

  /** The next message; undefined once the other side has ended. @throws {MessageError} if it is malformed. */
  async receive(signal?: AbortSignal): Promise<Packet | undefined> {
    return await this.#receiving.run(async () => {
      const turn = this.#pace.next();
      if (turn !== undefined) await turn;
      signal?.throwIfAborted();
      for (;;) {
        this.resource.assertLive();
        const packet = receivePacket(this.fd, packetOf);
        if (packet === "ended") return undefined;
        if (packet !== "later") return packet;
        await this.ready("read", signal);
      }
    }, signal);
  }
}

export function credentialsOf(fd: number): Credentials {
  const result = new DataView(new ArrayBuffer(ucred.size));
  if (sockets().getsockopt(fd, SOL_SOCKET, SO_PEERCRED, result, Uint32Array.of(ucred.size)) !== 0) {
    throw socketError("getsockopt");
  }
  return readUcred(result, 0);
}
