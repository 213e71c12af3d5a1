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

const OWNERS = "it is another device's memory";
const ASK = "Do it in the context that allocated it.";

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
  "export-ipc": never("cudaIpcGetMemHandle", OWNERS, ASK),
  "export-fd": NO_HANDLE,
  "export-dma-buf": never("cuMemGetHandleForAddressRange", OWNERS, ASK),
  "share-opencl": never("cuMemExportToShareableHandle", OWNERS, ASK),
});
