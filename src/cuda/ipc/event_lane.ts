import { cudaStreamPerThread } from "../../../ffi/cuda_runtime/constants.ts";
import type { CudaEvent as EventHandle, CudaStream as StreamHandle } from "../../../ffi/cuda_runtime/handles.ts";
import type { LineEvents } from "../../core/contract.ts";
import { CudaLane, type LaneDevice } from "../driver.ts";
import { cudart } from "../library.ts";
import { destroyEvent, isReached, synchronize, synchronizeAsync } from "../events.ts";

/**
 * The lane of an event that processes share. A mark stands for the last record by then or for a later one: a wait may be
 * longer than necessary, but never shorter. The event is destroyed once its owner has ended and no thread waits for it.
 */
export class EventLane extends CudaLane {
  readonly event: EventHandle;
  #waiters = 0;
  #isClosed = false;

  constructor(events: LineEvents, device: LaneDevice, event: EventHandle) {
    super(events, device);
    this.event = event;
  }

  poll(mark: number): number {
    return this.#see(mark, isReached);
  }

  block(mark: number): void {
    this.#see(mark, synchronize);
  }

  eventAt(mark: number): EventHandle | undefined {
    return mark <= this.over ? undefined : this.event;
  }

  waitFor(): boolean {
    return false; // an event cannot wait
  }

  /** Without a stream of its own, it makes the thread's default stream wait for the event first. */
  onStream(run: (stream: StreamHandle) => number): number {
    const stream = cudaStreamPerThread as StreamHandle;
    return this.device.within(() => cudart().cudaStreamWaitEvent(stream, this.event, 0) || run(stream));
  }

  close(): void {
    this.#isClosed = true;
    this.over = Infinity;
    if (this.#waiters === 0) destroyEvent(this.device, this.event);
  }

  protected async waitForEvent(): Promise<void> {
    this.#waiters++;
    try {
      await synchronizeAsync(this.event);
    } finally {
      if (--this.#waiters === 0 && this.#isClosed) destroyEvent(this.device, this.event);
    }
  }

  #see(mark: number, ask: (event: EventHandle) => boolean): number {
    if (mark <= this.over) return this.over;
    const { newest } = this;
    try {
      if (ask(this.event)) this.over = newest;
    } catch (error) {
      this.failed(error);
    }
    return this.over;
  }
}
