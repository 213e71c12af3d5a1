import { CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS } from "../../ffi/opencl/constants.ts";
import { CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST } from "../../ffi/opencl/errors.ts";
import type { ClEvent } from "../../ffi/opencl/handles.ts";
import { AccessError, DisposedError, type NativeCallError } from "../core/errors.ts";
import { Fence } from "../core/fence.ts";
import { ledger } from "../core/ledger.ts";
import type { OpenCLContext } from "./context.ts";
import { check, workError } from "./errors.ts";
import { opencl } from "./library.ts";

const list = new BigUint64Array(1);
const status = new Int32Array(1);

/**
 * A `cl_event` and those who share it. It is released as soon as it is seen done: PoCL 3.1 aborts the process when a
 * command fails whose event nobody holds, so every command's event is held until then. That of a failed one is held
 * longer: PoCL looks at it again when what the command had waited for ends, which may be later.
 */
export class Point {
  #event: ClEvent | undefined;
  #over = false;
  #failure: NativeCallError | undefined;
  #gates: readonly Gate[];
  #behind: readonly Point[];
  readonly #fn: string;
  readonly #flush: () => void;
  #sharers = 0;

  /**
   * Takes the event over. `gates` are the user events that were unset when the command was submitted, `behind` is what
   * stands in its wait list.
   */
  constructor(event: ClEvent, fn: string, gates: readonly Gate[], behind: readonly Point[], flush: () => void) {
    this.#event = event;
    this.#fn = fn;
    this.#gates = gates;
    this.#behind = behind;
    this.#flush = flush;
    ledger.add("opencl.cl_event");
  }

  /** One more holds it. */
  share(): this {
    this.#sharers++;
    return this;
  }

  /** One less; the last one releases the event. */
  drop(): void {
    if (--this.#sharers === 0 && this.#event !== undefined) this.#release();
  }

  /** The queue has no more use for it, and with that nobody: whoever shares it is told by what was seen. */
  letGo(): void {
    this.#behind = [];
    if (this.#over && this.#event !== undefined) this.#release();
    this.drop();
  }

  /** The event, for a wait list; undefined once it was seen over. */
  get event(): ClEvent | undefined {
    return this.#over ? undefined : this.#event;
  }

  /** What stands in its wait list and may not be over yet; empty once it is done itself. */
  get behind(): readonly Point[] {
    return this.#behind;
  }

  /** The user events of this isolate that have to be set before this can be reached. */
  get gates(): readonly Gate[] {
    if (this.#gates.length > 0) this.#gates = this.#gates.filter((gate) => !gate.set);
    return this.#gates;
  }

  /** True once the command is done, or failed. */
  over(): boolean {
    if (this.#over || this.#event === undefined) return true;
    if (this.gates.length > 0) return false;
    this.#flush();
    check(
      opencl().clGetEventInfo(this.#event, CL_EVENT_COMMAND_EXECUTION_STATUS, 4n, status, null),
      "clGetEventInfo",
    );
    if (status[0] > CL_COMPLETE) return false;
    this.#over = true;
    if (status[0] < CL_COMPLETE) this.#failure = workError(status[0], this.#fn);
    else {
      this.#behind = [];
      this.#release();
    }
    return true;
  }

  /** Throws what made the command fail, if it did. */
  raise(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  #release(): void {
    const event = this.#event!;
    this.#event = undefined;
    ledger.remove("opencl.cl_event");
    check(opencl().clReleaseEvent(event), "clReleaseEvent");
  }
}

/** A point in the work of an OpenCL queue, or a user event. */
export class OpenCLFence extends Fence {
  /** The context whose work it is. */
  readonly context: OpenCLContext;
  /** The queue it was submitted to. */
  readonly line: object;
  /** The event and its outcome, shared by all fences of the same point. */
  readonly point: Point;
  #disposed = false;

  /** `line` is the queue. */
  constructor(context: OpenCLContext, line: object, point: Point) {
    super();
    this.context = context;
    this.line = line;
    this.point = point.share();
  }

  /** True once the work was seen over. */
  override get over(): boolean {
    return this.point.event === undefined;
  }

  /** True once the work is done. @throws {NativeCallError} where it failed. */
  reached(): boolean {
    this.#assertLive();
    if (!this.point.over()) return false;
    this.point.raise();
    return true;
  }

  /** Blocks until the work is done. */
  waitSync(): void {
    if (this.reached()) return;
    assertNoGates(this.point.gates, "this wait");
    const event = this.point.event!;
    // What counts is what the event says: rusticl 22.3 comes back early.
    do {
      list[0] = event;
      checkWait(opencl().clWaitForEvents(1, list));
    } while (!this.reached());
  }

  /** Another owner of the same point. */
  retain(): OpenCLFence {
    this.#assertLive();
    return new OpenCLFence(this.context, this.line, this.point);
  }

  /** Gives up this owner's share. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.point.drop();
  }

  /** Settles once every user event that the work waits for is set. */
  protected waitable(): Promise<void> | undefined {
    const { gates } = this.point;
    return gates.length === 0 ? undefined : Promise.all(gates.map((gate) => gate.opened)).then(() => this.waitable());
  }

  /** clWaitForEvents off this thread, on an event that stays retained until it returns. */
  protected async waitNonblocking(): Promise<void> {
    const event = this.point.event;
    if (event === undefined) return;
    check(opencl().clRetainEvent(event), "clRetainEvent");
    const events = new BigUint64Array([event]);
    try {
      checkWait(await opencl().clWaitForEventsAsync(1, events));
    } finally {
      events.fill(0n); // so that it lives for as long as the other thread may read it
      check(opencl().clReleaseEvent(event), "clReleaseEvent");
    }
  }

  #assertLive(): void {
    if (this.#disposed) throw new DisposedError("this fence was disposed.", { api: "opencl" });
  }
}

/** A wait for an event that failed answers so; what made it fail is told by the event itself. */
function checkWait(code: number): void {
  if (code !== CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) check(code, "clWaitForEvents");
}

/** A user event's state, as those who wait behind it see it. */
export interface Gate {
  /** True once it was set, or failed. */
  readonly set: boolean;
  /** Settles when it is. */
  readonly opened: Promise<void>;
}

/** A synchronous wait behind an unset user event of this isolate could never end. */
export function assertNoGates(gates: readonly Gate[], what: string): void {
  if (gates.length === 0) return;
  throw new AccessError(`${what} could never end: the work waits for a user event of this isolate that is not set.`, {
    api: "opencl",
    argument: "fence",
    hint: "Set the event first, or await instead.",
  });
}
