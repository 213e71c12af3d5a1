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

export const EXTERNAL_MEMORY = "cl_khr_external_memory";

export const EGL_IMAGE = "cl_khr_egl_image";

export const GL_SHARING = "cl_khr_gl_sharing";

/** The extension by which acquiring such an object waits on the device for GL's commands, and GL's later ones for its release. */
export const GL_EVENT = "cl_khr_gl_event";

/** The extension by which an event stands for an `EGLSync`. */
export const EGL_EVENT = "cl_khr_egl_event";

export const SEMAPHORE = "cl_khr_semaphore";

interface Handle<K> {
  readonly kind: K;
  readonly name: string;
  readonly extension: string;
  readonly property: number;
}

/** How memory comes from other APIs, the best first. */
export const MEMORY_HANDLES: readonly Handle<MemoryKind>[] = [
  {
    kind: "opaque-fd",
    name: "opaque_fd",
    extension: "cl_khr_external_memory_opaque_fd",
    property: CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
  },
  {
    kind: "dma-buf",
    name: "dma_buf",
    extension: "cl_khr_external_memory_dma_buf",
    property: CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR,
  },
];

/** How semaphores cross, the best first. Those of OpenCL are binary. */
export const SEMAPHORE_HANDLES: readonly Handle<SyncKind>[] = [
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

/**
 * The properties of memory that comes by a handle, for one device: clCreateBufferWithProperties,
 * clCreateImageWithProperties. A driver that does not list the handle's extension (Intel's) takes the handle, but not a
 * list of devices, so none is named.
 */
export function memoryProperties(
  property: number,
  handle: number | bigint,
  { handle: device, extensions }: Pick<OpenCLDevice, "handle" | "extensions">,
): BigUint64Array<ArrayBuffer> {
  const known = MEMORY_HANDLES.find((each) => each.property === property);
  const isListed = known === undefined || extensions.includes(known.extension);
  const devices = isListed ? [CL_DEVICE_HANDLE_LIST_KHR, device, CL_DEVICE_HANDLE_LIST_END_KHR] : [];
  return BigUint64Array.of(BigInt(property), BigInt(handle), ...devices, 0n);
}

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

/** Undefined if nothing is lacking. Intel's driver reports dma-bufs, and lists no cl_khr_external_memory_dma_buf. */
export function lackingForMemory(
  context: { readonly devices: readonly OpenCLDevice[]; readonly name: string },
  { name, extension }: Handle<MemoryKind>,
): string | undefined {
  const isTold = context.devices[0].sharing.memoryImports.includes(name);
  return lacking(context, isTold ? [EXTERNAL_MEMORY] : [EXTERNAL_MEMORY, extension]);
}
