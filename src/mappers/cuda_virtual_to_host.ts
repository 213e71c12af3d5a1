import type { Access } from "../core/access.ts";
import type { Target } from "../core/context.ts";
import type { Described } from "../core/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import type { Frame } from "../core/frame.ts";
import type { MapJob, Mapper, Plan } from "../core/mapper.ts";
import { planned } from "../core/plan.ts";
import type { CudaContext } from "../cuda/context.ts";
import type { CudaTensor } from "../cuda/tensor.ts";
import type { HostTensor } from "../host/tensor.ts";
import { mapByHostAddress } from "./host_address.ts";
import { refused } from "./refusals.ts";

const EDGE = "cuda.virtual→host";

/** Virtual memory of the host as host memory, by the one address that it has; `alias` where that was proven. */
export const cudaVirtualToHost: Mapper<CudaTensor | Frame<CudaTensor>, HostTensor | Frame<HostTensor>> = {
  from: "cuda.virtual",
  to: "host",

  prepare({ target, range }: Described): void {
    const { hostMemory, resource } = target.context as CudaContext;
    if (range.address !== undefined && resource.state === "live") hostMemory.tryToProve(range.allocation);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cuda = source.target.context as CudaContext;
    if (cuda.resource.state !== "live") return refused(EDGE, `${cuda.name} was disposed.`);
    const { address, allocation } = source.range;
    if (address === undefined) {
      const remedy = 'Allocate it with { location: "host" }, or copy it: stream.read(tensor, bytes).';
      return refused(EDGE, "it is memory of a GPU, which the CPU cannot reach.", remedy);
    }
    return planned(EDGE, cuda.hostMemory.judge(allocation), waits.length > 0, source.as(target, access));
  },

  map(source: CudaTensor | Frame<CudaTensor>, target: Target, job: MapJob): HostTensor | Frame<HostTensor> {
    return mapByHostAddress(source, target, job);
  },
};
