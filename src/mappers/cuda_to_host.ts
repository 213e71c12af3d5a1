import { type Access, reads, writes } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import type { Described } from "../core/tensors/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/life/fence.ts";
import type { Grant } from "../core/memory/grant.ts";
import { Frame } from "../core/tensors/frame.ts";
import { moved } from "../core/layout/layout.ts";
import type { MapJob, Mapper, Plan } from "../core/graph/mapper.ts";
import { plannedCopy } from "../core/graph/plan.ts";
import type { GiveBack } from "../core/life/resource.ts";
import type { CudaContext } from "../cuda/context.ts";
import type { CudaTensor } from "../cuda/tensor.ts";
import type { HostContext } from "../host/context.ts";
import type { HostTensor } from "../host/tensor.ts";
import { mapByHostAddress, planByHostAddress, proveHostAddress } from "./shared/host_address.ts";
import { hasGaps } from "./shared/gaps.ts";
import { resourceOf } from "./shared/job.ts";
import { refuseDisposed } from "./shared/refusals.ts";

const EDGE = "cuda→host";

type Address = CudaTensor["address"];

/**
 * What kernels reach, as host memory: by the host's own address where it lies in memory of the host, else by a copy, where
 * that is allowed, in page-locked memory. What was written there is copied back by the unmap.
 */
export const cudaToHost: Mapper<CudaTensor | Frame<CudaTensor>, HostTensor | Frame<HostTensor>> = {
  from: "cuda",
  to: "host",

  prepare: proveHostAddress,

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    if (source.range.address !== undefined) return planByHostAddress(EDGE, source, target, access, waits);
    const why = "memory of the device, which the CPU cannot reach";
    return refuseDisposed(EDGE, source.target.context as CudaContext) ??
      plannedCopy(EDGE, why, waits.length > 0, source.as(target, access));
  },

  map(source: CudaTensor | Frame<CudaTensor>, target: Target, job: MapJob): HostTensor | Frame<HostTensor> {
    const planes = source instanceof Frame ? source.planes : [source];
    if (planes[0].hostHandle !== undefined) return mapByHostAddress(source, target, job);
    const cuda = source.target.context as CudaContext;
    const host = target.context as HostContext;
    const first = planes.reduce((least, { address }) => address < least ? address : least, planes[0].address);
    const copied = copyOf(cuda, job, first, source.described.range.byteLength, hasGaps(source));
    const { address: handle, grants } = copied;
    const resource = resourceOf(cuda.resource, { ...job, grants }, source.resource, copied.giveBack);
    if (copied.giveBack !== undefined) resource.dependOn(cuda.stream.resource); // by which it goes back
    const placed = planes.map(({ layout, address }) => ({ handle, layout: moved(layout, Number(address - first)) }));
    if (!(source instanceof Frame)) return host.tensor(resource, handle, placed[0].layout, source);
    return host.frame(resource, source.info, placed, { metadata: source.metadata, parent: source });
  },
};

/** A copy in memory of the host, and how it is written back. */
interface Copied {
  readonly address: Address;
  /** The lent bytes, where they are shown: what is lent of them, and which views there are, is the copy's matter. */
  readonly grants: readonly Grant[];
  readonly giveBack: GiveBack | undefined;
}

function copyOf(cuda: CudaContext, job: MapJob, device: Address, byteLength: number, gaps: boolean): Copied {
  const [lent] = job.grants;
  const { access } = lent;
  cuda.stream.resource.assertLive(); // while it ends, it takes what goes back, and nothing more
  const copy = cuda.pinned.allocate({ shape: [byteLength], dtype: "u8" });
  job.undo.push(() => copy[Symbol.dispose]());
  const address = copy.hostHandle!;
  const grants = [lent.elsewhere(copy.grant.allocation), ...job.grants];
  if (reads(access) || gaps) { // what lies between the elements goes back as it was
    using done = cuda.submitCopy(address, device, byteLength, []);
    copy.resource.record(done.retain()); // where waiting fails, the end of the copy waits
    done.waitSync();
  }
  const submit: GiveBack["submit"] = (work) => cuda.submitCopy(device, address, byteLength, work);
  return { address, grants, giveBack: writes(access) ? { context: cuda, submit } : undefined };
}
