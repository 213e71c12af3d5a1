import type { Access } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import type { Described } from "../core/tensors/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/device/fence.ts";
import { type Frame, planesOf } from "../core/tensors/frame.ts";
import { type MapJob, type Mapper, type Plan, resourceOf } from "../core/graph/mapper.ts";
import { planned, whyHostReads } from "../core/graph/plan.ts";
import type { GiveBack } from "../core/life/resource.ts";
import type { HostTensor } from "../host/tensor.ts";
import type { OpenCLSvm } from "../opencl/svm.ts";
import type { OpenCLSvmTensor } from "../opencl/svm.ts";
import { onHost } from "./on_host.ts";
import { firstAddress, placed } from "../core/tensors/places.ts";
import { refuseEnded } from "../core/graph/refusals.ts";

const EDGE = "opencl.svm→host";

/**
 * Shared virtual memory as host memory, at the same address. Coarse-grained memory is mapped and unmapped
 * (clEnqueueSVMMap, clEnqueueSVMUnmap). Finer memory takes no native call: the host waits for the work on it, and no
 * kernel may use it while the host holds it for writing. `alias` if that was proven on this device, else `migrate`.
 */
export const openCLSvmToHost: Mapper<OpenCLSvmTensor | Frame<OpenCLSvmTensor>, HostTensor | Frame<HostTensor>> = {
  from: "opencl.svm",
  to: "host",

  prepare(source: Described): void {
    const svm = source.target as OpenCLSvm;
    if (svm.context.queue.resource.state !== "live") return;
    svm.context.proofs.tryToProve(svm.classOf(source.range.allocation));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const svm = source.target as OpenCLSvm;
    const verdict = svm.context.proofs.judge(svm.classOf(source.range.allocation));
    return refuseEnded(EDGE, svm.context) ?? planned(EDGE, verdict, whyHostReads(waits), source.as(target, access));
  },

  map(source: OpenCLSvmTensor | Frame<OpenCLSvmTensor>, target: Target, job: MapJob): HostTensor | Frame<HostTensor> {
    const svm = source.target as OpenCLSvm;
    const first = firstAddress(planesOf(source));
    const giveBack = giveBackOf(svm, job, first, source.described.range.byteLength, !source.described.hasGaps);
    const resource = resourceOf(svm.context.queue.resource, job, source.resource, giveBack);
    return onHost(source, target, resource, (plane) => placed(plane, first, first));
  },
};

/** Maps coarse-grained memory, and returns the commands that unmap it; finer memory needs neither. */
function giveBackOf(
  svm: OpenCLSvm,
  job: MapJob,
  address: OpenCLSvmTensor["address"],
  byteLength: number,
  exact: boolean,
): GiveBack | undefined {
  const [{ allocation, access }] = job.grants;
  if (svm.blockOf(allocation)?.grain !== "coarse") return undefined;
  return svm.maps.map(allocation, address, byteLength, access, exact).giveBack;
}
