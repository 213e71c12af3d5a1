import type { Access } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import type { Described } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import type { MapJob, Plan } from "../../core/graph/mapper.ts";
import { planned } from "../../core/graph/plan.ts";
import type { CudaContext } from "../../cuda/context.ts";
import type { CudaTensor } from "../../cuda/tensor.ts";
import type { HostTensor } from "../../host/tensor.ts";
import { resourceOf } from "./job.ts";
import { onHost } from "./on_host.ts";
import { refuseDisposed } from "./refusals.ts";

/** Runs the experiment on memory of CUDA's that the host reaches too. */
export function proveHostAddress({ target, range: { address, allocation } }: Described): void {
  const { hostMemory, resource } = target.context as CudaContext;
  if (address !== undefined && resource.state === "live") hostMemory.tryToProve(allocation);
}

/** The step to such memory, as that was proven; the host waits for the work on it. */
export function planByHostAddress(
  edge: string,
  source: Described,
  target: Target,
  access: Access,
  waits: readonly Fence[],
): Plan | Refusal {
  const cuda = source.target.context as CudaContext;
  const verdict = cuda.hostMemory.judge(source.range.allocation);
  return refuseDisposed(edge, cuda) ?? planned(edge, verdict, waits.length > 0, source.as(target, access));
}

/** Memory of CUDA's that the host reaches too, under the host's address of it: no native call, and nothing moves here. */
export function mapByHostAddress(
  source: CudaTensor | Frame<CudaTensor>,
  target: Target,
  job: MapJob,
): HostTensor | Frame<HostTensor> {
  const { resource: owner } = source.target.context as CudaContext;
  const resource = resourceOf(owner, job, source.resource);
  return onHost(source, target, resource, ({ hostHandle, layout }) => ({ handle: hostHandle!, layout }));
}
