import { always, never, onlyIf } from "./rule.ts";
import { byKernels, byTheHost, NOT_REGISTERED, ON_THE_HOST, rules } from "./shared.ts";

const REGISTERS = {
  reason: "the device cannot register host memory",
  remedy: "Allocate it by cuda.pinned.allocate(), and map that to the host.",
};

const OWN_ADDRESS = "without unified addressing, each device has an address of its own for it";

const PAGEABLE_ACCESS = onlyIf({ pageableMemoryAccess: 1 }, "003/table-1", {
  reason: "kernels of this device reach only page-locked host memory",
  remedy: "Map it: that registers its pages until the map ends.",
});

export const PAGEABLE = rules({
  ...ON_THE_HOST,
  ...byKernels(PAGEABLE_ACCESS),
  "kernel-on-another-device": PAGEABLE_ACCESS,
  ...byTheHost(always("003/table-1")),
  register: onlyIf({ hostRegisterSupported: 1 }, "003/3.2/host-register", { ...REGISTERS, by: ["cudaHostRegister"] }),
  unregister: NOT_REGISTERED.unregister,
  free: always("mmap", { by: ["munmap"] }),
});

/** Host memory that CUDA allocated page-locked: cudaHostAlloc, or cudaMallocHost without flags. */
export const PINNED = rules({
  ...ON_THE_HOST,
  ...byKernels(
    onlyIf({ canMapHostMemory: 1 }, "002/prerequisites", {
      reason: "the device cannot map host memory",
      remedy: "Copy it to device memory.",
    }),
  ),
  "kernel-on-another-device": onlyIf({ unifiedAddressing: 1 }, "cudaHostAlloc", {
    reason: OWN_ADDRESS,
    remedy: "Map it to the host, graph.map(tensor, host), and that to the other device.",
  }),
  "host-read": always("002/flags", {
    warns:
      "write-combined memory bypasses the CPU's caches, so reads are very slow. Write it, and let the device read it.",
  }),
  "host-write": always("002/flags"),
  "host-view-while-a-kernel-runs": always("cudaHostAlloc"),
  register: never("cudaHostRegister", "CUDA allocated it page-locked"),
  unregister: never(
    "002/freeing",
    "cudaHostUnregister does not take memory of cudaHostAlloc or cudaMallocHost",
    "Dispose it.",
  ),
  free: always("002/freeing", { by: ["cudaFreeHost"] }),
});

export const REGISTERED = rules({
  ...ON_THE_HOST,
  ...byKernels(onlyIf({ hostRegisterSupported: 1 }, "003/3.2/host-register", REGISTERS)),
  "kernel-on-another-device": onlyIf({ hostRegisterSupported: 1, unifiedAddressing: 1 }, "cudaHostRegister", {
    reason: OWN_ADDRESS,
  }),
  ...byTheHost(always("002/register")),
  register: never(
    "cudaHostRegister",
    "a page can be registered only once",
    "Maps share the registration as it is. To register it with other flags, end that registration first.",
  ),
  unregister: always("002/register", { by: ["cudaHostUnregister"] }),
  free: always("002/register", { by: ["cudaHostUnregister", "munmap"] }),
});

const MANAGES = { reason: "the device has no managed memory", remedy: "Allocate it by cuda.pinned.allocate()." };

const MOVES = {
  reason: "the device does not move managed memory while the CPU may use it",
  remedy: "Set its users instead: cuda.managed.attach().",
};

export const MANAGED = rules({
  ...ON_THE_HOST,
  ...NOT_REGISTERED,
  ...byKernels(onlyIf({ managedMemory: 1 }, "003/3.6/managed-dgpu", MANAGES)),
  "kernel-on-another-device": onlyIf({ managedMemory: 1, concurrentManagedAccess: 1 }, "cudaMallocManaged", {
    reason: "one device at a time uses managed memory if the CPU cannot use it at the same time",
    remedy: MANAGES.remedy,
  }),
  "host-read": always("003/table-1"),
  "host-write": always("003/table-1"),
  "host-view-while-a-kernel-runs": onlyIf({ concurrentManagedAccess: 1 }, "cudaStreamAttachMemAsync", {
    reason:
      "the process crashes if the CPU touches it while the device runs any kernel, so each launch revokes the views",
    remedy: 'Attach it to the host, cuda.managed.attach(tensor, "host"), or to one stream while the CPU uses it.',
  }),
  free: always("cudaFree", { by: ["cudaFree"] }),
  prefetch: onlyIf({ concurrentManagedAccess: 1 }, "003/3.6/prefetch-async", {
    ...MOVES,
    by: ["cuMemPrefetchAsync_v2"],
  }),
  advise: onlyIf({ concurrentManagedAccess: 1 }, "cuMemAdvise", { ...MOVES, by: ["cuMemAdvise_v2"] }),
  attach: onlyIf({ managedMemory: 1 }, "003/table-2", { ...MANAGES, by: ["cudaStreamAttachMemAsync"] }),
});
