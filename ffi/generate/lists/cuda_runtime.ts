import type { ClassEntry, ConstantGroup, FunctionEntry, Library } from "../library.ts";
import { cuda } from "./cuda.ts";

/** Devices, and what they can do with each other. */
const DEVICES: readonly (string | FunctionEntry)[] = [
  "cudaRuntimeGetVersion",
  "cudaDriverGetVersion",
  "cudaGetDeviceCount",
  "cudaGetDevice",
  "cudaSetDevice",
  "cudaGetDeviceProperties", // of which every version begins with the name and the UUID
  "cudaDeviceGetAttribute",
  "cudaDeviceGetPCIBusId",
  "cudaSetDeviceFlags",
  "cudaGetDeviceFlags",
  "cudaMemGetInfo",
  "cudaGetLastError",
  "cudaDeviceCanAccessPeer",
  "cudaDeviceEnablePeerAccess",
  "cudaDeviceGetStreamPriorityRange",
];

const STREAMS: readonly (string | FunctionEntry)[] = [
  "cudaStreamCreateWithPriority",
  "cudaStreamCreateWithFlags",
  "cudaStreamDestroy",
  "cudaStreamQuery",
  "cudaStreamSynchronize",
  "cudaStreamWaitEvent",
  { name: "cudaStreamAttachMemAsync", address: ["devPtr"] },
];

const EVENTS: readonly (string | FunctionEntry)[] = [
  "cudaEventCreateWithFlags",
  "cudaEventDestroy",
  "cudaEventRecord",
  "cudaEventQuery",
  "cudaEventSynchronize",
  { name: "cudaEventSynchronize", as: "cudaEventSynchronizeAsync", nonblocking: true },
  "cudaEventElapsedTime",
  "cudaIpcGetEventHandle",
  "cudaIpcOpenEventHandle",
];

const MEMORY: readonly (string | FunctionEntry)[] = [
  "cudaMalloc",
  { name: "cudaFree", address: ["devPtr"] },
  "cudaMallocPitch",
  "cudaMallocHost",
  "cudaHostAlloc",
  { name: "cudaFreeHost", address: ["ptr"] },
  { name: "cudaHostRegister", address: ["ptr"] },
  { name: "cudaHostUnregister", address: ["ptr"] },
  { name: "cudaHostGetDevicePointer", address: ["pHost"] },
  { name: "cudaHostGetFlags", address: ["pHost"] },
  "cudaMallocManaged",
  { name: "cudaIpcGetMemHandle", address: ["devPtr"] },
  "cudaIpcOpenMemHandle",
  { name: "cudaIpcCloseMemHandle", address: ["devPtr"] },

  { name: "cudaMemcpy", address: ["dst", "src"] },
  { name: "cudaMemcpyAsync", address: ["dst", "src"] },
  { name: "cudaMemcpy2DAsync", address: ["dst", "src"] },
  { name: "cudaMemcpyPeerAsync", address: ["dst", "src"] },
  { name: "cudaMemsetAsync", address: ["devPtr"] },
  { name: "cudaMemset2DAsync", address: ["devPtr"] },
];

const POOLS: readonly (string | FunctionEntry)[] = [
  "cudaMallocAsync",
  { name: "cudaFreeAsync", address: ["devPtr"] },
  "cudaMemPoolCreate",
  "cudaMemPoolDestroy",
  "cudaMemPoolSetAttribute",
  "cudaMemPoolGetAttribute",
  "cudaMemPoolTrimTo",
  "cudaMallocFromPoolAsync",
];

/** Arrays, and what kernels see of them. */
const ARRAYS: readonly (string | FunctionEntry)[] = [
  "cudaMalloc3DArray",
  "cudaFreeArray",
  "cudaArrayGetInfo",
  "cudaMemcpy3DAsync",
  "cudaCreateSurfaceObject",
  "cudaDestroySurfaceObject",
  "cudaCreateTextureObject",
  "cudaDestroyTextureObject",
];

/**
 * Memory and semaphores of other APIs. libcudart 12 has older structs of parameters under these names of the semaphores'
 * functions; of one semaphore at a time they begin in the same way.
 */
const EXTERNAL: readonly (string | FunctionEntry)[] = [
  "cudaImportExternalMemory",
  "cudaExternalMemoryGetMappedBuffer",
  "cudaExternalMemoryGetMappedMipmappedArray",
  "cudaGetMipmappedArrayLevel",
  "cudaFreeMipmappedArray",
  "cudaDestroyExternalMemory",
  "cudaImportExternalSemaphore",
  "cudaDestroyExternalSemaphore",
];

