import { DPCTL_COMPLETE, DPCTL_IN_ORDER, DPCTL_UNKNOWN_STATUS } from "../../ffi/sycl/constants.ts";
import type { DPCTLSyclEventRef, DPCTLSyclQueueRef } from "../../ffi/sycl/handles.ts";
import { NULL } from "../../ffi/address.ts";
import type { Call, Driver, LineEvents } from "../core/contract.ts";
import { type WaitingLane, waitingLines } from "../core/device/lanes.ts";
import { NativeCallError, throwAll } from "../core/errors.ts";
import { ledger } from "../core/life/ledger.ts";
import { unwind } from "../core/life/undo.ts";
import type { SyclContext } from "./context.ts";
import { failed, made, sycl, syclWait } from "./library.ts";

/** The code for a refused command: DPCTL returns no event, and keeps no code. */
const NO_EVENT = -1;

/** The number of new commands after which finished ones are looked for. */
const SWEEP = 64;

interface Submitted {
  readonly event: DPCTLSyclEventRef;
  readonly fn: string;
}

/** The lane of a line: an in-order queue, and the events of its unfinished commands, the oldest first. */
export class SyclLane implements WaitingLane<SyclLane> {
  /** The `DPCTLSyclQueueRef`, a `sycl::queue*`, which takes its commands. */
  readonly handle: DPCTLSyclQueueRef;
  readonly #report: LineEvents;
  #pending = NULL as bigint as DPCTLSyclEventRef;
  readonly #events: Submitted[] = [];
  /** The newest mark that is known to be over. */
  #over = 0;
  #sweepAt = SWEEP;

  /** Makes the queue. */
  constructor({ native, deviceRef }: SyclContext, report: LineEvents) {
    this.handle = made(sycl().DPCTLQueue_Create(native.handle, deviceRef, NULL, DPCTL_IN_ORDER), "DPCTLQueue_Create");
    this.#report = report;
    ledger.add("sycl.queue");
  }

  /** Keeps a command's event. Returns the code of the call. */
  took(event: DPCTLSyclEventRef): number {
    this.#pending = event;
    return event === 0n ? NO_EVENT : 0;
  }

  /** Records that the driver accepted a command. */
  submitted(mark: number, fn: string): void {
    this.#events.push({ event: this.#pending, fn });
    ledger.add("sycl.event");
    if (mark < this.#sweepAt) return;
    this.poll(mark);
    this.#sweepAt = mark + SWEEP + (mark - this.#over);
  }

  /** The newest mark known to be over. */
  poll(mark: number): number {
    const { DPCTLEvent_GetCommandExecutionStatus: statusOf } = sycl();
    while (this.#over < mark) {
      const { event, fn } = this.#events[0];
      const status = statusOf(event);
      if (status !== DPCTL_COMPLETE && status !== DPCTL_UNKNOWN_STATUS) break;
      // The command or the query failed. Wait, because memory is released only once the device has finished with it.
      if (status === DPCTL_UNKNOWN_STATUS) sycl().DPCTLEvent_WaitAndThrow(event);
      this.#over++;
      this.#events.shift();
      release(event);
      if (status === DPCTL_UNKNOWN_STATUS) this.#report.failed(this.#over, workError(fn));
    }
    return this.#over;
  }

  /** The event of an unfinished command; undefined once it is over. */
  eventAt(mark: number): DPCTLSyclEventRef | undefined {
    return mark <= this.#over ? undefined : this.#events[mark - this.#over - 1].event;
  }

  /** Blocks until a mark is over. */
  block(mark: number): void {
    const event = this.eventAt(mark);
    if (event !== undefined) sycl().DPCTLEvent_WaitAndThrow(event);
  }

  /** Waits for a mark on another thread, which has a copy of the event, because this one may delete it. */
  async waitElsewhere(mark: number): Promise<void> {
    const event = this.eventAt(mark);
    if (event === undefined) return;
    const own = made(sycl().DPCTLEvent_Copy(event), "DPCTLEvent_Copy");
    try {
      await syclWait().DPCTLEvent_WaitAndThrow(own);
    } finally {
      sycl().DPCTLEvent_Delete(own);
    }
  }

  /** Makes the next command wait for a mark of another lane of the context. */
  waitFor(of: SyclLane, mark: number): boolean {
    const event = of.eventAt(mark);
    if (event === undefined) return true;
    const { DPCTLQueue_SubmitBarrierForEvents, DPCTLEvent_Delete } = sycl();
    const barrier = DPCTLQueue_SubmitBarrierForEvents(this.handle, new BigUint64Array([event]), 1n);
    if (barrier === 0n) return false;
    DPCTLEvent_Delete(barrier);
    return true;
  }

  /** Releases the queue. All its work is over. */
  close(): void {
    const errors = unwind([
      () => {
        sycl().DPCTLQueue_Delete(this.handle);
        ledger.remove("sycl.queue");
      },
      () => void this.poll(this.#over + this.#events.length),
    ]);
    throwAll(errors, "releasing a SYCL queue");
  }
}

function release(event: DPCTLSyclEventRef): void {
  sycl().DPCTLEvent_Delete(event);
  ledger.remove("sycl.event");
}

function workError(submitter: string): NativeCallError {
  const fn = "DPCTLEvent_GetCommandExecutionStatus";
  const hint = "SYCL gives no reason: the kernel or the device failed.";
  return new NativeCallError(`Work submitted by ${submitter} failed.`, { api: "sycl", fn, hint });
}

/** A command whose function returns an event. */
export function command(fn: string, submit: (lane: SyclLane) => DPCTLSyclEventRef, blocks = false): Call<SyclLane> {
  return { fn, blocks, call: (lane) => lane.took(submit(lane)) };
}

const BARRIER: Call<SyclLane> = command(
  "DPCTLQueue_SubmitBarrier",
  ({ handle }) => sycl().DPCTLQueue_SubmitBarrier(handle),
);

/** The driver of one context: its lines wait for each other on the device. */
export function syclDriver(): Driver<SyclLane> {
  return {
    api: "sycl",
    error: (_, fn) => failed(fn),
    lines: waitingLines<SyclLane>(),
    marker: () => BARRIER,
  };
}
