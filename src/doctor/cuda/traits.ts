import type { Verdict } from "../../core/device/proofs.ts";
import { cudaMemoryClass } from "../../cuda/alias/classes.ts";
import type { CudaContext } from "../../cuda/context.ts";
import { advise, type AdviseRequest, cudaTraitsOf } from "../../advisor/mod.ts";
import type { CudaDevice } from "../../cuda/device.ts";
import { refuseEglSync } from "../../cuda/egl/sync.ts";
import type { Trait } from "../report.ts";
import { identityTraits } from "../traits.ts";

export function traitsOfCuda(device: CudaDevice): Trait[] {
  const { attributes: has, computeCapability, id } = device;
  const { major, minor } = computeCapability;
  const memory = has.integrated === 1 ? "it shares the CPU's" : "of its own";
  return [
    { label: "device", text: `compute capability ${major}.${minor}, ${has.multiProcessorCount} multiprocessors` },
    { label: "memory", text: `${memory}; ${managedMemory(has)}` },
    { label: "host", text: hostMemory(has) },
    { label: "sharing", text: sharing(has) },
    { label: "EGLSync", text: refuseEglSync(has) ?? "becomes an event" },
    ...adviceFor(device),
    ...identityTraits(id),
  ];
}

export function cudaVerdictsOf({ proofs, device }: CudaContext): readonly Verdict[] {
  return (["pinned", "registered"] as const).map((kind) => {
    const which = cudaMemoryClass(kind, device);
    proofs.tryToProve(which);
    const { aliases, evidence } = proofs.judge(which);
    return { aliases, evidence: `${kind} memory: ${evidence}` };
  });
}

const USES: readonly (readonly [use: string, asked: Omit<AdviseRequest, "device" | "size">])[] = [
  ["written by the CPU, read once by a kernel", { cpu: "write-once", gpu: "coalesced", gpuWrites: false }],
  ["through one kernel and back", { cpu: "read-write", gpu: "coalesced" }],
  ["through many kernels", { cpu: "read-write", gpu: "coalesced", repeats: 16 }],
  ["of kernels alone", { cpu: "none", gpu: "repeated" }],
];

const FRAME = 3840 * 2160 * 4;

function adviceFor(found: CudaDevice): Trait[] {
  const device = cudaTraitsOf(found);
  return USES.map(([use, asked]) => {
    const { kind, staging, rules } = advise({ ...asked, size: FRAME, device });
    const by = staging === undefined ? kind : `${kind}, copied by way of ${staging.kind}`;
    return { label: "advice", text: `a frame ${use}: ${by} memory (${rules[0]})` };
  });
}

type Attributes = CudaDevice["attributes"];

function managedMemory(has: Attributes): string {
  if (has.managedMemory !== 1) return "no managed memory";
  if (has.concurrentManagedAccess !== 1) return "managed memory, which the CPU may not touch while a kernel runs";
  return "managed memory, for CPU and GPU at once";
}

function hostMemory(has: Attributes): string {
  const ways = [
    has.canMapHostMemory === 1 ? "pinned memory is mapped for kernels" : "",
    has.hostRegisterSupported === 1 ? "any page-aligned memory can be registered" : "",
    has.pageableMemoryAccess === 1 ? "kernels reach all of the host's memory" : "",
  ].filter((way) => way !== "");
  return ways.length === 0 ? "kernels reach none of it" : ways.join("; ");
}

function sharing(has: Attributes): string {
  const ways = [
    has.ipcEventSupport === 1 ? "other processes (CUDA IPC)" : "",
    has.memoryPoolsSupported === 1 ? "memory pools" : "",
    has.gPUDirectRDMASupported === 1 ? "other PCIe devices" : "",
  ].filter((way) => way !== "");
  return ways.length === 0 ? "nothing" : `with ${ways.join(", ")}`;
}
