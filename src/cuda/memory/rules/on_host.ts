import type { CudaRule } from "./rule.ts";
import {
  allowed,
  COPIES,
  EXPORTED_BY_NOBODY,
  MOVED_BY_NOBODY,
  never,
  NOT_REGISTERED,
  OPENCL_MIGRATES,
  rules,
} from "./shared.ts";

const PAGED: CudaRule = {
  allowed: "if",
  attributes: { pageableMemoryAccess: 1 },
  reason: "kernels of this device do not reach memory that is not locked",
  remedy: "Map it: its pages are registered for as long as that lasts.",
  source: "003/table-1",
};

const REGISTERS: CudaRule = {
  allowed: "if",
  attributes: { hostRegisterSupported: 1 },
  reason: "the device registers no memory of the host",
  remedy: "Allocate it by cuda.pinned.allocate(), and map that to the host.",
  source: "003/3.2/host-register",
};

/** Memory of the host as it is: malloc, mmap. */
export const PAGEABLE = rules({
  "kernel-read": PAGED,
  "kernel-write": PAGED,
  "kernel-on-another-device": PAGED,
  "host-read": allowed("003/table-1"),
  "host-write": allowed("003/table-1"),
  "host-view-while-a-kernel-runs": allowed("003/table-1"),
  copy: COPIES,
  register: { ...REGISTERS, by: ["cudaHostRegister"] },
  unregister: never("cudaHostUnregister", "only what cudaHostRegister was given is unregistered"),
  free: allowed("mmap", { by: ["munmap"] }),
  ...MOVED_BY_NOBODY,
  ...EXPORTED_BY_NOBODY,
  "share-opencl": OPENCL_MIGRATES,
});

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

/** Plain memory of the host while its pages are registered: cudaHostRegister. */
export const REGISTERED = rules({
  "kernel-read": REGISTERS,
  "kernel-write": REGISTERS,
  "kernel-on-another-device": {
    allowed: "if",
    attributes: { hostRegisterSupported: 1, unifiedAddressing: 1 },
    reason: "without unified addressing each device calls it by an address of its own",
    source: "cudaHostRegister",
  },
  "host-read": allowed("002/register"),
  "host-write": allowed("002/register"),
  "host-view-while-a-kernel-runs": allowed("002/register"),
  copy: COPIES,
  register: never(
    "cudaHostRegister",
    "pages are registered once, whole or in part",
    "Whoever maps it shares the registration that there is, as it is; one with other flags has to end first.",
  ),
  unregister: allowed("002/register", { by: ["cudaHostUnregister"] }),
  free: allowed("002/register", { by: ["cudaHostUnregister", "munmap"] }),
  ...MOVED_BY_NOBODY,
  ...EXPORTED_BY_NOBODY,
  "share-opencl": OPENCL_MIGRATES,
});

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
