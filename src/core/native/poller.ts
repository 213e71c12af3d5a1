/**
 * Waits until fds are ready: sockets, sync files, dma-bufs. However many are waited for, one native call is in flight.
 *
 * @module
 */
import { type Address, NULL } from "../../../ffi/address.ts";
import {
  EFD_CLOEXEC,
  EFD_NONBLOCK,
  EPOLL_CLOEXEC,
  EPOLL_CTL_ADD,
  EPOLL_CTL_DEL,
  EPOLL_CTL_MOD,
  EPOLLERR,
  EPOLLHUP,
  EPOLLIN,
  EPOLLONESHOT,
  EPOLLOUT,
} from "../../../ffi/libc/constants.ts";
import { EBADF, ENOENT, EPERM } from "../../../ffi/libc/errors.ts";
import { messageOf, NativeCallError, warn } from "../errors.ts";
import { type Undo, undone, unwind } from "../life/undo.ts";
import { closeFd } from "./fd.ts";
import { libc, libcError } from "./libc.ts";
import { mapPages, PAGE, unmapPages } from "./blocks.ts";
import { bytesAt } from "./pin.ts";

/** What to wait for: that reading, or writing, would not block; or only that the other side hangs up, which ends any wait. */
export type Readiness = "read" | "write" | "hang-up";

export interface ReadyOptions {
  /** Ends the wait; it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

const INTEREST: Readonly<Record<Readiness, number>> = { read: EPOLLIN, write: EPOLLOUT, "hang-up": 0 };

/** `struct epoll_event`, which is packed on x86-64 only: its size, and where its data begins. */
const EVENT = Deno.build.arch === "x86_64" ? { size: 12, data: 4 } : { size: 16, data: 8 };

const MAX_EVENTS = 64;

/** Closed fds are looked for after it: epoll does not report them. A terminated Worker's thread stays as long. */
const LONGEST_MS = 500;

/** How long an unused epoll fd waits for the next waiter, in milliseconds. */
const LINGER_MS = 1;

interface Waiter {
  /** What it waits for, as epoll says it. */
  readonly interest: number;
  resolve(): void;
  reject(reason: unknown): void;
}

let current: Poller | undefined;

/**
 * Resolves when the fd can be read or written without blocking, has failed, or its other side has hung up. It may also
 * resolve too early: make the call, and wait again if that reports EAGAIN. Any number of promises may wait for one fd.
 *
 * While a promise waits, the process stays alive. After a millisecond without one, all that this holds is closed: an epoll
 * fd, an eventfd and a page. A Worker that is terminated while it waits leaves those to the process.
 * @throws {NativeCallError} as a rejection: EBADF if the fd is not open, or is closed during the wait (noticed within half
 * a second); EPERM if it cannot be waited for (a regular file).
 */
export async function ready(fd: number, readiness: Readiness, { signal }: ReadyOptions = {}): Promise<void> {
  signal?.throwIfAborted();
  current ??= new Poller(() => current = undefined);
  await current.wait(fd, INTEREST[readiness], signal);
}

class Poller {
  readonly #undo: Undo = [];
  readonly #onEnd: () => void;
  readonly #epoll: number;
  /** An eventfd: writing to it ends the call that is in flight. */
  readonly #bell: number;
  /** The kernel writes here, perhaps after its isolate has ended, so it is not JavaScript memory. */
  readonly #events: Address;
  readonly #seen: DataView;
  readonly #waiters: Map<number, Set<Waiter>> = new Map();

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    try {
      this.#epoll = this.#opened("epoll_create1", libc().epoll_create1(EPOLL_CLOEXEC));
      this.#bell = this.#opened("eventfd", libc().eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      if (this.#control(EPOLL_CTL_ADD, this.#bell, EPOLLIN) !== 0) throw libcError("epoll_ctl");
      this.#events = mapPages(NULL, PAGE);
      this.#undo.push(() => unmapPages(this.#events, PAGE));
      const bytes = bytesAt(this.#events, PAGE, "libc", this.#undo);
      this.#seen = new DataView(bytes.buffer);
    } catch (error) {
      throw undone(error, this.#undo, "making an epoll fd");
    }
    this.#run();
  }

  async wait(fd: number, interest: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { interest, resolve, reject };
    const leave = () => this.#leave(fd, waiter, signal!.reason);
    this.#join(fd, waiter);
    signal?.addEventListener("abort", leave);
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  #opened(fn: string, fd: number): number {
    if (fd < 0) throw libcError(fn);
    this.#undo.push(() => closeFd(fd));
    return fd;
  }

  #control(operation: number, fd: number, interest: number): number {
    const event = new DataView(new ArrayBuffer(EVENT.size));
    event.setUint32(0, interest, true);
    event.setInt32(EVENT.data, fd, true);
    return libc().epoll_ctl(this.#epoll, operation, fd, event);
  }

  #join(fd: number, waiter: Waiter): void {
    const others = this.#waiters.get(fd);
    const all = new Set(others).add(waiter);
    const error = this.#arm(fd, all);
    if (error === undefined) return void this.#waiters.set(fd, all);
    this.#rejectAll(fd); // the others' fd was closed, and perhaps its number is another file's now
    if (error.code !== ENOENT) return waiter.reject(error);
    if (this.#control(EPOLL_CTL_ADD, fd, waiter.interest | EPOLLONESHOT) !== 0) {
      return waiter.reject(
        libcError("epoll_ctl", { [EPERM]: "Only what can block is waited for: a socket, a pipe, a dma-buf." }),
      );
    }
    this.#waiters.set(fd, new Set([waiter]));
  }