/** Programs and kernels. Libraries are newer than 12.0. */
const KERNELS: readonly (string | FunctionEntry)[] = [
  { name: "cudaLibraryLoadData", optional: true },
  { name: "cudaLibraryUnload", optional: true },
  { name: "cudaLibraryGetKernel", optional: true },
  { name: "cudaLibraryGetKernelCount", optional: true },
  { name: "cudaLibraryEnumerateKernels", optional: true },
  { name: "cudaFuncGetAttributes", address: ["func"] },
  { name: "cudaFuncSetAttribute", address: ["func"] },
  { name: "cudaLaunchKernel", address: ["func"] },
];

const CONSTANTS: readonly ConstantGroup[] = [
  { type: "enum cudaError", names: ["cudaSuccess"] },
  { type: "enum cudaDeviceAttr", names: ["cudaDevAttr*", "!cudaDevAttrMax"] },
  {
    type: "unsigned int",
    names: ["cudaDeviceSchedule*", "cudaDeviceBlockingSync", "cudaDeviceMapHost", "cudaDeviceLmemResizeToMax"],
  },
  { type: "unsigned int", names: ["cudaDeviceSyncMemops"] },
  { type: "unsigned int", names: ["cudaPeerAccessDefault"] },
  { type: "int", names: ["cudaCpuDeviceId", "cudaInvalidDeviceId"] },

  { type: "unsigned int", names: ["cudaStreamDefault", "cudaStreamNonBlocking"] },
  { type: "uintptr_t", names: ["cudaStreamLegacy", "cudaStreamPerThread"] },
  {
    type: "unsigned int",
    names: [
      "cudaEventDefault",
      "cudaEventBlockingSync",
      "cudaEventDisableTiming",
      "cudaEventInterprocess",
      "cudaEventRecord*",
      "cudaEventWait*",
    ],
  },

  { type: "unsigned int", names: ["cudaHostAlloc*", "cudaHostRegister*"], from: ["driver_types.h"] },
  { type: "unsigned int", names: ["cudaMemAttach*", "cudaIpcMemLazyEnablePeerAccess"] },
  { type: "enum cudaMemcpyKind", names: ["cudaMemcpyHostTo*", "cudaMemcpyDeviceTo*", "cudaMemcpyDefault"] },
  { type: "enum cudaMemoryAdvise", names: ["cudaMemAdvise*"] },
  { type: "enum cudaMemPoolAttr", names: ["cudaMemPoolReuse*", "cudaMemPoolAttr*"] },
  { type: "enum cudaMemAllocationType", names: ["cudaMemAllocationType*", "!*Max"] },
  { type: "enum cudaMemAllocationHandleType", names: ["cudaMemHandleType*"] },
  { type: "enum cudaMemLocationType", names: ["cudaMemLocationType*"] },
  { type: "enum cudaMemAccessFlags", names: ["cudaMemAccessFlags*"] },

  {
    type: "unsigned int",
    names: [
      "cudaArrayDefault",
      "cudaArrayLayered",
      "cudaArraySurfaceLoadStore",
      "cudaArrayCubemap",
      "cudaArrayTextureGather",
      "cudaArrayColorAttachment",
      "cudaArraySparse",
      "cudaArrayDeferredMapping",
    ],
  },
  { type: "enum cudaChannelFormatKind", names: ["cudaChannelFormatKind*"] },
  { type: "enum cudaResourceType", names: ["cudaResourceType*"] },
  { type: "enum cudaTextureAddressMode", names: ["cudaAddressMode*"] },
  { type: "enum cudaTextureFilterMode", names: ["cudaFilterMode*"] },
  { type: "enum cudaTextureReadMode", names: ["cudaReadMode*"] },
  { type: "enum cudaSurfaceBoundaryMode", names: ["cudaBoundaryMode*"] },

  { type: "enum cudaExternalMemoryHandleType", names: ["cudaExternalMemoryHandleType*"] },
  { type: "unsigned int", names: ["cudaExternalMemoryDedicated"] },
  {
    type: "enum cudaExternalSemaphoreHandleType",
    names: ["cudaExternalSemaphoreHandleType*"],
  },

  { type: "enum cudaFuncAttribute", names: ["cudaFuncAttribute*", "!*Max"] },
  { type: "enum cudaJitOption", names: ["cudaJit*", "!cudaJitCacheOption*"] },
  { type: "enum cudaLibraryOption", names: ["cudaLibrary*"] },
  { type: "enum cudaLaunchAttributeID", names: ["cudaLaunchAttribute*"] },
];

/** The members of a `dim3`, or of a `struct cudaPos`. */
function dim3(name: string): [string, string][] {
  return ["x", "y", "z"].map((axis) => [`${name}_${axis}`, `${name}.${axis}`]);
}

/** Those of a `struct cudaMemLocation`. */
const LOCATION: [string, string][] = [["location_type", "location.type"], ["location_id", "location.id"]];

/** Those of a `struct cudaChannelFormatDesc` in a resource. */
function desc(path: string): [string, string][] {
  return ["x", "y", "z", "w", "f"].map((part) => [`${path}_desc_${part}`, `res.${path}.desc.${part}`]);
}

