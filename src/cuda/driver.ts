import type { CudaEvent as EventHandle, CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import type { Call, Driver, LineEvents } from "../core/contract.ts";
import { type Lane, LANES } from "../core/device/lanes.ts";
import type { DeviceId } from "../core/device/device_id.ts";
import { cudaError, CudaLostError, driverError } from "./errors.ts";
import { semaphores } from "./external/semaphore.ts";
import { cudart } from "./library.ts";
import type { DeviceCalls } from "./primary_context.ts";

/** The device of a lane. */
export interface LaneDevice extends DeviceCalls {
  /** UUID and PCI address. */
  readonly id: DeviceId;
  /** Why it takes no `EGLSync`s; undefined if it does. */
  readonly eglSyncRefusal: string | undefined;
  /** Retains the device's primary context until the returned function is called. */
  keepPrimary(): () => void;
}

/** The lane of a CUDA line: a stream, or a shared event. For mappers. */
export abstract class CudaLane implements Lane {
  /** The newest mark. */
  protected newest = 0;
  /** The newest mark known to be over; Infinity once CUDA is lost or the lane is closed. */
  protected over = 0;
  /** Its device. */
  readonly device: LaneDevice;
  readonly #events: LineEvents;

  /** Reports failures to `events`. */
  constructor(events: LineEvents, device: LaneDevice) {
    this.#events = events;
    this.device = device;
  }

  /** Records that CUDA accepted a call as this mark. */
  submitted(mark: number): void {
    this.newest = mark;
  }

  /** Queries whether a mark is over. Returns the newest mark that is. */
  abstract poll(mark: number): number;

  /** A poll without a command to the device if an earlier one suffices. @see {@link Lines.glance} */
  glance(mark: number): number {
    return this.poll(mark);
  }

  /** Blocks until a mark is over. */
  abstract block(mark: number): void;

  /** Waits on another thread. Retains the device's primary context until then. */
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

  /** Releases its native objects. */
  abstract close(): void;

  /** An event at or behind a mark, for another lane to wait for; undefined if the mark is over. */
  abstract eventAt(mark: number): EventHandle | undefined;

  /** Makes the next command wait for an event. Returns false if the lane has no commands. */
  abstract waitFor(event: EventHandle): boolean;

  /** Makes a call of the driver API on a stream, behind all of its commands. It touches no memory. Returns a code. */
  abstract onStream(run: (stream: StreamHandle) => number): number;

  /** cudaEventSynchronize on another thread, on an event that is not recorded again until then. */
  protected abstract waitForEvent(mark: number): Promise<void>;

  /** Fails all unfinished and later marks after a kernel has crashed. @throws any other error, for the poll to throw. */
  protected failed(error: unknown): void {
    if (!(error instanceof CudaLostError)) throw error;
    if (this.over === Infinity) return;
    this.#events.failed(this.over + 1, error, true);
    this.over = Infinity;
  }
}

/** Waits on the device are separate calls in stream order, so the marker adds nothing. */
export const MARKER: Call<CudaLane> = { fn: "cudaStreamWaitEvent", call: () => 0 };

/** The driver of all CUDA devices: streams of any two wait for each other without the host. */
export const cudaLines: Driver<CudaLane> = {
  api: "cuda",
  error(code, fn) {
    if (!fn.startsWith("cuda")) return driverError(code, fn);
    cudart().cudaGetLastError(); // or another library would read our error
    return cudaError(code, fn);
  },
  lines: {
    ...LANES,
    glance: (lane, mark) => lane.glance(mark),
    waitOnDevice(lane, of, mark) {
      const event = of.eventAt(mark);
      return event === undefined || lane.waitFor(event);
    },
    sync: semaphores,
  },
  marker: () => MARKER,
};
