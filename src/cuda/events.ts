import { cudaEventBlockingSync, cudaEventDisableTiming } from "../../ffi/cuda_runtime/constants.ts";
import { cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import type { CudaEvent as EventHandle } from "../../ffi/cuda_runtime/handles.ts";
import { throwAll } from "../core/errors.ts";
import { ledger } from "../core/life/ledger.ts";
import { unwind } from "../core/life/undo.ts";
import { check, checkRelease } from "./errors.ts";
import { cudart } from "./library.ts";
import type { DeviceCalls } from "./primary_context.ts";

/** A `cudaEvent_t` of a pool. */
export interface PooledEvent {
  /** The event. */
  readonly handle: EventHandle;
  /** The newest mark of its lane that it stands behind, where it was recorded last. */
  mark: number;
  /** How many waits of other threads are on it. It goes back to the pool once nobody waits for it. */
  waiters: number;
}

/** The events of one device that mark points in its streams, kept for the next point: making one takes a call. */
export class EventPool {
  readonly #calls: DeviceCalls;
  #free: PooledEvent[] = [];
  #closed = false;

  /** `calls` are made to the device. */
  constructor(calls: DeviceCalls) {
    this.#calls = calls;
  }

  /** An event, without timing: the caller gives it back. */
  take(): PooledEvent {
    return this.#free.pop() ?? { handle: createEvent(this.#calls, POINT_FLAGS), mark: 0, waiters: 0 };
  }

  /** Gives it back, or up, where the pool has ended. */
  give(event: PooledEvent): void {
    if (this.#closed) destroyEvent(this.#calls, event.handle);
    else this.#free.push(event);
  }

  /** Destroys all that are not in use. */
  close(): void {
    this.#closed = true;
    const free = this.#free.splice(0);
    throwAll(unwind(free.map(({ handle }) => () => destroyEvent(this.#calls, handle))), "destroying events");
  }
}

/** A thread that waits for such an event sleeps; it keeps no time. */
const POINT_FLAGS = cudaEventDisableTiming | cudaEventBlockingSync;

/** Makes an event (cudaEventCreateWithFlags). */
export function createEvent({ within }: DeviceCalls, flags: number): EventHandle {
  const out = new BigUint64Array(1);
  within(() => check(cudart().cudaEventCreateWithFlags(out, flags), "cudaEventCreateWithFlags"));
  ledger.add("cuda.cudaEvent_t");
  return out[0] as EventHandle;
}

/** Destroys an event of the device. */
export function destroyEvent({ near }: DeviceCalls, event: EventHandle): void {
  ledger.remove("cuda.cudaEvent_t");
  near(() => checkRelease(cudart().cudaEventDestroy(event), "cudaEventDestroy"));
}

/** Is what an event marks done? @throws {CudaLostError} where a kernel has gone wrong. */
export function isReached(event: EventHandle): boolean {
  const code = cudart().cudaEventQuery(event);
  if (code === 0) return true;
  if (code !== cudaErrorNotReady) check(code, "cudaEventQuery");
  cudart().cudaGetLastError(); // "not ready" is no error, and is kept as one all the same
  return false;
}

/** Blocks until what an event marks is done: then it is. @throws {CudaLostError} where a kernel has gone wrong. */
export function synchronize(event: EventHandle): true {
  check(cudart().cudaEventSynchronize(event), "cudaEventSynchronize");
  return true;
}

/** The same off this thread. */
export async function synchronizeAsync(event: EventHandle): Promise<void> {
  check(await cudart().cudaEventSynchronizeAsync(event), "cudaEventSynchronize");
}
