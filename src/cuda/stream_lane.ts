import {
  cudaEventBlockingSync,
  cudaEventDisableTiming,
  cudaStreamPerThread,
} from "../../ffi/cuda_runtime/constants.ts";
import type { CudaEvent as EventHandle, CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import type { Call, LineEvents } from "../core/device/driver.ts";
import { Fence } from "../core/device/fence.ts";
import type { Line } from "../core/device/line.ts";
import { throwAll } from "../core/errors.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { CudaLane, type LaneDevice } from "./driver.ts";
import { check } from "./errors.ts";
import { createEvent, destroyEvent, isReached, synchronize, synchronizeAsync } from "./events.ts";
import { cudart } from "./library.ts";
import type { ManagedTurns } from "./memory/managed_turns.ts";

/** What a stream's lane is made of. */
export interface StreamLaneInit {
  /** The stream. It lives until the lane is closed. */
  readonly stream: StreamHandle;
  /** Destroys the stream; undefined where that is for its owner to do. */
  readonly destroy: (() => void) | undefined;
  /** The stream's device. */
  readonly device: LaneDevice;
}

/** Managed memory that host and device take turns at, and the line that asks for it. */
interface Turns {
  readonly turns: ManagedTurns;
  readonly line: Line<StreamLane>;
}

/** An event that stands behind commands. */
interface Recorded {
  readonly handle: EventHandle;
  /** The newest mark that it stands behind. */
  mark: number;
  /** How many waits of other threads are on it: it stays as it is until nobody waits. */
  waiters: number;
}

/** A thread that waits for such an event sleeps; it keeps no time. */
const FLAGS = cudaEventDisableTiming | cudaEventBlockingSync;

/** A call about a stream, and an event where it takes one. */
type StreamCall = (stream: StreamHandle, event: EventHandle) => number;

const NO_EVENT = 0n as EventHandle;
const RECORD: StreamCall = (stream, event) => cudart().cudaEventRecord(event, stream);
const WAIT: StreamCall = (stream, event) => cudart().cudaStreamWaitEvent(stream, event, 0);
const SYNCHRONIZE: StreamCall = (stream) => cudart().cudaStreamSynchronize(stream);

/**
 * One user's commands of a `cudaStream_t`. An event is recorded only when somebody asks for a mark, so that submitting
 * takes no more than its own call. The event may stand behind later commands then: a wait for more than was asked for,
 * never for less. For those who write mappers.
 */
export class StreamLane extends CudaLane {
  /** The stream. */
  readonly stream: StreamHandle;
  readonly #destroy: (() => void) | undefined;
  /** May calls that take their device from the stream be made whatever the thread's current device is? */
  readonly #isAnywhere: boolean;
  /** The events that are not known to be over, the oldest first. */
  readonly #recorded: Recorded[] = [];
  /** Those that are, kept for the next mark: making one takes a call. */
  readonly #free: Recorded[] = [];
  #isClosed = false;
  #turns: Turns | undefined;
  #lost: { readonly error: unknown } | undefined;

  /** Made by streams. */
  constructor(events: LineEvents, { stream, destroy, device }: StreamLaneInit) {
    super(events, device);
    this.stream = stream;
    this.#destroy = destroy;
    // CUDA's own streams are of whichever device is the thread's.
    this.#isAnywhere = device.isFirst && stream > cudaStreamPerThread;
  }

  /** From now on, this lane's commands and the host take turns at managed memory. */
  takeTurns(turns: ManagedTurns, line: Line<StreamLane>): void {
    turns.join(line);
    this.#turns = { turns, line };
  }

  /** Makes a call with its device as the thread's current one. */
  call(run: (stream: StreamHandle) => number): number {
    this.#turns?.turns.before(this);
    return this.device.isCurrent() ? run(this.stream) : this.#switched(run, NO_EVENT);
  }

  /** Records an event behind all that was submitted, by any user of the stream, as the next mark. Answers a code. */
  mark(): number {
    return this.#record(this.#take(), this.newest + 1);
  }

  /** A call was accepted as this mark. */
  override submitted(mark: number): void {
    this.newest = mark;
    if (this.#turns !== undefined) this.#turns.turns.after(this, new Fence(this.#turns.line, mark));
  }

  /** Asks whether a mark is over. Answers the newest that is. */
  poll(mark: number): number {
    if (mark <= this.over) return this.over;
    try {
      const event = this.#at(mark);
      if (isReached(event.handle)) this.#complete(event.mark);
    } catch (error) {
      this.failed(error);
    }
    return this.over;
  }

  /** Blocks until a mark is over. An event that stands there is asked first: a wait that finds it over costs more. */
  block(mark: number): void {
    if (mark <= this.over) return;
    const last = this.#recorded.at(-1);
    if (last !== undefined && last.mark >= mark && mark <= this.poll(mark)) return;
    if (mark === this.newest) return this.#finish(); // which waits as the device's context is to, and needs no event
    try {
      const event = this.#at(mark);
      synchronize(event.handle);
      this.#complete(event.mark);
    } catch (error) {
      this.failed(error);
    }
  }

  /**
   * Blocks until all is done that was submitted, by any user of the stream (cudaStreamSynchronize). What was freed in its
   * order is free then, which events do not tell the driver.
   *
   * @throws {CudaLostError} where a kernel has gone wrong.
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

  /** The next command runs behind an event (cudaStreamWaitEvent). */
  waitFor(event: EventHandle): boolean {
    check(this.#call(WAIT, event), "cudaStreamWaitEvent");
    return true;
  }

  /** Releases what it holds. */
  close(): void {
    this.#complete(Infinity);
    this.#isClosed = true;
    const undo: Undo = [];
    if (this.#destroy !== undefined) undo.push(this.#destroy);
    for (const { handle } of this.#free) undo.push(() => destroyEvent(this.device, handle));
    undo.push(() => this.#turns?.turns.streamEnds(this, this.#destroy !== undefined));
    throwAll(unwind(undo), "ending a stream");
  }

  /** Its events are free: nobody asks them again. */
  protected override failed(error: unknown): void {
    super.failed(error);
    this.#lost = { error };
    this.#complete(Infinity);
  }

  /** Waits off this thread for the earliest event at or behind a mark. */
  protected async waitForEvent(mark: number): Promise<void> {
    const event = this.#at(mark);
    event.waiters++;
    try {
      await synchronizeAsync(event.handle);
    } finally {
      event.waiters--;
      if (event.waiters === 0 && !this.#recorded.includes(event)) this.#give(event);
    }
  }

  #finish(): void {
    const { newest } = this;
    try {
      check(this.#call(SYNCHRONIZE, NO_EVENT), "cudaStreamSynchronize");
      this.#complete(newest);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Is the thread's current device one that calls about the stream and its events can be made with? */
  #isHere(): boolean {
    return this.#isAnywhere || this.device.isCurrent();
  }

  /** Makes a call that takes its device from the stream. */
  #call(run: StreamCall, event: EventHandle): number {
    return this.#isHere() ? run(this.stream, event) : this.#switched(run, event);
  }

  /** Apart, so that a call which needs no switch allocates nothing. */
  #switched(run: StreamCall, event: EventHandle): number {
    return this.device.within(() => run(this.stream, event));
  }

  /** The earliest event at or behind a mark; recorded now where there is none. */
  #at(mark: number): Recorded {
    const recorded = this.#recorded;
    for (let i = 0; i < recorded.length; i++) if (recorded[i].mark >= mark) return recorded[i];
    const event = this.#take();
    check(this.#record(event, this.newest), "cudaEventRecord");
    return event;
  }

  #take(): Recorded {
    return this.#free.pop() ?? { handle: createEvent(this.device, FLAGS), mark: 0, waiters: 0 };
  }

  #give(event: Recorded): void {
    if (this.#isClosed) destroyEvent(this.device, event.handle);
    else this.#free.push(event);
  }

  #record(event: Recorded, mark: number): number {
    const { handle } = event;
    const code = this.#isHere() ? cudart().cudaEventRecord(handle, this.stream) : this.#switched(RECORD, handle);
    if (code !== 0) {
      this.#give(event);
      return code;
    }
    event.mark = mark;
    this.#recorded.push(event);
    return code;
  }

  /** All up to a mark is over: its events go back to the pool. */
  #complete(mark: number): void {
    if (mark > this.over) this.over = mark;
    const recorded = this.#recorded;
    while (recorded.length > 0 && recorded[0].mark <= mark) {
      const event = recorded.length === 1 ? recorded.pop()! : recorded.shift()!; // the one takes less than the other
      if (event.waiters === 0) this.#give(event);
    }
  }
}

/** A call of CUDA's that is given a stream. `run` answers a code, 0 for success. For those who write mappers. */
export function onStream(fn: string, run: (stream: StreamHandle) => number): Call<StreamLane> {
  return { fn, call: (lane) => lane.call(run) };
}

/** An event at once: others may have submitted to the stream, and later commands of ours are not to delay it. */
export const MARK: Call<StreamLane> = { fn: "cudaEventRecord", call: (lane) => lane.mark() };
