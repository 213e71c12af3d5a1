import type { Access } from "../core/access.ts";
import type { Target } from "../core/context.ts";
import type { Described } from "../core/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import type { Frame } from "../core/frame.ts";
import type { Mapper, Plan } from "../core/mapper.ts";
import { planned } from "../core/plan.ts";
import type { CudaContext } from "../cuda/context.ts";
import type { CudaTensor } from "../cuda/tensor.ts";
import type { HostTensor } from "../host/tensor.ts";
import { mapByHostAddress } from "./host_address.ts";
import { refused } from "./refusals.ts";

const EDGE = "cuda.managed→host";

/**
 * Managed memory as host memory, by the address that it has everywhere. `migrate` on a GPU with memory of its own: the
 * driver moves its pages to whoever touches them. `alias` where the GPU shares the memory of the host, and that was proven.
 */
export const cudaManagedToHost: Mapper<CudaTensor | Frame<CudaTensor>, HostTensor | Frame<HostTensor>> = {
  from: "cuda.managed",
  to: "host",

  prepare({ target, range }: Described): void {
    const { hostMemory, resource } = target.context as CudaContext;
    if (resource.state === "live") hostMemory.tryToProve(range.allocation);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cuda = source.target.context as CudaContext;
    if (cuda.resource.state !== "live") return refused(EDGE, `${cuda.name} was disposed.`);
    return planned(EDGE, cuda.hostMemory.judge(source.range.allocation), waits.length > 0, source.as(target, access));
  },

  map: mapByHostAddress,
};
