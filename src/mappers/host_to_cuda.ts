import type { Access } from "../core/access.ts";
import type { Target } from "../core/context.ts";
import type { Described } from "../core/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import { Frame } from "../core/frame.ts";
import type { MapJob, Mapper, Plan } from "../core/mapper.ts";
import { planned } from "../core/plan.ts";
import { noRoute } from "../core/route.ts";
import type { CudaContext } from "../cuda/context.ts";
import type { CudaTensor } from "../cuda/tensor.ts";
import type { HostTensor } from "../host/tensor.ts";
import { resourceOf, retained } from "./job.ts";
import { refused } from "./refusals.ts";

const EDGE = "host→cuda";

/**
 * Host memory under the address that kernels call it by. Its pages are registered for that (cudaHostRegister, mapped and
 * portable) unless they are already, or CUDA has made them. `alias` where that was proven on this device.
 */
export const hostToCuda: Mapper<HostTensor | Frame<HostTensor>, CudaTensor | Frame<CudaTensor>> = {
  from: "host",
  to: "cuda",

  prepare(source: Described, target: Target): void {
    const cuda = target.context as CudaContext;
    if (refuse(source, cuda) === undefined) cuda.hostMemory.tryToProve(source.range.allocation);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cuda = target.context as CudaContext;
    const refusal = refuse(source, cuda);
    if (refusal !== undefined) return refusal;
    const verdict = cuda.hostMemory.judge(source.range.allocation);
    return planned(EDGE, verdict, waits.some((fence) => fence.context.api !== "cuda"), source.as(target, access));
  },

  map(source: HostTensor | Frame<HostTensor>, target: Target, job: MapJob): CudaTensor | Frame<CudaTensor> {
    const cuda = target.context as CudaContext;
    const waits = retained(job, source);
    // Asked again: a hop of the same route may have come between.
    const refusal = refuse(source.described, cuda);
    if (refusal !== undefined) throw noRoute(source.name, cuda.name, [refusal]);
    const [{ allocation }] = job.grants;
    cuda.hostMemory.open(allocation, job.undo);
    const memory = cuda.hostMemory.kindOf(allocation);
    const places = (source instanceof Frame ? source.planes : [source]).map(({ rawHandle: hostHandle, layout }) => {
      return { memory, handle: cuda.hostMemory.addressOf(allocation, hostHandle), hostHandle, layout };
    });
    const resource = resourceOf(cuda.resource, job, source.resource);
    for (const fence of waits.splice(0)) resource.record(fence);
    if (!(source instanceof Frame)) return cuda.tensor(resource, places[0], source);
    return cuda.frame(resource, source.info, places, { metadata: source.metadata, parent: source });
  },
};

function refuse(source: Described, cuda: CudaContext): Refusal | undefined {
  if (cuda.resource.state !== "live") return refused(EDGE, `${cuda.name} was disposed.`);
  const closed = cuda.hostMemory.refuse(source.range.allocation);
  return closed === undefined ? undefined : refused(EDGE, closed.reason, closed.remedy);
}
