import { cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import type { CudaEvent as EventHandle } from "../../ffi/cuda_runtime/handles.ts";
import { ledger } from "../core/life/ledger.ts";
import { check, checkRelease } from "./errors.ts";
import { cudart } from "./library.ts";
import type { DeviceCalls } from "./primary_context.ts";

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
