import type { CudaEvent as EventHandle } from "../../ffi/cuda_runtime/handles.ts";
import type { Call, Driver, LineEvents } from "../core/device/driver.ts";
import { cudaError, CudaLostError } from "./errors.ts";
import { cudart } from "./library.ts";
import type { DeviceCalls } from "./primary_context.ts";

/** A device, as far as its lanes need it. */
export interface LaneDevice extends DeviceCalls {
  /** The device's primary context stays until the answered function is called. */
  keepPrimary(): () => void;
}

/** What the driver keeps for one line of CUDA's work: a stream, or a shared event. For those who write mappers. */
export abstract class CudaLane {
  /** The newest mark. */
  protected newest = 0;
  /** The newest mark known to be over: all of them, for ever, once CUDA is lost or the lane is closed. */
  protected over = 0;
  /** The device whose work it is. */
  protected readonly device: LaneDevice;
  readonly #events: LineEvents;

  /** Of the line that is told of what fails. */
  constructor(events: LineEvents, device: LaneDevice) {
    this.#events = events;
    this.device = device;
  }

  /** A call was accepted as this mark. */
  submitted(mark: number): void {
    this.newest = mark;
  }

  /** Asks whether a mark is over. Answers the newest that is. */
  abstract poll(mark: number): number;

  /** Blocks until a mark is over. */
  abstract block(mark: number): void;

  /** Waits off this thread. The device's primary context stays until then. */
  async waitElsewhere(mark: number): Promise<void> {
    if (mark <= this.over) return;
    const letGo = this.device.keepPrimary();
    try {
      await this.waitForEvent(mark);
    } catch (error) {
      this.failed(error);
    } finally {
      letGo();
    }
  }

  /** Releases what it holds. */
  abstract close(): void;

  /** An event at or behind a mark, for another lane to wait for; undefined where the mark is over. */
  abstract eventAt(mark: number): EventHandle | undefined;

  /** The next command runs behind an event. False where there is no such command. */
  abstract waitFor(event: EventHandle): boolean;

  /** cudaEventSynchronize off this thread, on an event that stays as it is until then. */
  protected abstract waitForEvent(mark: number): Promise<void>;

  /** A kernel that went wrong fails every mark from here on. @throws any other error: it is of the question, not of the work. */
  protected failed(error: unknown): void {
    if (!(error instanceof CudaLostError)) throw error;
    if (this.over === Infinity) return;
    this.#events.failed(this.over + 1, error, true);
    this.over = Infinity;
  }
}

/** A wait on the device is a call of its own, in the stream's order: there is nothing to add for a command. */
const MARKER: Call<CudaLane> = { fn: "cudaStreamWaitEvent", call: () => 0 };

/** CUDA's work, of all devices: streams of any two of them wait for each other without the host. */
export const cudaLines: Driver<CudaLane> = {
  api: "cuda",
  error(code, fn) {
    cudart().cudaGetLastError(); // else the next who asks for it, in whatever library, is told of ours
    return cudaError(code, fn);
  },
  lines: {
    close: (lane) => lane.close(),
    submitted: (lane, mark) => lane.submitted(mark),
    poll: (lane, mark) => lane.poll(mark),
    block: (lane, mark) => lane.block(mark),
    waitElsewhere: (lane, mark) => lane.waitElsewhere(mark),
    waitOnDevice(lane, of, mark) {
      const event = of.eventAt(mark);
      return event === undefined || lane.waitFor(event);
    },
  },
  marker: () => MARKER,
};
