import { UCP_WORKER_PARAM_FIELD_THREAD_MODE, UCS_THREAD_MODE_SINGLE } from "../../ffi/ucx/constants.ts";
import { UCS_ERR_BUSY } from "../../ffi/ucx/errors.ts";
import type { UcpContextH, UcpWorkerH } from "../../ffi/ucx/handles.ts";
import { ucp_worker_params_t, writeUcpWorkerParams } from "../../ffi/ucx/structs.ts";
import { messageOf, warn } from "../core/errors.ts";
import { pause } from "../core/device/asking.ts";
import { counted } from "../core/life/ledger.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import { libc } from "../core/native/libc.ts";
import { ready } from "../core/native/poller.ts";
import { nextTurn } from "../core/pace.ts";
import { check, made, packedBy, ucp } from "./library.ts";

/** Between two looks at commands for which no event comes: those whose other side hangs or has died. */
const TICK_MS = 250;

/** How long it asks after something has moved, before it waits off the thread: that takes long, and stops a transfer. */
const POLL_MS = 0.2;

/** Where UCX says that it has something to do, and does nothing, it is asked less often after this time. */
const BUSY_MS = 2;

/** For how long bytes that move keep the event loop from turning. */
const TURN_MS = 0.5;

/** As many calls in a row, however fast others send. */
const MAX_CALLS = 64;

/** Who asks one worker again and again asks the others each time that it has asked so often. */
const OTHERS_EACH = 4;

/** What advances with a worker. */
export interface Advancing {
  /** Looks at what it waits for. */
  look(): void;
}

/** All workers of this isolate: a wait that blocks for one of them has to keep the others going. */
const all = new Set<UcpWorker>();

/** Lets all workers do what can be done at once. */
export function advanceAll(): void {
  for (const worker of all) worker.advance();
}

/**
 * A UCX worker: one end of connections. Bytes move, for its own commands and for those of other processes alike, only
 * while this isolate calls it: it does while something is there for it to advance.
 */
export class UcpWorker {
  readonly handle: UcpWorkerH;
  /** What others connect to. */
  readonly address: Uint8Array<ArrayBuffer>;
  /**
   * True if it stays until the process ends: it has given up a process that hangs. Where that goes on, it replies to what
   * it was asked, and a reply that finds no connection ends it (`ucp_request_send()` in UCX 1.13 to 1.22).
   */
  stays = false;
  /** Releases what UCX may write to until the worker has ended. */
  readonly #kept: Undo = [];
  readonly #fd: number;
  readonly #advancing: Set<Advancing> = new Set();
  #isRunning = false;
  /** How often something was done: more usually follows. */
  #moves = 0;
  #asked = 0;
  /** True once the program was warned that it is slow. */
  #isNamed = false;
  #wait = new AbortController();

  /** Its end goes on the list. */
  constructor(context: UcpContextH, undo: Undo) {
    const params = new DataView(new ArrayBuffer(ucp_worker_params_t.size));
    const field_mask = BigInt(UCP_WORKER_PARAM_FIELD_THREAD_MODE);
    writeUcpWorkerParams(params, 0, { field_mask, thread_mode: UCS_THREAD_MODE_SINGLE });
    const handle = made<UcpWorkerH>("ucp_worker_create", (out) => ucp().ucp_worker_create(context, params, out));
    const destroy = counted("ucx.worker", () => ucp().ucp_worker_destroy(handle));
    undo.push(() => this.stays || undoAll(this.#kept, "releasing what a worker could write to"));
    undo.push(() => this.stays || destroy());
    this.handle = handle;
    const fd = new Int32Array(1);
    check(ucp().ucp_worker_get_efd(handle, fd), "ucp_worker_get_efd");
    this.#fd = fd[0];
    this.address = packedBy(
      "ucp_worker_get_address",
      (out, length) => ucp().ucp_worker_get_address(handle, out, length),
      (at) => ucp().ucp_worker_release_address(handle, at),
    );
    all.add(this);
    undo.push(() => void all.delete(this));
  }

  /** Keeps it going, from now until {@link leave}. The process stays alive meanwhile. */
  join(one: Advancing): void {
    this.#advancing.add(one);
    if (!this.#isRunning) void this.#run();
  }

  /** Keeps the worker going for other processes, until the returned function is called. */
  serve(): () => void {
    const serving = { look: () => {} };
    this.join(serving);
    return () => this.leave(serving);
  }

  leave(one: Advancing): void {
    if (this.#advancing.delete(one) && this.#advancing.size === 0) this.#wait.abort();
  }

  /** Undoes the list once the worker has ended: UCX may write to what it releases until then. */
  keep(undo: Undo): void {
    this.#kept.push(() => undoAll(undo, "releasing what came in pieces"));
  }

  /** Does what can be done at once. */
  advance(most = MAX_CALLS): void {
    for (let i = 0; i < most && ucp().ucp_worker_progress(this.handle) !== 0; i++) this.#moves++;
    for (const one of this.#advancing) one.look();
  }

  /** The same for who asks again and again: this program may be the other side as well, by another worker. */
  ask(): void {
    if (++this.#asked % OTHERS_EACH === 0) advanceAll();
    else this.advance(1);
  }

  /** Asks for as long as something moves, or until it is over. The event loop turns, but not at each question. */
  async poll(isOver: () => boolean): Promise<void> {
    const begun = performance.now();
    for (let now = begun, turn = begun + TURN_MS, until = begun + POLL_MS; now < until;) {
      if (this.#advancing.size === 0 || isOver()) return; // else it may have been destroyed
      const moves = this.#moves;
      this.ask();
      now = performance.now();
      if (this.#moves !== moves) until = now + POLL_MS;
      else libc().sched_yield(); // the other side may need this core
      if (now < turn) continue;
      await nextTurn();
      turn = performance.now() + TURN_MS;
    }
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const tick = setInterval(() => {
      if (this.#advancing.size > 0) this.advance(); // else it may have been destroyed
    }, TICK_MS);
    try {
      for (let moves = -1, until = 0; this.#advancing.size > 0;) {
        const now = performance.now();
        if (this.#moves !== moves) until = now + POLL_MS;
        moves = this.#moves;
        if (now < until) await nextTurn(); // the program goes on first
        else await this.#untilEvent(until + BUSY_MS);
        if (this.#advancing.size > 0) this.advance();
      }
    } finally {
      clearInterval(tick);
      this.#isRunning = false;
    }
  }

  async #untilEvent(busyUntil: number): Promise<void> {
    this.#wait = new AbortController();
    const { signal } = this.#wait;
    try {
      const code = ucp().ucp_worker_arm(this.handle);
      if (code === UCS_ERR_BUSY) return await pause(busyUntil); // there is something to do, perhaps not yet
      check(code, "ucp_worker_arm");
      await ready(this.#fd, "read", { signal });
      this.#moves++;
    } catch (error) {
      if (signal.aborted) return;
      if (!this.#isNamed) warn(`UCX cannot be waited for, and is asked every ${TICK_MS} ms: ${messageOf(error)}`);
      this.#isNamed = true;
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
  }
}
