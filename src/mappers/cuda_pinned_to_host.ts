import { reads } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { MapJob, Mapper } from "../core/graph/mapper.ts";
import type { CudaContext } from "../cuda/context.ts";
import type { CudaTensor } from "../cuda/tensor.ts";
import type { HostTensor } from "../host/tensor.ts";
import { mapByHostAddress, planByHostAddress, proveHostAddress } from "./shared/host_address.ts";

const EDGE = "cuda.pinned→host";

/** Pinned memory as host memory, by the host's own address; `alias` where that was proven on this device. */
export const cudaPinnedToHost: Mapper<CudaTensor | Frame<CudaTensor>, HostTensor | Frame<HostTensor>> = {
  from: "cuda.pinned",
  to: "host",

  prepare: proveHostAddress,

  probe: (source, target, access, waits) => planByHostAddress(EDGE, source, target, access, waits),

  map(source: CudaTensor | Frame<CudaTensor>, target: Target, job: MapJob): HostTensor | Frame<HostTensor> {
    const { hostMemory } = source.target.context as CudaContext;
    const mapped = mapByHostAddress(source, target, job);
    if (reads(job.grants[0].access)) hostMemory.warnOfReading(job.grants[0].allocation);
    return mapped;
  },
};
