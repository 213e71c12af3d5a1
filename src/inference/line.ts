import { blockingPause, polled } from "../core/device/asking.ts";
import type { Driver, LineEvents } from "../core/contract.ts";
import { Line } from "../core/device/line.ts";
import { NativeFlag } from "../core/device/native_flag.ts";
import type { Resource } from "../core/life/resource.ts";
import { libc } from "../core/native/libc.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import { type Address, NULL } from "../../ffi/address.ts";

/** The native state that runs a model, one run at a time: an `ov_infer_request_t`, or the arguments of OrtApi's Run. */
export interface Request {
  /** The function that starts a run, for errors. */
  readonly fn: string;
  /** From now on, runs read this object as native input `i`. */
  setInput(i: number, object: Address): void;
  /** From now on, runs write output `i` to this object. */
  setOutput(i: number, object: Address): void;
  /** Lets the next run make the object of output `i`. */
  leaveOutput(i: number): void;
  /** The object that a run made for output `i`, which the caller frees; null if the run made no such object. */
  madeOutput(i: number): Address;
  /** Drops the request's reference to that object. Left out if the request keeps none. */
  letGoOfOutput?(i: number): void;
  /** Runs on this thread. Undefined if that would not report every failure. @throws the runtime's error. */
  readonly run: (() => void) | undefined;
  /** Starts a run on another thread, which calls the flag once when it is over. Returns the runtime's code. */
  start(): number;
  /** Settles once that run has called the flag. If it is left out, the flag is polled. */
  readonly ended?: Promise<void> | undefined;
  /** Ends the run in flight early. */
  cancel(): void;
  /** The error of the run whose flag was called, if it failed. */
  failure(): Error | undefined;
  /** Frees it. No run is in flight. */
  release(): void;
}

/** The limit of a flag's count. */
const MAX_RUNS = 2 ** 31 - 1;

/** One request, and its line: a run is a command, and its mark is over once the runtime has called back. */
export class Lane {
  readonly request: Request;
  readonly line: Line<Lane>;
  /** True from when it is taken until it is given back. */
  isBusy = false;
  /** Called once the run in flight is over, and before anything that it used ends. Returns why it failed, if it did. */
  ended: ((failure: Error | undefined) => unknown) | undefined;
  /** The keys of the tensors whose objects the request has; 0 for none. */
  readonly inputs: number[] = [];
  readonly outputs: number[] = [];
  readonly #flag: NativeFlag;
  readonly #undo: Undo = [];
  readonly #free: (object: Address) => void;
  /** The outputs for which the run makes objects, until they are taken. */
  readonly #left = new Set<number>();
  #events: LineEvents | undefined;
  #seen = 0;

  /**
   * @param free frees an object that a run has made
   * @param make makes the request, which calls the flag at the end of each run
   */
  constructor(
    name: string,
    { api, error }: Pick<Driver, "api" | "error">,
    owner: Resource,
    free: (object: Address) => void,
    make: (flag: NativeFlag) => Request,
  ) {
    const undo = this.#undo;
    this.#free = free;
    [this.#flag, this.request, this.line] = allOrNothing("making a request", () => {
      const flag = new NativeFlag({ name: `the end of ${name}`, count: MAX_RUNS });
      undo.push(() => {
        flag.withdraw(); // no run is in flight
        flag[Symbol.dispose]();
      });
      const request = make(flag);
      undo.push(() => request.release(), () => this.#freeLeft());
      const line = new Line<Lane>({
        driver: { api, error, lines: LINES },
        name,
        owners: [owner],
        open: (events) => {
          this.#events = events;
          return this;
        },
      });
      return [flag, request, line];
    }, undo);
  }

  /** The newest mark that is over. */
  poll(): number {
    const { calls } = this.#flag;
    while (this.#seen < calls) {
      this.#seen++;
      const failure = this.ended!(this.request.failure());
      if (failure !== undefined) this.#events!.failed(this.#seen, failure);
    }
    return this.#seen;
  }

  /** Lets the next run make the object of output `i`. */
  leave(i: number): void {
    this.request.leaveOutput(i);
    this.#left.add(i);
  }

  /** Takes the object that the run made for an output. */
  take(i: number): Address {
    const made = this.request.madeOutput(i);
    this.request.letGoOfOutput?.(i);
    this.#left.delete(i);
    return made;
  }

  /** Returns the lane after a run, and frees the objects that were not taken. */
  giveBack(): void {
    this.isBusy = false;
    this.ended = undefined;
    if (this.line.resource.state !== "freed") this.#freeLeft();
  }

  #freeLeft(): void {
    for (const i of this.#left) {
      const made = this.take(i);
      if (made !== NULL) this.#free(made);
    }
  }

  /** Frees the request and the flag. */
  close(): void {
    undoAll(this.#undo, "ending a request");
  }
}

/** How long a wait polls, for short runs. It yields in between, because the run's thread may need this core. */
const POLL_MS = 0.05;

const LINES: Driver<Lane>["lines"] = {
  close: (lane) => lane.close(),
  submitted() {},
  poll: (lane) => lane.poll(),
  block(lane, mark) {
    const pause = blockingPause(lane.line.name);
    while (lane.poll() < mark) pause();
  },
  async waitElsewhere(lane, mark) {
    const end = performance.now() + POLL_MS;
    while (lane.poll() < mark && performance.now() < end) libc().sched_yield(); // cannot fail
    if (lane.poll() < mark) await (lane.request.ended ?? polled(() => lane.poll() >= mark));
  },
  takesThread: false,
};