/** Those of a `struct cudaPitchedPtr`. */
function pitched(name: string): [string, string][] {
  return ["ptr", "pitch", "xsize", "ysize"].map((part) => [`${name}_${part}`, `${name}.${part}`]);
}

/** The elements of an array. */
function elements(name: string, length: number): [string, string][] {
  return Array.from({ length }, (_, i) => [`${name}_${i}`, `${name}[${i}]`]);
}

const STRUCTS: readonly (string | ClassEntry)[] = [
  { type: "struct cudaDeviceProp", fields: [["name", "name[0]"], ["uuid", "uuid.bytes[0]"]] }, // where the two begin
  "struct cudaMemLocation",
  {
    type: "struct cudaMemPoolProps",
    fields: ["allocType", "handleTypes", ...LOCATION, "win32SecurityAttributes", "maxSize", "usage"],
  },
  { type: "cudaIpcMemHandle_t", fields: [["reserved", "reserved[0]"]] },
  { type: "cudaIpcEventHandle_t", fields: [["reserved", "reserved[0]"]] },

  "struct cudaChannelFormatDesc",
  "struct cudaExtent",
  {
    type: "struct cudaMemcpy3DParms",
    fields: [
      "srcArray",
      ...dim3("srcPos"),
      ...pitched("srcPtr"),
      "dstArray",
      ...dim3("dstPos"),
      ...pitched("dstPtr"),
      ["extent_width", "extent.width"],
      ["extent_height", "extent.height"],
      ["extent_depth", "extent.depth"],
      "kind",
    ],
  },
  {
    type: "struct cudaResourceDesc",
    fields: [
      "resType",
      ["array_array", "res.array.array"],
      ["linear_devPtr", "res.linear.devPtr"],
      ...desc("linear"),
      ["linear_sizeInBytes", "res.linear.sizeInBytes"],
      ["pitch2D_devPtr", "res.pitch2D.devPtr"],
      ...desc("pitch2D"),
      ["pitch2D_width", "res.pitch2D.width"],
      ["pitch2D_height", "res.pitch2D.height"],
      ["pitch2D_pitchInBytes", "res.pitch2D.pitchInBytes"],
    ],
  },
  {
    type: "struct cudaTextureDesc",
    fields: [
      ...elements("addressMode", 3),
      "filterMode",
      "readMode",
      "sRGB",
      ...elements("borderColor", 4),
      "normalizedCoords",
      "maxAnisotropy",
      "mipmapFilterMode",
      "mipmapLevelBias",
      "minMipmapLevelClamp",
      "maxMipmapLevelClamp",
      "disableTrilinearOptimization",
      "seamlessCubemap",
    ],
  },

  {
    type: "struct cudaExternalMemoryHandleDesc",
    // An fd is the lower half of the word that is a handle of Windows'.
    fields: ["type", ["handle", "handle.win32.handle"], ["handle_name", "handle.win32.name"], "size", "flags"],
  },
  { type: "struct cudaExternalMemoryBufferDesc", fields: ["offset", "size", "flags"] },
  {
    type: "struct cudaExternalMemoryMipmappedArrayDesc",
    fields: [
      "offset",
      ...["x", "y", "z", "w", "f"].map((part): [string, string] => [`format_${part}`, `formatDesc.${part}`]),
      ...["width", "height", "depth"].map((part): [string, string] => [part, `extent.${part}`]),
      "flags",
      "numLevels",
    ],
  },
  {
    type: "struct cudaExternalSemaphoreHandleDesc",
    fields: ["type", ["handle", "handle.win32.handle"], ["handle_name", "handle.win32.name"], "flags"],
  },

  "dim3",
  {
    type: "struct cudaFuncAttributes",
    fields: [
      "sharedSizeBytes",
      "constSizeBytes",
      "localSizeBytes",
      "maxThreadsPerBlock",
      "numRegs",
      "ptxVersion",
      "binaryVersion",
      "cacheModeCA",
      "maxDynamicSharedSizeBytes",
      "preferredShmemCarveout",
    ],
  },
];

/** CUDA's runtime: what libcudart 12 and 13 have in common. What is newer than 12.0 is optional. */
export const cudaRuntime: Library = {
  ...cuda,
  name: "cuda_runtime",
  interface: "CudaRuntime",
  headers: ["cuda_runtime_api.h"],
  defines: {},
  functions: [...DEVICES, ...STREAMS, ...EVENTS, ...MEMORY, ...POOLS, ...ARRAYS, ...EXTERNAL, ...KERNELS],
  byValue: ["dim3", "struct cudaExtent", "cudaIpcMemHandle_t", "cudaIpcEventHandle_t"],
  constants: CONSTANTS,
  errors: { type: "enum cudaError", names: ["cudaError*"] },
  structs: STRUCTS,
};
