import { cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import type { CudaEvent as EventHandle } from "../../ffi/cuda_runtime/handles.ts";
import { ledger } from "../core/life/ledger.ts";
import { check, checkRelease } from "./errors.ts";
import { cudart } from "./library.ts";
import type { DeviceCalls } from "./primary_context.ts";

export function createEvent({ within }: DeviceCalls, flags: number): EventHandle {
  const out = new BigUint64Array(1);
  within(() => check(cudart().cudaEventCreateWithFlags(out, flags), "cudaEventCreateWithFlags"));
  ledger.add("cuda.cudaEvent_t");
  return out[0] as EventHandle;
}

export function destroyEvent({ near }: DeviceCalls, event: EventHandle): void {
  ledger.remove("cuda.cudaEvent_t");
  near(() => checkRelease(cudart().cudaEventDestroy(event), "cudaEventDestroy"));
}

/** True once an event is reached. @throws {CudaLostError} if a kernel has crashed. */
export function isReached(event: EventHandle): boolean {
  const code = cudart().cudaEventQuery(event);
  if (code === 0) return true;
  if (code !== cudaErrorNotReady) check(code, "cudaEventQuery");
  cudart().cudaGetLastError(); // CUDA keeps "not ready" as the last error
  return false;
}

/** Blocks. @throws {CudaLostError} if a kernel has crashed. */
export function synchronize(event: EventHandle): true {
  check(cudart().cudaEventSynchronize(event), "cudaEventSynchronize");
  return true;
}

/** On another thread. */
export async function synchronizeAsync(event: EventHandle): Promise<void> {
  check(await cudart().cudaEventSynchronizeAsync(event), "cudaEventSynchronize");
}
