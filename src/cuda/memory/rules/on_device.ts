import {
  allowed,
  CLOSED_TO_THE_HOST,
  COPIES,
  MOVED_BY_NOBODY,
  never,
  NO_HANDLE,
  NOT_REGISTERED,
  rules,
} from "./shared.ts";
import type { CudaRule } from "./rule.ts";

const ANOTHER = "a touch by another device without peer access ends the contexts of both";

/** Memory of the device: cudaMalloc, cudaMallocPitch, cudaMallocAsync. */
export const DEVICE = rules({
  "kernel-read": allowed("cudaMalloc"),
  "kernel-write": allowed("cudaMalloc"),
  "kernel-on-another-device": never("cudaDeviceEnablePeerAccess", ANOTHER, "Map it: graph.map(tensor, otherContext)."),
  ...CLOSED_TO_THE_HOST,
  copy: COPIES,
  ...NOT_REGISTERED,
  free: allowed("cudaFree", { by: ["cudaFree", "cudaFreeAsync"] }),
  ...MOVED_BY_NOBODY,
  "export-ipc": {
    allowed: "if",
    attributes: { unifiedAddressing: 1, integrated: 0 },
    by: ["cudaIpcGetMemHandle"],
    reason: "CUDA IPC is not supported on a Tegra",
    remedy: "Allocate it by cuda.virtual, and pass the fd on.",
    source: "003/3.6/ipc",
  },
  "export-fd": NO_HANDLE,
  "export-dma-buf": {
    allowed: "if",
    attributes: { dmaBufSupported: 1 },
    by: ["cuMemGetHandleForAddressRange"],
    reason: "this device or its driver exports no dma-buf",
    source: "cuMemGetHandleForAddressRange",
  },
  "share-opencl": never(
    "cuMemExportToShareableHandle",
    "OpenCL imports memory by an fd, which cudaMalloc's has not",
    "Allocate it by cuda.virtual.",
  ),
});

const VIRTUAL: CudaRule = {
  allowed: "if",
  attributes: { virtualMemoryManagementSupported: 1 },
  reason: "the device has no virtual memory management",
  remedy: "Allocate it by cuda.allocate().",
  source: "cuMemCreate",
};

const ON_THE_HOST: CudaRule = {
  allowed: "if",
  attributes: { virtualMemoryManagementSupported: 1, hostNumaVirtualMemoryManagementSupported: 1 },
  reason: "the CPU does not reach it unless it was made on the host, which this device cannot",
  remedy: "Allocate it by cuda.pinned.allocate().",
  source: "cuMemCreate",
};

const BY_FD: CudaRule = {
  allowed: "if",
  attributes: { handleTypePosixFileDescriptorSupported: 1 },
  reason: "the device exports no memory as a file descriptor",
  source: "cuMemExportToShareableHandle",
};

/** Memory that was made and mapped in two steps: cuMemCreate and cuMemMap; of a device, or of the host. */
export const VIRTUAL_MEMORY = rules({
  "kernel-read": VIRTUAL,
  "kernel-write": VIRTUAL,
  "kernel-on-another-device": { ...VIRTUAL, by: ["cuMemSetAccess"], source: "cuMemSetAccess" },
  "host-read": ON_THE_HOST,
  "host-write": ON_THE_HOST,
  "host-view-while-a-kernel-runs": ON_THE_HOST,
  copy: COPIES,
  ...NOT_REGISTERED,
  free: { ...VIRTUAL, by: ["cuMemUnmap", "cuMemRelease", "cuMemAddressFree"], source: "cuMemUnmap" },
  ...MOVED_BY_NOBODY,
  "export-ipc": never(
    "cudaIpcGetMemHandle",
    "CUDA IPC exports what cudaMalloc has made",
    "Export its fd, and send that to the other process.",
  ),
  "export-fd": { ...BY_FD, by: ["cuMemExportToShareableHandle"] },
  "export-dma-buf": {
    allowed: "if",
    attributes: { virtualMemoryManagementSupported: 1, dmaBufSupported: 1 },
    by: ["cuMemGetHandleForAddressRange"],
    reason: "this device or its driver exports no dma-buf",
    source: "cuMemGetHandleForAddressRange",
  },
  "share-opencl": BY_FD,
});

const ANOTHERS = "it is another process's memory";
const ASK_THAT_PROCESS = "Ask that process to export it.";

/** Memory of another process: cudaIpcOpenMemHandle. */
export const IMPORTED = rules({
  "kernel-read": allowed("cudaIpcOpenMemHandle"),
  "kernel-write": allowed("cudaIpcOpenMemHandle"),
  "kernel-on-another-device": never(
    "cudaIpcOpenMemHandle",
    "it was opened for one device",
    "Open the handle in the other device's context.",
  ),
  ...CLOSED_TO_THE_HOST,
  copy: COPIES,
  ...NOT_REGISTERED,
  free: allowed("cudaIpcCloseMemHandle", { by: ["cudaIpcCloseMemHandle"] }),
  ...MOVED_BY_NOBODY,
  "export-ipc": never("cudaIpcGetMemHandle", ANOTHERS, "Pass the handle on that it was opened by."),
  "export-fd": NO_HANDLE,
  "export-dma-buf": never("cuMemGetHandleForAddressRange", ANOTHERS, ASK_THAT_PROCESS),
  "share-opencl": never("cuMemExportToShareableHandle", ANOTHERS, ASK_THAT_PROCESS),
});

const OWNERS = "it is another device's memory";
const IN_ITS_CONTEXT = "Do it in the context that allocated it.";

/** Memory of another device, once this one has access to it: cudaDeviceEnablePeerAccess. */
export const PEER = rules({
  "kernel-read": allowed("cudaDeviceEnablePeerAccess"),
  "kernel-write": allowed("cudaDeviceEnablePeerAccess"),
  "kernel-on-another-device": never(
    "cudaDeviceEnablePeerAccess",
    "each device has to be given access of its own",
    "Map it from where it was allocated.",
  ),
  ...CLOSED_TO_THE_HOST,
  copy: COPIES,
  ...NOT_REGISTERED,
  free: never("cudaFree", OWNERS, "Dispose the tensor that it was mapped from."),
  ...MOVED_BY_NOBODY,
  "export-ipc": never("cudaIpcGetMemHandle", OWNERS, IN_ITS_CONTEXT),
  "export-fd": NO_HANDLE,
  "export-dma-buf": never("cuMemGetHandleForAddressRange", OWNERS, IN_ITS_CONTEXT),
  "share-opencl": never("cuMemExportToShareableHandle", OWNERS, IN_ITS_CONTEXT),
});

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
