import type { Access } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import { type Described, firstAddress, placed } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import { Frame, planesOf } from "../../core/tensors/frame.ts";
import {
  type MapJob,
  type Mapper,
  probedCopy,
  type ProbedStep,
  probedStep,
  refused,
  refuseDisposed,
  resourceOf,
} from "../../core/graph/mapper.ts";
import type { CudaContext } from "../context.ts";
import type { Reach } from "../host_memory.ts";
import type { CudaTensor } from "../tensor.ts";
import type { HostTensor } from "../../host/tensor.ts";
import { copyOnDevice, type DeviceCopy } from "./copy.ts";

const EDGE = "host→cuda";

interface ReachStep extends ProbedStep {
  /** How kernels reach the memory in place; undefined for a copy. */
  readonly reach: Reach | undefined;
}

/**
 * Host memory by its address for kernels. Its pages are registered (cudaHostRegister, mapped and portable), unless they are
 * registered already or CUDA's own. It is an `alias` if that was proven on this device. Memory that cannot be registered is
 * copied to device memory, if copies are allowed, and copied back when the map ends.
 */
export const hostToCuda: Mapper<HostTensor | Frame<HostTensor>, CudaTensor | Frame<CudaTensor>> = {
  from: "host",
  to: "cuda",

  prepare({ range: { allocation } }: Described, target: Target): void {
    const { hostMemory, proofs, resource } = target.context as CudaContext;
    if (resource.state !== "live") return;
    const reach = hostMemory.reachOf(allocation);
    if (hostMemory.refuseInPlace(allocation, reach) === undefined) proofs.tryToProve(hostMemory.classOf(reach));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ReachStep | Refusal {
    const cuda = target.context as CudaContext;
    const refusal = refuse(source, cuda, access);
    if (refusal !== undefined) return refusal;
    const waitReason = cuda.stream.line.whyHostWaits(waits);
    const { allocation } = source.range;
    const reach = cuda.hostMemory.reachOf(allocation);
    const closed = cuda.hostMemory.refuseInPlace(allocation, reach);
    if (closed === undefined) {
      const verdict = cuda.proofs.judge(cuda.hostMemory.classOf(reach));
      return { ...probedStep(EDGE, verdict, waitReason, source.as(target, access)), reach };
    }
    const why = closed.remedy === undefined ? closed.reason : `${closed.reason} ${closed.remedy}`;
    return { ...probedCopy(EDGE, why, waitReason, source.withoutAddress(target, access)), reach: undefined };
  },

  map(source: HostTensor | Frame<HostTensor>, target: Target, job: MapJob<ReachStep>): CudaTensor | Frame<CudaTensor> {
    const cuda = target.context as CudaContext;
    const { reach } = job.step;
    const copy = reach === undefined ? copied(cuda, job, source) : undefined;
    const places = copy?.places ?? reached(cuda, job, reach!, planesOf(source));
    const resource = resourceOf(cuda.resource, job, copy?.giveBack);
    if (copy !== undefined) resource.dependOn(cuda.stream.resource); // the copies run on it
    resource.inherit(job.waits);
    if (copy?.done !== undefined) resource.inherit([copy.done]);
    if (!(source instanceof Frame)) return cuda.tensor(resource, places[0], source);
    return cuda.frame(resource, source.info, places, { metadata: source.metadata, parent: source });
  },
};

type CudaPlace = Parameters<CudaContext["tensor"]>[1];

function reached(
  cuda: CudaContext,
  { grants: [{ allocation }], undo }: MapJob,
  reach: Reach,
  planes: readonly HostTensor[],
): CudaPlace[] {
  cuda.hostMemory.open(allocation, reach, undo);
  return planes.map(({ rawHandle: hostHandle, layout }) => {
    const handle = cuda.hostMemory.addressOf(allocation, reach, hostHandle);
    return { memory: reach.kind, handle, hostHandle, layout };
  });
}

function copied(
  cuda: CudaContext,
  job: MapJob,
  source: HostTensor | Frame<HostTensor>,
): DeviceCopy & { readonly places: CudaPlace[] } {
  const planes = planesOf(source);
  const { byteLength } = source.described.range;
  const first = firstAddress(planes);
  const copy = copyOnDevice(cuda, job, byteLength, {
    gaps: source.described.hasGaps,
    there: (to) => cuda.copyBytes(to, first, byteLength),
    back: (from) => cuda.copyBytes(first, from, byteLength),
  });
  const places = planes.map((plane): CudaPlace => {
    return { memory: "device", hostHandle: undefined, ...placed(plane, copy.handle, first) };
  });
  return { ...copy, places };
}

function refuse(source: Described, cuda: CudaContext, access: Access): Refusal | undefined {
  const disposed = refuseDisposed(EDGE, cuda);
  if (disposed !== undefined) return disposed;
  const closed = cuda.hostMemory.refuse(source.range.allocation, access);
  return closed === undefined ? undefined : refused(EDGE, closed.reason, closed.remedy);
}
