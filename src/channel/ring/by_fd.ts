/**
 * A ring whose readers map the writer's own memory: fds and notices go over a Unix socket.
 *
 * @module
 */
import { ECONNRESET } from "../../../ffi/libc/errors.ts";
import type { Resource } from "../../core/life/resource.ts";
import { allOrNothing, type Undo, undone } from "../../core/life/undo.ts";
import { errnoError } from "../../core/native/libc.ts";
import { sealAgainstWriters } from "../../core/native/memfd.ts";
import type { Readiness } from "../../core/native/poller.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import type { Connection, Credentials } from "../connection.ts";
import type { SentKind } from "../description.ts";
import { badMessage } from "../errors.ts";
import type { SignalOptions } from "../options.ts";
import { type Look, receivePacket } from "../packet.ts";
import { connectionOf, type Peer } from "../peer.ts";
import type { Server } from "../server.ts";
import { type Outgoing, outgoing } from "../transfer.ts";
import { beginningIn } from "./beginning.ts";
import type { Arrival, Door, Joined, Link } from "./link.ts";

/** The kernel shares these. With an opaque fd, the drivers would have to hand the memory over in each turn. */
const KINDS: readonly SentKind[] = ["dma-buf", "memfd"];

class FdLink implements Link, Arrival {
  readonly resource: Resource;
  readonly who: string;
  readonly credentials: Credentials;
  /** Kept alive, because its finalizer would close it. */
  readonly peer: Peer;
  readonly #connection: Connection;
  readonly #memory: readonly Outgoing[];

  constructor(peer: Peer, memory: readonly Outgoing[] = []) {
    this.peer = peer;
    this.#connection = connectionOf(peer);
    this.#memory = memory;
    this.resource = peer.resource;
    this.credentials = peer.credentials;
    this.who = `process ${peer.credentials.pid}`;
  }

  async welcome(ring: Resource, beginning: Uint8Array<ArrayBuffer>): Promise<Link> {
    try {
      ring.assertLive(); // else its fds are closed, and their numbers may belong to other files
      this.resource.dependOn(ring);
      await this.#connection.send(beginning, []);
      for (const { bytes, fds } of this.#memory) await this.#connection.send(bytes, fds);
      return this;
    } catch (error) {
      throw undone(error, [() => this.resource.dispose()], "letting a reader in");
    }
  }

  take<T>(look: Look<T>): T | "later" | "ended" {
    this.resource.assertLive();
    return receivePacket(this.#connection.fd, look);
  }

  ready(readiness: Readiness, signal: AbortSignal | undefined): Promise<void> {
    return this.#connection.ready(readiness, signal);
  }

  sendNow(bytes: Uint8Array): boolean {
    return this.#connection.sendNow(bytes);
  }

  send(bytes: Uint8Array): Promise<void> {
    return this.#connection.send(bytes, []);
  }

  sent(signal: AbortSignal | undefined): Promise<void> {
    return this.#connection.sent(signal);
  }
}

/** Takes the server over. The fds of the ring's memory end with it. */
export function doorOf(server: Server, frames: readonly (Tensor | Frame)[]): Door {
  const release: Undo = [];
  return allOrNothing("making a ring", () => {
    const memory = frames.map((mapped, i) => {
      const message = outgoing({ mapped, access: "read", kinds: KINDS, argument: `frames[${i}]` });
      release.push(...message.release);
      return message;
    });
    for (const { fds } of memory) for (const fd of fds) sealAgainstWriters(fd);
    const { resource, path } = server;
    resource.undo.unshift(...release);
    return {
      resource,
      path,
      async *[Symbol.asyncIterator]() {
        for await (const peer of server) yield new FdLink(peer, memory);
      },
    };
  }, release);
}

/** Joins the ring of a connected process. The peer stays the caller's if this throws. */
export async function joined<T extends Tensor | Frame>(peer: Peer, signal: SignalOptions): Promise<Joined<T>> {
  using made = new DisposableStack();
  const packet = await connectionOf(peer).receive(signal.signal);
  if (packet === undefined) throw ended();
  using fds = packet.fds;
  const { count, whenFull } = beginningIn(packet.bytes, fds.length);
  const frames: T[] = [];
  for (let i = 0; i < count; i++) {
    const frame = await peer.receive(signal);
    if (frame === undefined) throw ended();
    frames.push(made.use(frame as T));
    if (frame.access !== "read") throw badMessage("access", `expected "read", got "${frame.access}".`);
  }
  made.move();
  return { link: new FdLink(peer), frames, whenFull };
}

function ended(): Error {
  const hint = "Its writer ended before it had sent its memory, or does not let this process in.";
  return errnoError("channel", ECONNRESET, "the handshake of a ring", hint);
}
