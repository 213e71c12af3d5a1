import type { CudaRule } from "./rule.ts";
import { allowed, COPIES, EXPORTED_BY_NOBODY, MOVED_BY_NOBODY, never, OPENCL_MIGRATES, rules } from "./shared.ts";

const PAGED: CudaRule = {
  allowed: "if",
  attributes: { pageableMemoryAccess: 1 },
  reason: "kernels of this device do not reach memory that is not locked",
  remedy: "Map it: its pages are registered for as long as that lasts.",
  source: "003/table-1",
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
  register: {
    allowed: "if",
    attributes: { hostRegisterSupported: 1 },
    by: ["cudaHostRegister"],
    reason: "the device registers no memory of the host",
    remedy: "Allocate it by cuda.pinned.allocate(), and map that to the host.",
    source: "003/3.2/host-register",
  },
  unregister: never("cudaHostUnregister", "only what cudaHostRegister was given is unregistered"),
  free: allowed("mmap", { by: ["munmap"] }),
  ...MOVED_BY_NOBODY,
  ...EXPORTED_BY_NOBODY,
  "share-opencl": OPENCL_MIGRATES,
});
