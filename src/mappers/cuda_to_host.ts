import { type Access, reads, writes } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import type { Described } from "../core/tensors/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/device/fence.ts";
import { type Frame, planesOf } from "../core/tensors/frame.ts";
import { givenBackBy, type MapJob, type Mapper, type Plan, resourceOf } from "../core/graph/mapper.ts";
import { plannedCopy, whyHostReads } from "../core/graph/plan.ts";
import { portMapper } from "../core/graph/port_mapper.ts";
import type { CudaContext } from "../cuda/context.ts";
import type { CudaTensor } from "../cuda/tensor.ts";
import type { HostTensor } from "../host/tensor.ts";
import { type HostCopy, onHost } from "./on_host.ts";
import { type Address, firstAddress, placed } from "../core/tensors/places.ts";
import { refuseDisposed } from "../core/graph/refusals.ts";

const EDGE = "cuda→host";

const byAddress: Mapper = portMapper("cuda", "host");

/**
 * CUDA memory as host memory: by its host address if it has one; else, if copies are allowed, by a copy in page-locked
 * memory. The end of the map copies writes back.
 */
export const cudaToHost: Mapper<CudaTensor | Frame<CudaTensor>, HostTensor | Frame<HostTensor>> = {
  from: "cuda",
  to: "host",

  prepare: byAddress.prepare!,

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    if (source.range.address !== undefined) return byAddress.probe(source, target, access, waits);
    const why = "memory of the device, which the CPU cannot reach";
    return refuseDisposed(EDGE, source.target.context as CudaContext) ??
      plannedCopy(EDGE, why, whyHostReads(waits), source.as(target, access));
  },

  map(source: CudaTensor | Frame<CudaTensor>, target: Target, job: MapJob): HostTensor | Frame<HostTensor> {
    const planes = planesOf(source);
    if (planes[0].hostHandle !== undefined) return byAddress.map(source, target, job) as ReturnType<typeof this.map>;
    const cuda = source.target.context as CudaContext;
    const first = firstAddress(planes);
    const copied = copyOf(cuda, job, first, source.described.range.byteLength, source.described.hasGaps);
    const { address, grants, giveBack } = copied;
    const resource = resourceOf(cuda.resource, { ...job, grants }, source.resource, giveBack);
    if (giveBack !== undefined) resource.dependOn(cuda.stream.resource); // the copy back runs on it
    return onHost(source, target, resource, (plane) => placed(plane, address, first));
  },
};

function copyOf(cuda: CudaContext, job: MapJob, device: Address, byteLength: number, gaps: boolean): HostCopy {
  const [lent] = job.grants;
  const { access } = lent;
  const { line } = cuda.stream;
  line.resource.assertLive(); // while it ends, it only takes copies back
  const copy = cuda.pinned.allocate({ shape: [byteLength], dtype: "u8" });
  job.undo.push(() => copy[Symbol.dispose]());
  const address = copy.hostHandle!;
  const grants = [lent.elsewhere(copy.grant.allocation), ...job.grants];
  if (reads(access) || gaps) { // the gaps go back unchanged
    const done = line.submitRaw(cuda.copyBytes(address, device, byteLength));
    copy.resource.inherit([done]); // if the wait fails, the end of the copy waits
    done.waitSync();
  }
  const back = cuda.copyBytes(device, address, byteLength);
  return { address, grants, giveBack: writes(access) ? givenBackBy(line, back) : undefined };
}
