import * as cuda from "../../ffi/cuda_runtime/errors.ts";
import { ERROR_NAMES as DRIVER_NAMES } from "../../ffi/cuda_driver/errors.ts";
import { type ErrorFields, NativeCallError } from "../core/errors.ts";
import { type Check, checkOf, codeError, type Codes } from "../core/native/codes.ts";
import { cudart } from "./library.ts";

const HINTS: ReadonlyMap<number, string> = new Map([
  [cuda.cudaErrorMemoryAllocation, "There is not that much memory left; cuda.memory() returns how much is."],
  [cuda.cudaErrorInsufficientDriver, "No NVIDIA driver is loaded, or one that is older than this CUDA runtime."],
  [cuda.cudaErrorCallRequiresNewerDriver, "The driver is older than this CUDA call: update it."],
  [
    cuda.cudaErrorDevicesUnavailable,
    "Another process has the GPU for itself, or has filled it up, or its compute mode is prohibited: see nvidia-smi.",
  ],
  [cuda.cudaErrorNoDevice, "This machine has no GPU that CUDA can use; CUDA_VISIBLE_DEVICES may hide it."],
  [cuda.cudaErrorNoKernelImageForDevice, "The program was compiled for another architecture: compile it for this one."],
  [cuda.cudaErrorInvalidResourceHandle, "The object was destroyed, or belongs to another device."],
  [cuda.cudaErrorHostMemoryAlreadyRegistered, "Other code has registered these pages."],
  [cuda.cudaErrorUnsupportedPtxVersion, "The driver is older than the compiler of this PTX: update it."],
  [
    cuda.cudaErrorSystemDriverMismatch,
    "The driver that is loaded and its library libcuda.so.1 are of different versions: restart after an update.",
  ],
  [
    cuda.cudaErrorCompatNotSupportedOnDevice,
    "This GPU has no forward compatibility: take CUDA's compat folder off the loader's path, or update the driver.",
  ],
]);

const RUNTIME: Codes = {
  api: "cuda",
  names: cuda.ERROR_NAMES,
  unknown: "a code that CUDA does not know",
  hints: HINTS,
};
const DRIVER: Codes = { ...RUNTIME, names: DRIVER_NAMES };

/** The codes after which every CUDA call fails until the process is restarted, according to CUDA's headers. */
export const STICKY: ReadonlySet<number> = new Set([
  cuda.cudaErrorContained,
  cuda.cudaErrorIllegalAddress,
  cuda.cudaErrorLaunchTimeout,
  cuda.cudaErrorAssert,
  cuda.cudaErrorHardwareStackError,
  cuda.cudaErrorIllegalInstruction,
  cuda.cudaErrorMisalignedAddress,
  cuda.cudaErrorInvalidAddressSpace,
  cuda.cudaErrorInvalidPc,
  cuda.cudaErrorLaunchFailure,
  cuda.cudaErrorTensorMemoryLeak,
  cuda.cudaErrorMpsClientTerminated,
  cuda.cudaErrorExternalDevice,
]);

/** The causes of codes that do not come from a kernel. */
const CAUSES: ReadonlyMap<number, string> = new Map([
  [cuda.cudaErrorContained, "the GPU has contained a fault of its hardware or of an access to another GPU"],
  [cuda.cudaErrorMpsClientTerminated, "the MPS server has ended this process's connection"],
  [cuda.cudaErrorExternalDevice, "a device outside of CUDA has signalled that its data is not valid"],
]);

/**
 * A kernel has broken CUDA for this process. All later calls fail, on its device and on those with access to its memory. The
 * contents of device memory are lost; host memory keeps its bytes.
 */
export class CudaLostError extends NativeCallError {}

/** The first sticky failure of this isolate. */
let lost: { readonly code: number; readonly fn: string } | undefined;

/** True once CUDA is broken for this process. Errors of releases mean nothing then: the objects are gone. */
function isLost(): boolean {
  return lost !== undefined;
}

export function cudaError(code: number, fn: string, fields?: ErrorFields): NativeCallError {
  if (STICKY.has(code)) return lostError(code, fn, cuda.ERROR_NAMES.get(code)!);
  return codeError(RUNTIME, code, fn, fields);
}

export function driverError(code: number, fn: string, fields?: ErrorFields): NativeCallError {
  if (STICKY.has(code)) return lostError(code, fn, DRIVER_NAMES.get(code) ?? "a sticky error");
  return codeError(DRIVER, code, fn, fields);
}

function lostError(code: number, fn: string, codeName: string): CudaLostError {
  lost ??= { code, fn };
  const cause = CAUSES.get(code) ?? "a kernel has gone wrong";
  const search = CAUSES.has(code) ? "" : " compute-sanitizer finds the kernel, and the place in it.";
  return new CudaLostError(
    `${fn} returned ${codeName} (${code}): ${cause}, and every CUDA call in this process returns that now.`,
    { api: "cuda", fn, code, codeName, hint: `Start the process again.${search}` },
  );
}

export const check: Check = checkOf((code, fn, fields) => {
  cudart().cudaGetLastError(); // or another library would read our error
  return cudaError(code, fn, fields);
});

export const checkDriver: Check = checkOf(driverError);

/** Checks the code of a release, which means nothing once CUDA is lost, because the object is gone. */
export function checkRelease(code: number, fn: string): void {
  if (code !== 0 && !(isLost() && STICKY.has(code))) check(code, fn);
}

export function checkDriverRelease(code: number, fn: string): void {
  if (code !== 0 && !(isLost() && STICKY.has(code))) checkDriver(code, fn);
}
