import type { Access } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import type { Described } from "../core/tensors/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/device/fence.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Mapper, Plan } from "../core/graph/mapper.ts";
import type { CudaContext } from "../cuda/context.ts";
import type { CudaTensor } from "../cuda/tensor.ts";
import type { HostTensor } from "../host/tensor.ts";
import { mapByHostAddress, planByHostAddress, proveHostAddress } from "./shared/host_address.ts";
import { refused, refuseDisposed } from "./shared/refusals.ts";

const EDGE = "cuda.virtual→host";

/** Virtual memory of the host as host memory, by the one address that it has; `alias` where that was proven. */
export const cudaVirtualToHost: Mapper<CudaTensor | Frame<CudaTensor>, HostTensor | Frame<HostTensor>> = {
  from: "cuda.virtual",
  to: "host",

  prepare: proveHostAddress,

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    if (source.range.address !== undefined) return planByHostAddress(EDGE, source, target, access, waits);
    const remedy = 'Allocate it with { location: "host" }, or copy it: stream.read(tensor, bytes).';
    return refuseDisposed(EDGE, source.target.context as CudaContext) ??
      refused(EDGE, "it is memory of a GPU, which the CPU cannot reach.", remedy);
  },

  map: mapByHostAddress,
};
