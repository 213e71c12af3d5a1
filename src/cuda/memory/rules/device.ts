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
