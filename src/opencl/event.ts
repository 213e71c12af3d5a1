import { CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST } from "../../ffi/opencl/errors.ts";
import { ArgumentError, DisposedError } from "../core/errors.ts";
import { Fence } from "../core/life/fence.ts";
import type { OpenCLContext } from "./context.ts";
import { check } from "./errors.ts";
import { assertNoGates } from "./queues/gate.ts";
import { opencl } from "./library.ts";
import { Point } from "./queues/point.ts";
import type { CommandTimes } from "./queues/profiling.ts";
import type { OpenCLQueue } from "./queue.ts";

const list = new BigUint64Array(1);

/** A point in the work of an OpenCL queue, or an event. */
export class OpenCLFence extends Fence {
  /** The context whose work it is. */
  readonly context: OpenCLContext;
  readonly #point: Point;
  readonly #queue: OpenCLQueue | undefined;
  /** False for a fence at work that was over already: what came of that is old news. */
  #wasThere: boolean;
  #disposed = false;

  /** `queue` is what the command was submitted to; none for a user event, or one that somebody else made. */
  constructor(context: OpenCLContext, queue: OpenCLQueue | undefined, point: Point) {
    super();
    if (!Point.owns(point)) throw new ArgumentError("point: it is none of ours.", { api: "opencl", argument: "point" });
    this.context = context;
    this.#queue = queue;
    this.#point = point.share();
    this.#wasThere = point.event !== undefined;
  }

  /**
   * The event of a fence and its outcome, which all fences of one point share; undefined for those of other APIs. For
   * those who write mappers.
   */
  static pointOf(fence: Fence): Point | undefined {
    return #point in fence ? fence.#point : undefined;
  }

  /** Its queue, where that runs commands in order; else the chain of commands that wait for each other. */
  get line(): object {
    return this.#queue?.order === "in-order" ? this.#queue : this.#point.chain;
  }

  /** True once the work was seen over. */
  override get over(): boolean {
    return this.#point.event === undefined;
  }

  /** True once the work is done. @throws {NativeCallError} where it failed. */
  reached(): boolean {
    this.#assertLive();
    if (!this.#point.over()) return false;
    this.#point.raise();
    // Not once, but to whoever asks: what a wait is thrown, nobody may hear of.
    if (this.#wasThere) this.#point.raiseUnreleased();
    return true;
  }

  /** Blocks until the work is done. */
  waitSync(): void {
    if (this.reached()) return;
    assertNoGates(this.#point.gates, "this wait");
    const event = this.#point.event!;
    // What counts is what the event says: rusticl 22.3 comes back early.
    do {
      list[0] = event;
      checkWait(opencl().clWaitForEvents(1, list));
    } while (!this.reached());
  }

  /**
   * When the command was enqueued, began and was done, once it is.
   *
   * @throws {ArgumentError} where its queue has no profiling (`argument` is `"profiling"`), or it is not reached yet.
   * @throws {NativeCallError} where it failed, or the driver would not tell.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using queue = cl.createQueue({ profiling: true });
   * using tensor = cl.allocate({ shape: [1024], dtype: "f32" });
   * queue.fill(tensor, 0);
   * using fence = queue.lastCommand();
   * await fence.wait();
   * const { started, ended } = fence.times();
   * console.log(`${ended - started} ns`);
   * ```
   */
  times(): CommandTimes {
    this.#assertLive();
    if (!this.#point.profiled) {
      throw notTimed(
        "profiling",
        "no times are kept of this work.",
        "Submit it to cl.createQueue({ profiling: true }).",
      );
    }
    const reached = this.reached();
    const { times } = this.#point;
    if (reached && times !== undefined) return times;
    throw notTimed("fence", "the work is not done yet.", "Wait for it first: await fence.wait().");
  }

  /** Another owner of the same point. */
  retain(): OpenCLFence {
    this.#assertLive();
    const fence = new OpenCLFence(this.context, this.#queue, this.#point);
    fence.#wasThere = this.#wasThere;
    return fence;
  }

  /** Gives up this owner's share. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#point.drop();
  }

  /** Settles once every user event that the work waits for is set. */
  protected waitable(): Promise<void> | undefined {
    const { gates } = this.#point;
    return gates.length === 0 ? undefined : Promise.all(gates.map((gate) => gate.opened)).then(() => this.waitable());
  }

  /** clWaitForEvents off this thread, on an event that stays retained until it returns. */
  protected async waitNonblocking(): Promise<void> {
    const event = this.#point.event;
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

function notTimed(argument: string, what: string, hint: string): ArgumentError {
  return new ArgumentError(`times(): ${what}`, { api: "opencl", fn: "clGetEventProfilingInfo", argument, hint });
}
