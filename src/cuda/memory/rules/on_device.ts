import { always, never, onlyIf } from "./rule.ts";
import { byKernels, byTheHost, notExported, ON_A_DEVICE, rules } from "./shared.ts";

const EXPORT_DMA_BUF = {
  reason: "this device or its driver cannot export a dma-buf",
  by: ["cuMemGetHandleForAddressRange"],
};

export const DEVICE = rules({
  ...ON_A_DEVICE,
  ...byKernels(always("cudaMalloc")),
  "kernel-on-another-device": never(
    "cudaDeviceEnablePeerAccess",
    "an access by another device without peer access destroys the contexts of both",
    "Map it: graph.map(tensor, otherContext).",
  ),
  free: always("cudaFree", { by: ["cudaFree", "cudaFreeAsync"] }),
  "export-ipc": onlyIf({ unifiedAddressing: 1, integrated: 0 }, "003/3.6/ipc", {
    reason: "CUDA IPC is not supported on a Tegra",
    remedy: "Allocate it by cuda.virtual, and send the fd.",
    by: ["cudaIpcGetMemHandle"],
  }),
  "export-dma-buf": onlyIf({ dmaBufSupported: 1 }, "cuMemGetHandleForAddressRange", EXPORT_DMA_BUF),
  "share-opencl": never(
    "cuMemExportToShareableHandle",
    "OpenCL imports memory by an fd, and memory of cudaMalloc has none",
    "Allocate it by cuda.virtual.",
  ),
});

const IS_VIRTUAL = { virtualMemoryManagementSupported: 1 };

const NO_VIRTUAL = {
  reason: "the device has no virtual memory management",
  remedy: "Allocate it by cuda.allocate().",
};

const NO_FD = {
  reason: "the device cannot export memory as a file descriptor",
};

export const VIRTUAL_MEMORY = rules({
  ...ON_A_DEVICE,
  ...byKernels(onlyIf(IS_VIRTUAL, "cuMemCreate", NO_VIRTUAL)),
  "kernel-on-another-device": onlyIf(IS_VIRTUAL, "cuMemSetAccess", { ...NO_VIRTUAL, by: ["cuMemSetAccess"] }),
  ...byTheHost(
    onlyIf({ ...IS_VIRTUAL, hostNumaVirtualMemoryManagementSupported: 1 }, "cuMemCreate", {
      reason: "the CPU reaches it only if it was made on the host, which this device does not support",
      remedy: "Allocate it by cuda.pinned.allocate().",
    }),
  ),
  free: onlyIf(IS_VIRTUAL, "cuMemUnmap", { ...NO_VIRTUAL, by: ["cuMemUnmap", "cuMemRelease", "cuMemAddressFree"] }),
  "export-ipc": never(
    "cudaIpcGetMemHandle",
    "CUDA IPC exports only memory of cudaMalloc",
    "Export its fd, and send that to the other process.",
  ),
  "export-fd": onlyIf({ handleTypePosixFileDescriptorSupported: 1 }, "cuMemExportToShareableHandle", {
    ...NO_FD,
    by: ["cuMemExportToShareableHandle"],
  }),
  "export-dma-buf": onlyIf({ ...IS_VIRTUAL, dmaBufSupported: 1 }, "cuMemGetHandleForAddressRange", EXPORT_DMA_BUF),
  "share-opencl": onlyIf({ handleTypePosixFileDescriptorSupported: 1 }, "cuMemExportToShareableHandle", NO_FD),
});

export const IMPORTED = rules({
  ...ON_A_DEVICE,
  ...byKernels(always("cudaIpcOpenMemHandle")),
  "kernel-on-another-device": never(
    "cudaIpcOpenMemHandle",
    "it was opened for one device",
    "Open the handle in the other device's context.",
  ),
  free: always("cudaIpcCloseMemHandle", { by: ["cudaIpcCloseMemHandle"] }),
  ...notExported(
    "it belongs to another process",
    "Ask that process to export it.",
    "Pass on the handle that it was opened by.",
  ),
});

export const EXTERNAL = rules({
  ...ON_A_DEVICE,
  ...byKernels(always("cudaExternalMemoryGetMappedBuffer")),
  "kernel-on-another-device": never(
    "cudaImportExternalMemory",
    "it was imported for one device",
    "Map the tensor of the API that it is of to the other device.",
  ),
  free: always("cudaDestroyExternalMemory", { by: ["cudaFree", "cudaDestroyExternalMemory"] }),
  ...notExported("it belongs to another API", "Export it there."),
});

const NOT_ITS_OWN = "it belongs to another device";

export const PEER = rules({
  ...ON_A_DEVICE,
  ...byKernels(always("cudaDeviceEnablePeerAccess")),
  "kernel-on-another-device": never(
    "cudaDeviceEnablePeerAccess",
    "each device needs access of its own",
    "Map the tensor of the context that allocated it.",
  ),
  free: never("cudaFree", NOT_ITS_OWN, "Dispose the tensor that it was mapped from."),
  ...notExported(NOT_ITS_OWN, "Do it in the context that allocated it."),
});

const COPY_IT = "Copy it to a tensor: stream.copy(array, tensor).";

export const ARRAY = rules({
  ...ON_A_DEVICE,
  "kernel-read": always("cudaCreateTextureObject", { by: ["cudaCreateTextureObject", "cudaCreateSurfaceObject"] }),
  "kernel-write": always("cudaCreateSurfaceObject", { by: ["cudaCreateSurfaceObject"] }),
  "kernel-on-another-device": never(
    "cudaCreateTextureObject",
    "textures and surfaces belong to one device",
    COPY_IT,
  ),
  copy: always("cudaMemcpy3DAsync", { by: ["cudaMemcpy3DAsync"] }),
  free: always("cudaFreeArray", { by: ["cudaFreeArray"] }),
  ...notExported("only the driver knows its layout, and it has no address", COPY_IT),
});
