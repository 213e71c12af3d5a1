import { allowed, CLOSED_TO_THE_HOST, MOVED_BY_NOBODY, never, NO_HANDLE, NOT_REGISTERED, rules } from "./shared.ts";

const OPAQUE = "how an array lies in memory is the driver's own affair: it has no address";
const LINEAR = "Copy it to a tensor: stream.copyFromArray(array, tensor).";

/** Arrays, which kernels see through textures and surfaces: cudaMalloc3DArray. */
export const ARRAY = rules({
  "kernel-read": allowed("cudaCreateTextureObject", { by: ["cudaCreateTextureObject", "cudaCreateSurfaceObject"] }),
  "kernel-write": allowed("cudaCreateSurfaceObject", { by: ["cudaCreateSurfaceObject"] }),
  "kernel-on-another-device": never("cudaCreateTextureObject", "textures and surfaces are of one device", LINEAR),
  ...CLOSED_TO_THE_HOST,
  copy: allowed("cudaMemcpy3DAsync", { by: ["cudaMemcpy3DAsync"] }),
  ...NOT_REGISTERED,
  free: allowed("cudaFreeArray", { by: ["cudaFreeArray"] }),
  ...MOVED_BY_NOBODY,
  "export-ipc": never("cudaIpcGetMemHandle", OPAQUE, LINEAR),
  "export-fd": NO_HANDLE,
  "export-dma-buf": never("cuMemGetHandleForAddressRange", OPAQUE, LINEAR),
  "share-opencl": never("cuMemExportToShareableHandle", OPAQUE, LINEAR),
});
