import { messageOf, NativeCallError } from "../../core/errors.ts";
import { ucp } from "../../ucx/library.ts";
import { UcxContext } from "../../ucx/mod.ts";
import type { ApiExaminer, Examined } from "../api.ts";
import { examineLibrary } from "../library.ts";
import type { Finding, Trait } from "../report.ts";

const FOR_CUDA =
  'libuct_cuda (PyPI\'s libucx-cu12 has it) and an NVIDIA GPU; graph.map(tensor, host, { copy: "allow" }) copies to the host';

/** UCX's names of transports, what each is for, and what has to be there. */
const TRANSPORTS: Readonly<Record<string, readonly [use: string, needs: string]>> = {
  tcp: ["other machines, and this one", "a network device"],
  posix: ["this machine", "/dev/shm"],
  sysv: ["this machine", "System V's shared memory"],
  cma: ["this machine: the kernel copies from process to process", "process_vm_readv, which a sandbox may forbid"],
  rc: ["other machines, by RDMA", "libuct_ib and a network card for it (/dev/infiniband)"],
  ud: ["other machines, by RDMA", "libuct_ib and a network card for it (/dev/infiniband)"],
  cuda_copy: ["a GPU's memory, by copies of UCX's own through the CPU's", FOR_CUDA],
  cuda_ipc: ["a GPU's memory, on this machine: the GPU copies from process to process", FOR_CUDA],
};

export const UCX: ApiExaminer = {
  api: "ucx",
  variables: ["SAMEPAGE_LIB_UCX", "UCX_TLS", "UCX_NET_DEVICES", "UCX_MEM_EVENTS"],
  files: [],

  examine(): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("ucx", ucp, "ucp_get_version", findings);
    const report = { api: UCX.api, library, modules: [], drivers: [], findings };
    if (library.opened === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    const traits = Object.entries(TRANSPORTS).map(([name, [use, needs]]): Trait => ({
      label: name,
      text: problemOf(name, needs) ?? use,
    }));
    traits.push({ label: "devices", text: "lo, unless a program names others: UcxContext.open({ devices })" });
    const device = { id: UCX.api, name: "UCX's transports", facts: [], traits, aliasing: [], findings: [] };
    return { report: { ...report, library: { ...library, version: versionOf() }, devices: [device] }, nodes: [] };
  },
};

/** These move nothing between machines by themselves. */
function isForCuda(name: string): boolean {
  return name.startsWith("cuda");
}

/** Why a transport is closed; undefined if it is open. */
function problemOf(name: string, needs: string): string | undefined {
  try {
    using ucx = UcxContext.open({ transports: isForCuda(name) ? ["tcp", name] : [name] });
    return !isForCuda(name) || ucx.takesCuda ? undefined : `not here: it needs ${needs}`;
  } catch (error) {
    if (error instanceof NativeCallError && error.codeName === "UCS_ERR_NO_DEVICE") {
      return `not here: it needs ${needs}`;
    }
    return messageOf(error);
  }
}

function versionOf(): string {
  const parts = Array.from({ length: 3 }, () => new Uint32Array(1));
  ucp().ucp_get_version(parts[0], parts[1], parts[2]);
  return parts.join(".");
}
