import type { CudaRule } from "./rule.ts";
import { allowed, COPIES, EXPORTED_BY_NOBODY, NOT_REGISTERED, OPENCL_MIGRATES, rules } from "./shared.ts";

const MANAGES: CudaRule = {
  allowed: "if",
  attributes: { managedMemory: 1 },
  reason: "the device has no managed memory",
  remedy: "Allocate it by cuda.pinned.allocate().",
  source: "003/3.6/managed-dgpu",
};

/** Managed ("unified") memory: cudaMallocManaged. */
export const MANAGED = rules({
  "kernel-read": MANAGES,
  "kernel-write": MANAGES,
  "kernel-on-another-device": {
    allowed: "if",
    attributes: { managedMemory: 1, concurrentManagedAccess: 1 },
    reason: "managed memory is used by one device at a time where the CPU cannot use it beside them",
    remedy: "Allocate it by cuda.pinned.allocate().",
    source: "cudaMallocManaged",
  },
  "host-read": allowed("003/table-1"),
  "host-write": allowed("003/table-1"),
  "host-view-while-a-kernel-runs": {
    allowed: "if",
    attributes: { concurrentManagedAccess: 1 },
    reason:
      "a touch by the CPU while any kernel of the device runs ends the process, so views are revoked at its launch",
    remedy:
      'Attach it to the host (cuda.managed.attach(tensor, "host")), or to one stream, for as long as the CPU uses it.',
    source: "cudaStreamAttachMemAsync",
  },
  copy: COPIES,
  ...NOT_REGISTERED,
  free: allowed("cudaFree", { by: ["cudaFree"] }),
  prefetch: {
    allowed: "if",
    attributes: { concurrentManagedAccess: 1 },
    by: ["cuMemPrefetchAsync_v2"],
    reason: "the device does not move managed memory while the CPU may use it",
    remedy: "Say who uses it instead: cuda.managed.attach().",
    source: "003/3.6/prefetch-async",
  },
  advise: {
    allowed: "if",
    attributes: { concurrentManagedAccess: 1 },
    by: ["cuMemAdvise_v2"],
    reason: "the device does not move managed memory while the CPU may use it",
    remedy: "Say who uses it instead: cuda.managed.attach().",
    source: "cuMemAdvise",
  },
  attach: { ...MANAGES, by: ["cudaStreamAttachMemAsync"], source: "003/table-2" },
  ...EXPORTED_BY_NOBODY,
  "share-opencl": OPENCL_MIGRATES,
});
