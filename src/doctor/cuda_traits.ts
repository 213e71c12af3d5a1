import type { Verdict } from "../core/plan.ts";
import type { CudaContext } from "../cuda/context.ts";
import type { CudaDevice } from "../cuda/device.ts";
import type { Trait } from "./report.ts";

/** What of a GPU matters for sharing, the most important first. */
export function cudaTraitsOf({ attributes: has, computeCapability, id }: CudaDevice): Trait[] {
  const { major, minor } = computeCapability;
  const memory = has.integrated === 1 ? "it shares the CPU's" : "of its own";
  return [
    { label: "device", text: `compute capability ${major}.${minor}, ${has.multiProcessorCount} multiprocessors` },
    { label: "memory", text: `${memory}; ${managedMemory(has)}` },
    { label: "host", text: hostMemory(has) },
    { label: "sharing", text: sharing(has) },
    { label: "identity", text: `UUID ${id.uuid}, PCI ${id.pci}` },
  ];
}

/** What the experiments come to on memory of the host: pinned, and registered. */
export function cudaVerdictsOf({ hostMemory: { aliasing } }: CudaContext): readonly Verdict[] {
  return (["pinned", "registered"] as const).map((kind) => {
    aliasing.tryToProve(kind);
    const { aliases, evidence } = aliasing.judge(kind);
    return { aliases, evidence: `${kind} memory: ${evidence}` };
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
