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

const ANOTHERS = "it is another process's memory";
const ASK = "Ask that process to export it.";

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
  "export-dma-buf": never("cuMemGetHandleForAddressRange", ANOTHERS, ASK),
  "share-opencl": never("cuMemExportToShareableHandle", ANOTHERS, ASK),
});
