import { UCP_WORKER_PARAM_FIELD_THREAD_MODE, UCS_THREAD_MODE_SINGLE } from "../../ffi/ucx/constants.ts";
import { UCS_ERR_BUSY } from "../../ffi/ucx/errors.ts";
import type { UcpContextH, UcpWorkerH } from "../../ffi/ucx/handles.ts";
import { ucp_worker_params_t, writeUcpWorkerParams } from "../../ffi/ucx/structs.ts";
import { messageOf, warn } from "../core/errors.ts";
import { counted } from "../core/life/ledger.ts";
import type { Undo } from "../core/life/undo.ts";
import { libc } from "../core/native/libc.ts";
import { ready } from "../core/native/poller.ts";
import { nextTurn, Pace } from "../core/pace.ts";
import { check, made, packedBy, ucp } from "./library.ts";

/** Between two looks at commands for which no event comes: those whose other side hangs or has died. */
const TICK_MS = 250;

/** How long it asks and yields before it waits off the thread, which takes about as long. */
const POLL_MS = 0.05;

/** As many calls in a row, however fast others send. */
const MOST_CALLS = 64;

/** What advances with a worker. */
export interface Advancing {
  /** Looks at what it waits for. Returns true if it has woken somebody. */
  look(): boolean;
}

/** All workers of this isolate: a wait that blocks for one of them has to keep the others going. */
const all = new Set<UcpWorker>();

/** Lets all workers do what can be done at once. */
export function advanceAll(): void {
  for (const worker of all) worker.advance();
}

/**
 * A worker of UCX's: one end of connections. Bytes move, for its own commands and for those of other processes alike, only
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
  readonly #fd: number;
  readonly #advancing: Set<Advancing> = new Set();
  readonly #pace: Pace = new Pace();
  #isRunning = false;
  /** Has something been done since the last look? More follows, as a rule. */
  #moved = false;
  /** Was the program warned that it is slow? */
  #isNamed = false;
  #wait = new AbortController();

  /** Its end goes on the list. */
  constructor(context: UcpContextH, undo: Undo) {
    const params = new DataView(new ArrayBuffer(ucp_worker_params_t.size));
    const field_mask = BigInt(UCP_WORKER_PARAM_FIELD_THREAD_MODE);
    writeUcpWorkerParams(params, 0, { field_mask, thread_mode: UCS_THREAD_MODE_SINGLE });
    const handle = made<UcpWorkerH>("ucp_worker_create", (out) => ucp().ucp_worker_create(context, params, out));
    const destroy = counted("ucx.worker", () => ucp().ucp_worker_destroy(handle));
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
    const serving = { look: () => false };
    this.join(serving);
    return () => this.leave(serving);
  }

  leave(one: Advancing): void {
    if (this.#advancing.delete(one) && this.#advancing.size === 0) this.#wait.abort();
  }

  /** Does what can be done at once. Returns true if that has woken somebody. */
  advance(): boolean {
    for (let i = 0; i < MOST_CALLS && ucp().ucp_worker_progress(this.handle) !== 0; i++) this.#moved = true;
    let hasWoken = false;
    for (const one of this.#advancing) hasWoken = one.look() || hasWoken;
    return hasWoken;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const tick = setInterval(() => {
      if (this.#advancing.size > 0) this.advance(); // else it may have been destroyed
    }, TICK_MS);
    try {
      await undefined; // what has begun something goes on first
      let until = performance.now() + POLL_MS;
      while (this.#advancing.size > 0) {
        const turn = this.#pace.next();
        if (turn !== undefined) await turn;
        if (this.#advancing.size === 0) break;
        if (this.advance()) await nextTurn(); // before more is asked
        const now = performance.now();
        if (this.#moved) until = now + POLL_MS;
        this.#moved = false;
        if (now < until) libc().sched_yield(); // the other side may need this core
        else if (this.#advancing.size > 0) await this.#untilEvent();
      }
    } finally {
      clearInterval(tick);
      this.#isRunning = false;
    }
  }

  async #untilEvent(): Promise<void> {
    this.#wait = new AbortController();
    const { signal } = this.#wait;
    try {
      const code = ucp().ucp_worker_arm(this.handle);
      if (code === UCS_ERR_BUSY) return; // there is something to do
      check(code, "ucp_worker_arm");
      await ready(this.#fd, "read", { signal });
      this.#moved = true;
    } catch (error) {
      if (signal.aborted) return;
      if (!this.#isNamed) warn(`UCX cannot be waited for, and is asked every ${TICK_MS} ms: ${messageOf(error)}`);
      this.#isNamed = true;
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
  }
}
