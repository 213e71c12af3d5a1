import { type Address, NULL } from "../../../ffi/address.ts";
import * as names from "../../../ffi/cuda_runtime/constants.ts";
import {
  cudaExternalMemoryHandleDesc,
  cudaExternalSemaphoreHandleDesc,
  writeCudaExternalMemoryHandleDesc,
  writeCudaExternalSemaphoreHandleDesc,
} from "../../../ffi/cuda_runtime/structs.ts";

/** CUDA's memory types by their port's kind. samepage imports only fds: the other types are for Windows. */
export const MEMORY_TYPES = {
  "opaque-fd": names.cudaExternalMemoryHandleTypeOpaqueFd,
  "opaque-win32": names.cudaExternalMemoryHandleTypeOpaqueWin32,
  "opaque-win32-kmt": names.cudaExternalMemoryHandleTypeOpaqueWin32Kmt,
  "d3d11-resource": names.cudaExternalMemoryHandleTypeD3D11Resource,
  "d3d11-resource-kmt": names.cudaExternalMemoryHandleTypeD3D11ResourceKmt,
  "d3d12-heap": names.cudaExternalMemoryHandleTypeD3D12Heap,
  "d3d12-resource": names.cudaExternalMemoryHandleTypeD3D12Resource,
} as const;

/** CUDA's semaphore types by their port's kind. A driver does not check the type: it takes a timeline's fd for any type. */
export const SEMAPHORE_TYPES = {
  "timeline-fd": names.cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd,
  "binary-fd": names.cudaExternalSemaphoreHandleTypeOpaqueFd,
  "timeline-win32": names.cudaExternalSemaphoreHandleTypeTimelineSemaphoreWin32,
  "binary-win32": names.cudaExternalSemaphoreHandleTypeOpaqueWin32,
  "binary-win32-kmt": names.cudaExternalSemaphoreHandleTypeOpaqueWin32Kmt,
  "d3d11-fence": names.cudaExternalSemaphoreHandleTypeD3D11Fence,
  "d3d12-fence": names.cudaExternalSemaphoreHandleTypeD3D12Fence,
  "keyed-mutex": names.cudaExternalSemaphoreHandleTypeKeyedMutex,
  "keyed-mutex-kmt": names.cudaExternalSemaphoreHandleTypeKeyedMutexKmt,
} as const;

export interface MemoryHandle {
  readonly kind: keyof typeof MEMORY_TYPES;
  readonly handle: number | bigint;
  /** The whole length of the exporter's memory. The driver takes any, and fails later if it is too long. */
  readonly byteLength: number;
  /** True if the memory was allocated for one object alone. */
  readonly dedicated: boolean;
}

export function memoryHandle({ kind, handle, byteLength, dedicated }: MemoryHandle): DataView<ArrayBuffer> {
  const description = new DataView(new ArrayBuffer(cudaExternalMemoryHandleDesc.size));
  writeCudaExternalMemoryHandleDesc(description, 0, {
    ...{ type: MEMORY_TYPES[kind], handle: wordOf(handle), handle_name: NULL },
    ...{ size: BigInt(byteLength), flags: dedicated ? names.cudaExternalMemoryDedicated : 0 },
  });
  return description;
}

export function semaphoreHandle(kind: keyof typeof SEMAPHORE_TYPES, handle: number | bigint): DataView<ArrayBuffer> {
  const description = new DataView(new ArrayBuffer(cudaExternalSemaphoreHandleDesc.size));
  const type = SEMAPHORE_TYPES[kind];
  writeCudaExternalSemaphoreHandleDesc(description, 0, { type, handle: wordOf(handle), handle_name: NULL, flags: 0 });
  return description;
}

/** An fd is the lower half of the word that holds a Windows handle. */
function wordOf(handle: number | bigint): Address {
  return BigInt(handle) as Address;
}
