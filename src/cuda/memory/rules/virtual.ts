import type { CudaRule } from "./rule.ts";
import { COPIES, MOVED_BY_NOBODY, never, NOT_REGISTERED, rules } from "./shared.ts";

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
