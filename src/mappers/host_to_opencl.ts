import { type Access, reads, writes } from "../core/access.ts";
import type { Target } from "../core/context.ts";
import type { ByteRange, Described } from "../core/described.ts";
import { NoRouteError, type Refusal } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import { Frame } from "../core/frame.ts";
import type { MapJob, Mapper, Plan } from "../core/mapper.ts";
import { Resource } from "../core/resource.ts";
import { describeRefusal } from "../core/route.ts";
import type { HostTensor } from "../host/tensor.ts";
import type { OpenCLContext } from "../opencl/context.ts";
import type { HostBuffer } from "../opencl/buffers/host_buffers.ts";
import type { OpenCLSvmTensor } from "../opencl/svm/tensor.ts";
import type { OpenCLTensor } from "../opencl/tensor.ts";
import { refuseMappedCoarse } from "./mapped_coarse.ts";
import { retained } from "./retained.ts";

const EDGE = "host→opencl";

/** Memory that the host calls by its address; shared virtual memory is mapped in the same way. */
type Addressed = HostTensor | OpenCLSvmTensor;

/** A route is planned before the map that will tell the address. */
const UNKNOWN = { aliases: false, evidence: "not proven: the address is known only once it is mapped" };

/**
 * Host memory as an OpenCL buffer (CL_MEM_USE_HOST_PTR), over exactly the bytes of the map. `alias` where the device
 * was proven to use memory of this alignment in place, else `migrate`: then the driver moves the bytes.
 */
export const hostToOpenCL: Mapper<HostTensor | Frame<HostTensor>, OpenCLTensor | Frame<OpenCLTensor>> = {
  from: "host",
  to: "opencl",

  prepare(source: Described, target: Target): void {
    const cl = target.context as OpenCLContext;
    const { address, byteLength } = source.range;
    if (address === undefined || cl.queue.resource.state !== "live") return;
    cl.aliasing.tryToProve(address, byteLength);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cl = target.context as OpenCLContext;
    const { range } = source;
    const refusal = refuseBuffer(source, range, cl);
    if (refusal !== undefined) return refusal;
    const { address, byteLength } = range;
    const { aliases, evidence } = address === undefined ? UNKNOWN : cl.aliasing.judge(address, byteLength);
    return {
      edge: EDGE,
      transfer: aliases ? "alias" : "migrate",
      hostWait: waits.some((fence) => fence.context !== cl),
      bytesMoved: aliases ? 0 : byteLength * (Number(reads(access)) + Number(writes(access))),
      evidence,
      result: source.as(target, access),
    };
  },

  map(source: HostTensor | Frame<HostTensor>, target: Target, job: MapJob): OpenCLTensor | Frame<OpenCLTensor> {
    return mapBuffer(source, target.context as OpenCLContext, job, source.described.range);
  },
};

/** Maps to a buffer over `whole`, the bytes of the map or more. @throws {NoRouteError} where there can be none. */
export function mapBuffer(
  source: Addressed | Frame<Addressed>,
  cl: OpenCLContext,
  job: MapJob,
  whole: ByteRange,
): OpenCLTensor | Frame<OpenCLTensor> {
  const waits = retained(job, source);
  // Asked again: a hop of the same route may have come between.
  const refusal = refuseBuffer(source.described, whole, cl);
  if (refusal !== undefined) {
    throw new NoRouteError(`No route from ${source.name} to ${cl.name}: ${describeRefusal(refusal)}`, [refusal], {
      api: "core",
      argument: "target",
    });
  }
  const root = cl.memory.hostBuffers.acquire(whole, job.undo);
  const planes = source instanceof Frame ? source.planes : [source];
  const parts = planes.map((plane) => cl.memory.part(root, plane.grant.start - root.start, plane.layout, job.undo));
  const written = writes(job.grants[0].access) ? { root, range: source.described.range } : undefined;
  const resource = resourceOf(cl, job, source.resource, written);
  if (written !== undefined) cl.memory.hostBuffers.write(root, resource);
  for (const fence of waits) resource.record(fence);
  waits.length = 0;
  if (source instanceof Frame) return cl.memory.frame(resource, root, parts, source);
  return cl.memory.tensor(resource, root, parts[0], source);
}

/** What has to be published before the host may look. */
interface Written {
  readonly root: HostBuffer;
  readonly range: ByteRange;
}

/** Apart from `map`, so that nothing the resource keeps reaches the source. */
function resourceOf(cl: OpenCLContext, job: MapJob, parent: Resource, written: Written | undefined): Resource {
  const { name, undo, grants } = job;
  const owners = [parent, cl.queue.resource];
  if (written === undefined) return new Resource({ name, undo, grants, owners });
  const { root, range } = written;
  const { aliases } = cl.aliasing.judge(root.hostAddress, root.byteLength);
  const giveBack = cl.memory.publish(root.mem, range.start - root.start, range.byteLength, aliases);
  return new Resource({ name, undo, grants, owners, giveBack });
}

/** Why there can be no buffer over a range. */
export function refuseBuffer(source: Described, range: ByteRange, cl: OpenCLContext): Refusal | undefined {
  const { byteLength } = range;
  if (cl.queue.resource.state !== "live") return { edge: EDGE, reason: `${cl.name}, or its queue, was disposed.` };
  if (byteLength > cl.maxAllocation) {
    return {
      edge: EDGE,
      reason: `${byteLength} bytes are more than the ${cl.maxAllocation} that ${cl.name} takes in one buffer.`,
      remedy: "Map it in slices.",
    };
  }
  const mapped = refuseMappedCoarse(EDGE, source, cl);
  if (mapped !== undefined) return mapped;
  const live = cl.memory.hostBuffers.find(range);
  if (live === undefined) return undefined;
  if (live.hostWriters > 0 && !cl.aliasing.judge(live.hostAddress, live.byteLength).aliases) {
    return {
      edge: EDGE,
      reason: `${cl.name} has a copy of its own of these bytes, which a map of it to the host may be changing.`,
      remedy: "Dispose the host's map first.",
    };
  }
  if (live.limits !== undefined) {
    return {
      edge: EDGE,
      reason:
        `${cl.name} has a buffer over these bytes that was made with ${live.limits.flags}, and attached to: two ` +
        "buffers over the same bytes are undefined in OpenCL.",
      remedy: "Use the attached tensor, or dispose it first.",
    };
  }
  if (cl.memory.hostBuffers.shares(live, range)) return undefined;
  return {
    edge: EDGE,
    reason: `${byteLength} bytes at 0x${range.address!.toString(16)} overlap a live map in ${cl.name} in part, or as ` +
      `something else: it is ${live.what} of ${live.byteLength} bytes at 0x${live.hostAddress.toString(16)}, and two ` +
      "objects over the same bytes are undefined in OpenCL.",
    remedy: "Dispose that map first, or map the whole range first.",
  };
}
