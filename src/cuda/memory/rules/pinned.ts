import type { CudaRule } from "./rule.ts";
import { allowed, COPIES, EXPORTED_BY_NOBODY, MOVED_BY_NOBODY, never, OPENCL_MIGRATES, rules } from "./shared.ts";

const MAPPED: CudaRule = {
  allowed: "if",
  attributes: { canMapHostMemory: 1 },
  reason: "the device maps no memory of the host",
  remedy: "Copy it to memory of the device.",
  source: "002/prerequisites",
};

/** Memory of the host that CUDA has allocated page-locked: cudaHostAlloc; cudaMallocHost where no flag is asked for. */
export const PINNED = rules({
  "kernel-read": MAPPED,
  "kernel-write": MAPPED,
  "kernel-on-another-device": {
    allowed: "if",
    attributes: { unifiedAddressing: 1 },
    reason: "without unified addressing each device calls it by an address of its own",
    remedy: "Map it by way of the host: graph.map(tensor, host), then that to the other device.",
    source: "cudaHostAlloc",
  },
  "host-read": allowed("002/flags", {
    warns: "write-combined memory is read past the CPU's caches: very slowly. Write it, and have the device read it.",
  }),
  "host-write": allowed("002/flags"),
  "host-view-while-a-kernel-runs": allowed("cudaHostAlloc"),
  copy: COPIES,
  register: never("cudaHostRegister", "CUDA has locked its pages already"),
  unregister: never(
    "002/freeing",
    "what cudaHostAlloc or cudaMallocHost has made is never given to cudaHostUnregister",
    "Dispose it.",
  ),
  free: allowed("002/freeing", { by: ["cudaFreeHost"] }),
  ...MOVED_BY_NOBODY,
  ...EXPORTED_BY_NOBODY,
  "share-opencl": OPENCL_MIGRATES,
});
