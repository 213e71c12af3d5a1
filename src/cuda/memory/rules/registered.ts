import type { CudaRule } from "./rule.ts";
import { allowed, COPIES, EXPORTED_BY_NOBODY, MOVED_BY_NOBODY, never, OPENCL_MIGRATES, rules } from "./shared.ts";

const REGISTERS: CudaRule = {
  allowed: "if",
  attributes: { hostRegisterSupported: 1 },
  reason: "the device registers no memory of the host",
  remedy: "Allocate it by cuda.pinned.allocate(), and map that to the host.",
  source: "003/3.2/host-register",
};

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
