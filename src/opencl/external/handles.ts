import {
  CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR,
  CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
  CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR,
  CL_SEMAPHORE_HANDLE_SYNC_FD_KHR,
  CL_SEMAPHORE_TYPE_BINARY_KHR,
} from "../../../ffi/opencl/constants.ts";
import { CL_DEVICE_HANDLE_LIST_END_KHR, CL_DEVICE_HANDLE_LIST_KHR } from "../../../ffi/opencl_external/constants.ts";
import { CL_SEMAPHORE_TYPE_KHR } from "../../../ffi/opencl_semaphore/constants.ts";
import type { MemoryKind, SyncKind } from "../../core/device/port.ts";
import type { OpenCLDevice } from "../device.ts";

/** The extension for memory of other APIs. */
export const EXTERNAL_MEMORY = "cl_khr_external_memory";

/** The extension for images of EGL's. */
export const EGL_IMAGE = "cl_khr_egl_image";

/** The extension for semaphores. */
export const SEMAPHORE = "cl_khr_semaphore";

/** One kind of fd that a device may take: its name in ports and in OpenCL. */
interface Handle<K> {
  /** The kind of port. */
  readonly kind: K;
  /** The extension that has it. */
  readonly extension: string;
  /** The property that names the fd. */
  readonly property: number;
}

/** How memory comes from other APIs, the best first. */
export const MEMORY_HANDLES: readonly Handle<MemoryKind>[] = [
  {
    kind: "opaque-fd",
    extension: "cl_khr_external_memory_opaque_fd",
    property: CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
  },
  { kind: "dma-buf", extension: "cl_khr_external_memory_dma_buf", property: CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR },
];

/** How semaphores cross, the best first. Those of OpenCL are binary. */
export const SEMAPHORE_HANDLES: readonly (Handle<SyncKind> & {
  /** The name of the handle in {@link DeviceSharing}. */
  readonly name: string;
})[] = [
  {
    kind: "binary-fd",
    name: "opaque_fd",
    extension: "cl_khr_external_semaphore_opaque_fd",
    property: CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR,
  },
  {
    kind: "sync-fd",
    name: "sync_fd",
    extension: "cl_khr_external_semaphore_sync_fd",
    property: CL_SEMAPHORE_HANDLE_SYNC_FD_KHR,
  },
];

/** The properties of memory that comes by a handle, for one device: clCreateBufferWithProperties, clCreateImageWithProperties. */
export function memoryProperties(
  property: number,
  handle: number | bigint,
  { handle: device }: Pick<OpenCLDevice, "handle">,
): BigUint64Array<ArrayBuffer> {
  const devices = [CL_DEVICE_HANDLE_LIST_KHR, device, CL_DEVICE_HANDLE_LIST_END_KHR];
  return BigUint64Array.of(BigInt(property), BigInt(handle), ...devices, 0n);
}

/** The properties of a binary semaphore: how it comes, or how it is to go out. */
export function semaphoreProperties(properties: readonly (number | bigint)[]): BigUint64Array<ArrayBuffer> {
  return BigUint64Array.of(CL_SEMAPHORE_TYPE_KHR, BigInt(CL_SEMAPHORE_TYPE_BINARY_KHR), ...properties.map(BigInt), 0n);
}

/** What a context's devices lack for an extension, and for the one that it extends; undefined if nothing. */
export function lacking(
  { devices, name }: { readonly devices: readonly OpenCLDevice[]; readonly name: string },
  extensions: readonly string[],
): string | undefined {
  if (devices.length > 1) return `${name} are several devices, of which not all can have the memory.`;
  const [{ extensions: has, platform }] = devices;
  const lacks = extensions.find((extension) => !has.includes(extension));
  return lacks === undefined ? undefined : `${platform} has no ${lacks} on ${name}.`;
}
