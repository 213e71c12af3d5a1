import { Frame } from "../core/frame.ts";
import type { Target } from "../core/context.ts";
import type { MapJob } from "../core/mapper.ts";
import type { CudaContext } from "../cuda/context.ts";
import type { CudaTensor } from "../cuda/tensor.ts";
import type { HostContext } from "../host/context.ts";
import type { HostTensor } from "../host/tensor.ts";
import { resourceOf } from "./job.ts";

/** Memory of CUDA's that the host reaches too, under the host's address of it: no native call, and nothing moves here. */
export function mapByHostAddress(
  source: CudaTensor | Frame<CudaTensor>,
  target: Target,
  job: MapJob,
): HostTensor | Frame<HostTensor> {
  const host = target.context as HostContext;
  const { resource: owner } = source.target.context as CudaContext;
  const resource = resourceOf(owner, job, source.resource);
  if (!(source instanceof Frame)) return host.tensor(resource, source.hostHandle!, source.layout, source);
  const placed = source.planes.map(({ hostHandle, layout }) => ({ handle: hostHandle!, layout }));
  return host.frame(resource, source.info, placed, { metadata: source.metadata, parent: source });
}
