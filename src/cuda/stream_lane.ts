import { CUDA_ERROR_INVALID_CONTEXT } from "../../ffi/cuda_driver/errors.ts";
import {
  cudaEventBlockingSync,
  cudaEventDisableTiming,
  cudaStreamPerThread,
} from "../../ffi/cuda_runtime/constants.ts";
import type { CudaEvent as EventHandle, CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import type { Call, LineEvents } from "../core/contract.ts";
import { Fence } from "../core/device/fence.ts";
import type { Line } from "../core/device/line.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import { CudaLane, type LaneDevice } from "./driver.ts";
import { check } from "./errors.ts";
import { createEvent, destroyEvent, isReached, synchronize, synchronizeAsync } from "./events.ts";
import { cudart } from "./library.ts";
import type { ManagedTurns } from "./memory/managed_turns.ts";

/** The parts of a stream's lane. */
export interface StreamLaneInit {
  /** The stream. It lives until the lane is closed. */
  readonly stream: StreamHandle;
  /** Destroys the stream; undefined if another owner does. */
  readonly destroy: (() => void) | undefined;
  /** The stream's device. */
  readonly device: LaneDevice;
}

interface Turns {
  readonly turns: ManagedTurns;
  readonly line: Line<StreamLane>;
}

interface Recorded {
  readonly handle: EventHandle;
  mark: number;
  /** The number of threads that wait for it; it is not recorded again while they do. */
  waiters: number;
}

/** A thread that waits for such an event sleeps. The event measures no time. */
const FLAGS = cudaEventDisableTiming | cudaEventBlockingSync;

/**
 * The limit of commands in a row without an event, beyond which memory that waits for one of them would be freed much too late.
 */
const FAR = 16;

type StreamCall = (stream: StreamHandle, event: EventHandle) => number;

const NO_EVENT = 0n as EventHandle;
const RECORD: StreamCall = (stream, event) => cudart().cudaEventRecord(event, stream);
const QUERY: StreamCall = (stream) => cudart().cudaStreamQuery(stream);
const WAIT: StreamCall = (stream, event) => cudart().cudaStreamWaitEvent(stream, event, 0);
const SYNCHRONIZE: StreamCall = (stream) => cudart().cudaStreamSynchronize(stream);

/**
 * The lane of a `cudaStream_t`. It records an event only when something waits for a mark, so that a submit takes one native
 * call. The event may then lie behind later commands too: a wait may be longer than necessary, but never shorter. For mappers.
 */
export class StreamLane extends CudaLane {
  /** The stream. */
  readonly stream: StreamHandle;
  readonly #destroy: (() => void) | undefined;
  /** True for CUDA's default streams, which belong to the thread's current device. */
  readonly #isOfThread: boolean;
  /** True if the next call that takes its device from the stream works without a change of the thread's device. */
  readonly #isHere: () => boolean;
  /** Oldest first. The events of marks that are over are reused. */
  readonly #events: Recorded[] = [];
  #isClosed = false;
  #turns: Turns | undefined;
  #lost: { readonly error: unknown } | undefined;

  /** Made by streams. */
  constructor(events: LineEvents, { stream, destroy, device }: StreamLaneInit) {
    super(events, device);
    this.stream = stream;
    this.#destroy = destroy;
    this.#isOfThread = stream <= cudaStreamPerThread;
    this.#isHere = this.#isOfThread ? device.isCurrent : device.isNear;
  }

  /** Makes this lane's commands and the host take turns at managed memory. */
  takeTurns(turns: ManagedTurns, line: Line<StreamLane>): void {
    turns.join(line);
    this.#turns = { turns, line };
  }

  /** Makes a call with its device as the thread's current one. */
  call(run: (stream: StreamHandle) => number): number {
    this.#turns?.turns.before(this);
    return this.device.isCurrent() ? run(this.stream) : this.#switched(run, NO_EVENT);
  }

  /** Records an event behind the commands of all users of the stream, as the next mark. Returns a code. */
  mark(): number {
    return this.#record(this.newest + 1);
  }

  /** Records that CUDA accepted a call as this mark. */
  override submitted(mark: number): void {
    this.newest = mark;
    if (this.#turns !== undefined) this.#turns.turns.after(this, new Fence(this.#turns.line, mark));
  }

  /** True if the commands of all users of the stream are over. */
  isIdle(): boolean {
    return this.#call(QUERY, NO_EVENT) === 0;
  }

  /** Queries whether a mark is over. Returns the newest mark that is. */
  poll(mark: number): number {
    if (mark <= this.over) return this.over;
    try {
      const event = this.#at(mark);
      if (isReached(event.handle)) this.over = event.mark;
    } catch (error) {
      this.failed(error);
    }
    return this.over;
  }

  /**
   * A poll by an event shortly before the mark: while that event is not over, neither is the mark, which then needs no event
   * of its own.
   */
  override glance(mark: number): number {
    const last = this.#events.at(-1);
    const isClose = last !== undefined && this.over < last.mark && last.mark < mark && mark - last.mark <= FAR;
    return isClose && this.poll(last.mark) < last.mark ? this.over : this.poll(mark);
  }

  /**
   * Blocks until a mark is over. It first queries an event that exists already, because that is faster than a wait.
   */
  block(mark: number): void {
    if (mark <= this.over) return;
    const last = this.#events.at(-1);
    if (last !== undefined && last.mark >= mark && mark <= this.poll(mark)) return;
    if (mark === this.newest) return this.#finish(); // by the schedule of the device's context, without an event
    try {
      const event = this.#at(mark);
      synchronize(event.handle);
      this.over = event.mark;
    } catch (error) {
      this.failed(error);
    }
  }

  /**
   * Blocks until the work of all users of the stream is over (cudaStreamSynchronize). Unlike a wait for an event, this lets the
   * driver reuse memory that was freed in stream order.
   *
   * @throws {CudaLostError} if a kernel has crashed.
   */
  finish(): void {
    if (this.#lost === undefined) this.#finish();
    if (this.#lost !== undefined) throw this.#lost.error;
  }

  /** The earliest event at or behind a mark. @see {@link CudaLane.eventAt} */
  eventAt(mark: number): EventHandle | undefined {
    if (mark <= this.over) return undefined;
    try {
      return this.#at(mark).handle;
    } catch (error) {
      this.failed(error);
      return undefined;
    }
  }

  /** Makes the next command wait for an event (cudaStreamWaitEvent). */
  waitFor(event: EventHandle): boolean {
    check(this.#call(WAIT, event), "cudaStreamWaitEvent");
    return true;
  }

  /** Launches a kernel by a call of the driver API. */
  launch(run: (stream: StreamHandle) => number): number {
    this.#turns?.turns.before(this);
    return this.onStream(run);
  }

  /** Makes a call of the driver API, which takes the context from the stream. @see {@link CudaLane.onStream} */
  onStream(run: (stream: StreamHandle) => number): number {
    if (this.#isOfThread && !this.device.isCurrent()) return this.#switched(run, NO_EVENT);
    const code = run(this.stream);
    return code === CUDA_ERROR_INVALID_CONTEXT ? this.device.within(() => run(this.stream)) : code;
  }

  /** Destroys the events, and the stream if it is the lane's. */
  close(): void {
    this.over = Infinity;
    this.#isClosed = true;
    const undo: Undo = [];
    if (this.#destroy !== undefined) undo.push(this.#destroy);
    for (const { handle, waiters } of this.#events) {
      if (waiters === 0) undo.push(() => destroyEvent(this.device, handle)); // else the last waiting thread does
    }
    undo.push(() => this.#turns?.turns.streamEnds(this, this.#destroy !== undefined));
    undoAll(undo, "ending a stream");
  }

  /** Keeps the error, which {@link finish} throws. */
  protected override failed(error: unknown): void {
    super.failed(error);
    this.#lost = { error };
  }

  /** Waits on another thread for the earliest event at or behind a mark. */
  protected async waitForEvent(mark: number): Promise<void> {
    const event = this.#at(mark);
    event.waiters++;
    try {
      await synchronizeAsync(event.handle);
    } finally {
      event.waiters--;
      if (event.waiters === 0 && this.#isClosed) destroyEvent(this.device, event.handle);
    }
  }

  #finish(): void {
    const { newest } = this;
    try {
      check(this.#call(SYNCHRONIZE, NO_EVENT), "cudaStreamSynchronize");
      this.over = newest;
    } catch (error) {
      this.failed(error);
    }
  }

  #call(run: StreamCall, event: EventHandle): number {
    return this.#isHere() ? run(this.stream, event) : this.#switched(run, event);
  }

  /** Makes a call with a switch of the thread's device. Separate, so that a call without a switch allocates nothing. */
  #switched(run: StreamCall, event: EventHandle): number {
    return this.device.switched(() => run(this.stream, event));
  }

  /** The earliest event at or behind a mark that is not over; recorded now if the lane has no such event. */
  #at(mark: number): Recorded {
    const events = this.#events;
    let i = events.length; // from the newest back: most callers need that one, and a busy stream has hundreds
    while (i > 0 && events[i - 1].mark >= mark) i--;
    if (i < events.length) return events[i];
    check(this.#record(this.newest), "cudaEventRecord");
    return events[events.length - 1];
  }

  /** Records an event as this mark. Returns a code. */
  #record(mark: number): number {
    const event = this.#take();
    const { handle } = event;
    const code = this.#isHere() ? cudart().cudaEventRecord(handle, this.stream) : this.#switched(RECORD, handle);
    if (code !== 0) {
      this.#events.unshift(event); // its mark is still the old one
      return code;
    }
    event.mark = mark;
    this.#events.push(event);
    return code;
  }

  /** Takes an event that is over and that no thread waits for out of the list, or makes a new one. */
  #take(): Recorded {
    const events = this.#events;
    for (let i = 0; i < events.length && events[i].mark <= this.over; i++) {
      if (events[i].waiters === 0) return events.length === 1 ? events.pop()! : events.splice(i, 1)[0]; // pop() is faster
    }
    return { handle: createEvent(this.device, FLAGS), mark: 0, waiters: 0 };
  }
}

/** A CUDA call on a stream. `run` returns a code, 0 for success. For mappers. */
export function onStream(fn: string, run: (stream: StreamHandle) => number): Call<StreamLane> {
  return { fn, call: (lane) => lane.call(run) };
}

/** Records an event at once, behind the commands of all users, so that later commands do not delay it. */
export const MARK: Call<StreamLane> = { fn: "cudaEventRecord", call: (lane) => lane.mark() };
