/** What "Zero copy for GPUs" (002) says of pinned and of registered memory. */
export type ZeroCopyRowId =
  | `002/zero-copy/in-place`
  | `002/cudaHostAlloc/${"new" | "default" | "portable" | "mapped" | "write-combined" | "prerequisite" | "free"}`
  | `002/cudaHostRegister/${
    | "existing"
    | "default"
    | "mapped"
    | "portable"
    | "read-only"
    | "prerequisite"
    | "unregister"}`
  | `002/example/can-map`;

/** In our own words. */
export const ZERO_COPY_ROWS: Readonly<Record<ZeroCopyRowId, string>> = {
  "002/zero-copy/in-place":
    "Through mapped host memory the GPU uses the host's RAM itself, and nobody calls cudaMemcpy.",

  "002/cudaHostAlloc/new": "Memory that is new is pinned as it is allocated, by cudaHostAlloc.",
  "002/cudaHostAlloc/default": "cudaHostAllocDefault pins memory, and maps it for no device.",
  "002/cudaHostAlloc/portable": "cudaHostAllocPortable pins memory for all CUDA contexts of the process.",
  "002/cudaHostAlloc/mapped":
    "cudaHostAllocMapped pins and maps memory, so that kernels use it in place; cudaHostGetDevicePointer tells where.",
  "002/cudaHostAlloc/write-combined":
    "cudaHostAllocWriteCombined makes writes from the CPU to the GPU fast and reads by the CPU slow: it is for " +
    "uploads.",
  "002/cudaHostAlloc/prerequisite":
    "Mapping is enabled by cudaSetDeviceFlags(cudaDeviceMapHost), before the CUDA context is created.",
  "002/cudaHostAlloc/free":
    "What cudaHostAlloc gave goes back by cudaFreeHost: never by free or delete, never to cudaHostUnregister.",

  "002/cudaHostRegister/existing":
    "cudaHostRegister is for a buffer that exists already: it pins it where it is, and nothing is allocated anew.",
  "002/cudaHostRegister/default": "cudaHostRegisterDefault pins a buffer, and maps it for no device.",
  "002/cudaHostRegister/mapped": "cudaHostRegisterMapped pins and maps a buffer, so that kernels use it in place.",
  "002/cudaHostRegister/portable":
    "cudaHostRegisterPortable makes a buffer usable from all CUDA contexts of the process.",
  "002/cudaHostRegister/read-only": "cudaHostRegisterReadOnly tells that the GPU will only read.",
  "002/cudaHostRegister/prerequisite":
    "A buffer is mapped only where mapping was enabled before the CUDA context was created.",
  "002/cudaHostRegister/unregister":
    "What cudaHostRegister pinned is given to cudaHostUnregister first; only then does its owner free it.",

  "002/example/can-map": "Where canMapHostMemory is 0 the device cannot map host memory, and there is no zero copy.",
};
