import type { Frame } from "../core/tensors/frame.ts";
import type { Mapper } from "../core/graph/mapper.ts";
import type { CudaTensor } from "../cuda/tensor.ts";
import type { HostTensor } from "../host/tensor.ts";
import { mapByHostAddress, planByHostAddress, proveHostAddress } from "./shared/host_address.ts";

const EDGE = "cuda.managed→host";

/**
 * Managed memory as host memory, by the address that it has everywhere. `migrate` on a GPU with memory of its own: the
 * driver moves its pages to whoever touches them. `alias` where the GPU shares the memory of the host, and that was proven.
 */
export const cudaManagedToHost: Mapper<CudaTensor | Frame<CudaTensor>, HostTensor | Frame<HostTensor>> = {
  from: "cuda.managed",
  to: "host",

  prepare: proveHostAddress,

  probe: (source, target, access, waits) => planByHostAddress(EDGE, source, target, access, waits),

  map: mapByHostAddress,
};
