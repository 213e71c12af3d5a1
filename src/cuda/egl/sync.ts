import { cudaEventDefault } from "../../../ffi/cuda_runtime/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import type { CudaEvent } from "../../../ffi/cuda_runtime/handles.ts";
import type { Undo } from "../../core/life/undo.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import { type DeviceCalls, owned } from "../primary_context.ts";
import { cudaEgl } from "./library.ts";

/** Why a device makes no event of an `EGLSync`; undefined if it does. An H200 reports 801, as the guide says. */
export function refuseEglSync(attributes: { readonly integrated?: number | undefined }): string | undefined {
  if (attributes.integrated === 1) return undefined;
  return "CUDA makes events of EGLSyncs on a Tegra alone (cudaEventCreateFromEGLSync): the host waits for them instead";
}

/** CUDA's event of an `EGLSync` (cudaEventCreateFromEGLSync), only for waits. `undo` destroys it. */
export function eventOfEglSync(device: DeviceCalls, sync: Address, undo: Undo): CudaEvent {
  const out = new BigUint64Array(1);
  const fn = "cudaEventCreateFromEGLSync";
  device.within(() => check(cudaEgl()[fn](out, sync, cudaEventDefault), fn));
  const event = out[0] as CudaEvent;
  owned(device, "cuda.cudaEvent_t", undo, () => checkRelease(cudart().cudaEventDestroy(event), "cudaEventDestroy"));
  return event;
}
