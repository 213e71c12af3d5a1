import { SOCK_CLOEXEC, SOCK_NONBLOCK } from "../../ffi/channel/constants.ts";
import { EAGAIN, ECONNABORTED } from "../../ffi/libc/errors.ts";
import { aKind, type Names, optionsIn } from "../core/argument.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing, undone } from "../core/life/undo.ts";
import { closeFd } from "../core/native/fd.ts";
import { errno } from "../core/native/libc.ts";
import { Pace } from "../core/pace.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { warn } from "../core/errors.ts";
import { type Credentials, credentialsOf, OpenSocket } from "./connection.ts";
import { socketError, sockets } from "./library.ts";
import {
  type Allowed,
  type ChannelOptions,
  channelOptions,
  checks,
  notAllowed,
  signalIn,
  type SignalOptions,
} from "./options.ts";
import { Peer, unlessDisposed } from "./peer.ts";
import { connectTo, listenAt } from "./socket_file.ts";
import { Turns } from "../core/turns.ts";

const ACCEPT: Names<SignalOptions> = { signal: true };

/**
 * A socket that other processes connect to.
 *
 * @typeParam T what they send: see {@link Peer}
 */
export class Server<T extends Tensor | Frame = Tensor | Frame> extends NativeObject implements AsyncIterable<Peer<T>> {
  /** Its end of life: the socket is closed, and its file removed. Peers stay. */
  readonly resource: Resource;
  /** The socket's file. */
  readonly path: string;
  readonly #socket: OpenSocket;
  readonly #allowed: Allowed;
  readonly #pace: Pace = new Pace();
  /** A new connection wakes one of the tasks that wait. */
  readonly #accepting: Turns = new Turns();

  /** Made by {@link listen}. */
  constructor(path: string, options: ChannelOptions) {
    super();
    this.#allowed = channelOptions(options);
    const { fd, unlink } = listenAt(path);
    this.#socket = new OpenSocket(fd, `channel at ${path}`, unlink);
    this.path = path;
    this.resource = this.#socket.resource;
    finalizers.register(this, this.resource, this);
  }

  /**
   * The next process that connects. One that is not allowed is turned away, with a warning.
   *
   * @throws {ArgumentError} if `allow` returned something other than a boolean; the process is turned away.
   * @throws {DisposedError} if this is disposed, before or during the wait.
   */
  async accept(options: SignalOptions = {}): Promise<Peer<T>> {
    const { signal } = signalIn(optionsIn(options, ACCEPT).signal);
    return await this.#accepting.run(() => this.#next(signal), signal);
  }

  async #next(signal: AbortSignal | undefined): Promise<Peer<T>> {
    for (;;) {
      const turn = this.#pace.next();
      if (turn !== undefined) await turn;
      signal?.throwIfAborted();
      this.resource.assertLive();
      const fd = sockets().accept4(this.#socket.fd, null, null, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        const peer = this.#admit(fd);
        if (peer !== undefined) return peer;
        continue;
      }
      const code = errno();
      if (code === ECONNABORTED) continue; // it has gone again
      if (code !== EAGAIN) throw socketError("accept4");
      await this.#socket.ready("read", signal);
    }
  }

  /** Each process that connects, until this is disposed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Peer<T>, void> {
    for (;;) {
      const peer = await this.accept().catch(unlessDisposed);
      if (peer === undefined) return;
      yield peer;
    }
  }

  #admit(fd: number): Peer<T> | undefined {
    const { targets, allow } = this.#allowed;
    const who = askedOf(fd, allow);
    if (who.allowed) return new Peer<T>(fd, who.credentials, targets);
    closeFd(fd);
    const { pid, uid } = who.credentials;
    warn(`process ${pid} of user ${uid} connected to ${this.path} and was turned away. Pass { allow } to admit it.`);
  }
}

/**
 * Listens at a path, to which other processes {@link connect}. The socket's file has mode 0600, so only this user can
 * connect, and is removed at the end. A file that a dead process left behind is replaced.
 *
 * @typeParam T what the others send: `listen<HostTensor>(path, { contexts: [host] })`
 * @throws {ArgumentError} if another process listens there, or the path is longer than 107 bytes.
 * @throws {NativeCallError} if the file cannot be made.
 *
 * @example
 * ```ts
 * import { host } from "@samepage/interop";
 * import { connect, listen } from "@samepage/interop/channel";
 *
 * const path = `${await Deno.makeTempDir()}/frames`;
 * using server = listen(path, { contexts: [host] });
 * using client = connect(path); // in another process, as a rule
 * using peer = await server.accept();
 * using frame = host.allocate({ shape: [1080, 1920, 4], dtype: "u8", sharable: true });
 * frame.view()[0] = 42;
 * await client.send(frame);
 * using received = await peer.receive();
 * console.log(received?.name); // host tensor [1080,1920,4] u8
 * ```
 */
export function listen<T extends Tensor | Frame = Tensor | Frame>(
  path: string,
  options: ChannelOptions = {},
): Server<T> {
  return new Server<T>(path, options);
}

/**
 * Connects to the process that listens at a path.
 *
 * @typeParam T what the other side sends: `connect<Frame<HostTensor>>(path, { contexts: [host] })`
 * @throws {NativeCallError} ENOENT or ECONNREFUSED if no process does.
 * @throws {ArgumentError} if it belongs to another user and `allow` does not admit it, or if `allow` returned something
 * other than a boolean.
 */
export function connect<T extends Tensor | Frame = Tensor | Frame>(
  path: string,
  options: ChannelOptions = {},
): Peer<T> {
  return connectAs<T>(path, channelOptions(options));
}

/** The same with options that were checked. */
export function connectAs<T extends Tensor | Frame>(path: string, { targets, allow }: Allowed): Peer<T> {
  const fd = connectTo(path);
  const who = askedOf(fd, allow);
  if (who.allowed) return new Peer<T>(fd, who.credentials, targets);
  const error = notAllowed(who.credentials);
  throw undone(error, [() => closeFd(fd)], "connecting");
}

/**
 * Asks for the process on the other side, and whether it is allowed. Closes the socket if the kernel does not know it.
 */
function askedOf(
  fd: number,
  allow: (who: Credentials) => boolean,
): { readonly credentials: Credentials; readonly allowed: boolean } {
  return allOrNothing("asking who connects", () => {
    const credentials = credentialsOf(fd);
    return { credentials, allowed: booleanOf(allow(credentials)) };
  }, [() => closeFd(fd)]);
}

/** Checks what `allow` returned: a promise is truthy, and would admit every process. */
function booleanOf(allowed: unknown): boolean {
  if (typeof allowed === "boolean") return allowed;
  if (allowed instanceof Promise) allowed.catch(() => {}); // else its failure would end the process
  const what = `expected a function that returns true or false at once, and it returned ${aKind(allowed)}.`;
  throw checks.wrong("allow", what, "Make it synchronous: await what it needs before you listen or connect.");
}
