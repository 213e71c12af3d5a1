import { type Address, NULL } from "../../ffi/address.ts";
import { UCS_ERR_TIMED_OUT, UCS_INPROGRESS } from "../../ffi/ucx/errors.ts";
import type { UcpEpH, UcpRkeyH } from "../../ffi/ucx/handles.ts";
import type { Call, Driver, LineEvents } from "../core/contract.ts";
import { blockingPause } from "../core/device/asking.ts";
import { type Lane, LANES } from "../core/device/lanes.ts";
import { owned } from "../core/life/ledger.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import { codeIn, Endpoint, PLAIN } from "./endpoint.ts";
import { API, made, ucp, ucxError } from "./library.ts";
import { advanceAll, type Advancing, type UcpWorker } from "./worker.ts";

/** A native call that may go on after it has returned. */
export interface Step {
  readonly fn: string;
  /** Returns 0, a request, or a code as an address. */
  start(endpoint: UcpEpH): Address;
}

/** Once it has moved, the other side sees the bytes. A put is over before that. */
const FLUSH: Step = {
  fn: "ucp_ep_flush_nbx",
  start: (endpoint) => ucp().ucp_ep_flush_nbx(endpoint, PLAIN),
};

/**
 * A connection to another process's worker, and the lane of its commands. UCX may end them in any order, and a line's do not:
 * so each begins when the one before is over. For mappers.
 */
export class UcxLane implements Lane, Advancing {
  readonly #worker: UcpWorker;
  readonly #events: LineEvents;
  readonly #timeout: number;
  readonly #endpoint: Endpoint;
  readonly #undo: Undo = [];
  /** The steps of commands that have not begun, each command's as one. */
  readonly #queue: Step[][] = [];
  /** The steps of the command in flight that have not begun. */
  #steps: Step[] = [];
  #now: Step | undefined;
  /** The function that was called last. */
  #fn = "";
  #request: Address = NULL;
  #deadline = 0;
  #given = 0;
  #over = 0;
  /** Why no further command can begin. */
  #lost = 0;
  #waiters: (() => void)[] = [];

  /** Connects; the other side notices with the first command. */
  constructor(worker: UcpWorker, address: Uint8Array<ArrayBuffer>, timeout: number, events: LineEvents) {
    this.#worker = worker;
    this.#events = events;
    this.#timeout = timeout;
    this.#endpoint = new Endpoint(worker, address, this.#undo);
  }

  /** Begins a command, or queues it; returns its code. */
  give(steps: readonly Step[]): number {
    if (this.#lost !== 0) return this.#lost;
    if (this.#now !== undefined) {
      this.#queue.push([...steps]);
      this.#given++;
      return 0;
    }
    this.#steps = [...steps];
    this.#deadline = performance.now() + this.#timeout;
    const code = this.#begin();
    if (code !== 0 && this.#fn === steps[0].fn) return code; // nothing has begun
    this.#given++;
    if (code !== 0) this.#lose(code);
    else if (this.#now === undefined) this.#over++;
    else this.#worker.join(this);
    return 0;
  }

  /** It counted the command itself as it was given. */
  submitted(): void {}

  /** The newest mark that is over. */
  poll(mark: number): number {
    if (mark > this.#over) advanceAll();
    return this.#over;
  }

  /** Blocks until a mark is over. */
  block(mark: number): void {
    const pause = blockingPause("a command of another machine's memory");
    while (this.poll(mark) < mark) pause();
  }

  /** Resolves when a mark is over. */
  waitElsewhere(mark: number): Promise<void> {
    if (mark <= this.#over) return Promise.resolve();
    return new Promise((resolve) => void this.#waiters.push(resolve));
  }

  /** Looks whether the command in flight is over, and begins the next. */
  look(): void {
    while (this.#now !== undefined) {
      const code = ucp().ucp_request_check_status(this.#request);
      if (code === UCS_INPROGRESS) return this.#giveUpIfLate();
      ucp().ucp_request_free(this.#request);
      this.#now = undefined;
      const failure = code || this.#lost || this.#goOn();
      if (failure !== 0) this.#lose(failure);
    }
    this.#settle();
  }

  /** Another process's memory, for as long as the connection is there. */
  unpack(key: Uint8Array<ArrayBuffer>): UcpRkeyH {
    const handle = made<UcpRkeyH>(
      "ucp_ep_rkey_unpack",
      (out) => ucp().ucp_ep_rkey_unpack(this.#endpoint.handle, key, out),
    );
    owned("ucx.key", this.#undo, () => ucp().ucp_rkey_destroy(handle));
    return handle;
  }

  /** Ends the connection. Its line has waited: nothing is in flight. */
  close(): void {
    undoAll(this.#undo, "closing a connection");
  }

  /** Begins the next steps until one takes time. Returns the code of one that failed. */
  #begin(): number {
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) {
      this.#fn = step.fn;
      const result = step.start(this.#endpoint.handle);
      if (result === NULL) continue;
      const code = codeIn(result);
      if (code !== undefined) {
        this.#steps = [];
        return code;
      }
      this.#request = result;
      this.#now = step;
      return 0;
    }
    return 0;
  }

  /** A step is over: begins what follows it. Returns the code of what failed. */
  #goOn(): number {
    for (;;) {
      const code = this.#begin();
      if (code !== 0 || this.#now !== undefined) return code;
      this.#over++;
      const next = this.#queue.shift();
      if (next === undefined) return 0;
      this.#steps = next;
      this.#deadline = performance.now() + this.#timeout;
    }
  }

  /** Bytes may move until the request has ended, so its mark is over only then: it ends soon once the connection does. */
  #giveUpIfLate(): void {
    if (this.#lost !== 0 || performance.now() <= this.#deadline) return;
    this.#lost = UCS_ERR_TIMED_OUT;
    this.#worker.stays = true;
    this.#endpoint.disconnect();
  }

  #lose(code: number): void {
    this.#lost ||= code; // a connection that was cut is why its request was canceled
    const error = ucxError(this.#lost, this.#fn);
    this.#events.failed(this.#over + 1, error, true);
    this.#queue.length = 0;
    this.#steps = [];
    this.#over = this.#given;
  }

  #settle(): void {
    this.#worker.leave(this);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }
}

/** The driver of commands on other processes' memory. For mappers. */
export type UcxDriver = Driver<UcxLane>;

export const DRIVER: UcxDriver = { api: API, error: ucxError, lines: LANES as Driver<UcxLane>["lines"] };

/** A command that moves bytes from there to here. */
export function getting(start: Step["start"]): Call<UcxLane> {
  return calling([{ fn: "ucp_get_nbx", start }]);
}

/** A command that moves bytes from here to there, and ends when they are seen there. */
export function putting(start: Step["start"]): Call<UcxLane> {
  return calling([{ fn: "ucp_put_nbx", start }, FLUSH]);
}

function calling(steps: readonly Step[]): Call<UcxLane> {
  return { fn: steps[0].fn, call: (lane) => lane.give(steps) };
}