  #leave(fd: number, waiter: Waiter, reason: unknown): void {
    const waiters = this.#waiters.get(fd);
    if (waiters?.delete(waiter)) waiter.reject(reason);
    if (waiters?.size !== 0) return;
    this.#waiters.delete(fd);
    this.#control(EPOLL_CTL_DEL, fd, 0); // fails if the fd was closed
    if (this.#waiters.size === 0) libc().write(this.#bell, BigUint64Array.of(1n), 8n);
  }

  /** Asks for the next event that one of them waits for; returns why that is impossible. */
  #arm(fd: number, waiters: Iterable<Waiter>): NativeCallError | undefined {
    let interest = EPOLLONESHOT; // so that an fd that was closed, and lives on as a duplicate, reports at most once
    for (const waiter of waiters) interest |= waiter.interest;
    if (this.#control(EPOLL_CTL_MOD, fd, interest) !== 0) return libcError("epoll_ctl");
  }

  /** Their fd was closed. The kernel may say ENOENT or EPERM of it: that is about another file, which has its number now. */
  #rejectAll(fd: number): void {
    for (const waiter of this.#waiters.get(fd) ?? []) waiter.reject(closedDuringWait(fd));
    this.#waiters.delete(fd);
  }

  /** Runs for as long as a promise waits. */
  async #run(): Promise<void> {
    for (let checked = performance.now();;) {
      const longest = this.#waiters.size > 0 ? LONGEST_MS : LINGER_MS;
      const count = await libc().epoll_wait(this.#epoll, this.#events, MAX_EVENTS, longest);
      for (let i = 0; i < count; i++) this.#dispatch(i * EVENT.size);
      if (count > 0 && performance.now() < checked + LONGEST_MS) continue;
      if (this.#waiters.size === 0) break;
      checked = performance.now();
      for (const [fd, waiters] of this.#waiters) this.#check(fd, waiters);
    }
    this.#onEnd();
    for (const error of unwind(this.#undo)) warn(`closing an epoll fd: ${messageOf(error)}`);
  }

  #dispatch(at: number): void {
    const events = this.#seen.getUint32(at, true);
    const fd = this.#seen.getInt32(at + EVENT.data, true);
    if (fd === this.#bell) return void libc().read(fd, new BigUint64Array(1), 8n);
    const waiters = this.#waiters.get(fd);
    if (waiters === undefined) return;
    for (const waiter of waiters) {
      if ((events & (waiter.interest | EPOLLERR | EPOLLHUP)) === 0) continue;
      waiters.delete(waiter);
      waiter.resolve();
    }
    if (waiters.size === 0) this.#waiters.delete(fd);
    else this.#check(fd, waiters);
  }

  /** Goes on waiting for an fd, if it is still open. */
  #check(fd: number, waiters: ReadonlySet<Waiter>): void {
    if (this.#arm(fd, waiters) !== undefined) this.#rejectAll(fd);
  }
}

function closedDuringWait(fd: number): NativeCallError {
  const hint = "Keep the fd open until the wait has ended, or end the wait by its signal first.";
  const fields = { api: "libc", fn: "epoll_ctl", code: EBADF, codeName: "EBADF", hint };
  return new NativeCallError(`fd ${fd} was closed during the wait for it (EBADF).`, fields);
}
