import { type Access, reads, writes } from "../core/access.ts";
import type { Target } from "../core/context.ts";
import { NoRouteError, type Refusal } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import { Frame } from "../core/frame.ts";
import type { Described, MapJob, Mapper, Plan } from "../core/mapper.ts";
import { Resource } from "../core/resource.ts";
import { describeRefusal } from "../core/route.ts";
import type { HostTensor } from "../host/tensor.ts";
import type { OpenCLContext } from "../opencl/context.ts";
import type { OpenCLTensor } from "../opencl/tensor.ts";
import { rangeOf } from "./range.ts";

const EDGE = "host→opencl";

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
    const range = rangeOf(source);
    if (range.address === undefined || cl.queue.resource.state !== "live") return;
    cl.aliasing.tryToProve(range.address, range.byteLength);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cl = target.context as OpenCLContext;
    const { address, byteLength } = rangeOf(source);
    const refusal = refuse(source, cl);
    if (refusal !== undefined) return refusal;
    const { aliases, evidence } = address === undefined ? UNKNOWN : cl.aliasing.judge(address, byteLength);
    return {
      edge: EDGE,
      transfer: aliases ? "alias" : "migrate",
      hostWait: waits.some((fence) => fence.context !== cl),
      bytesMoved: aliases ? 0 : byteLength * (Number(reads(access)) + Number(writes(access))),
      evidence,
      result: { ...source, target, access },
    };
  },

  map(source: HostTensor | Frame<HostTensor>, target: Target, job: MapJob): OpenCLTensor | Frame<OpenCLTensor> {
    const cl = target.context as OpenCLContext;
    const [{ allocation, access }] = job.grants;
    const { address, byteLength } = rangeOf(source.describe());
    // Asked again: a hop of the same route may have come between.
    const refusal = refuse(source.describe(), cl);
    if (refusal !== undefined) {
      throw new NoRouteError(`No route from ${source.name} to ${cl.name}: ${describeRefusal(refusal)}`, [refusal], {
        api: "core",
        argument: "target",
      });
    }
    const waits = retained(job);
    const root = cl.memory.hostBuffers.acquire(allocation, address!, byteLength, job.undo);
    const planes = source instanceof Frame ? source.planes : [source];
    const parts = planes.map((plane) => {
      return cl.memory.part(root, Number(plane.address - root.hostAddress), plane.layout, job.undo);
    });
    const { aliases } = cl.aliasing.judge(root.hostAddress, root.byteLength);
    const begin = Number(address! - root.hostAddress);
    const written = writes(access) ? { mem: root.mem, begin, length: byteLength, aliases } : undefined;
    const resource = resourceOf(cl, job, source.resource, written);
    if (written !== undefined) cl.memory.hostBuffers.write(root, resource);
    for (const fence of waits.splice(0)) resource.record(fence);
    if (source instanceof Frame) return cl.memory.frame(resource, root, parts, source);
    return cl.memory.tensor(resource, root, parts[0], source);
  },
};

/** The work that has to be done first: given up with what else was made, unless a resource takes it over. */
function retained({ waits, undo }: MapJob): Fence[] {
  const fences: Fence[] = [];
  undo.push(() => fences.splice(0).forEach((fence) => fence[Symbol.dispose]()));
  for (const fence of waits) fences.push(fence.retain());
  return fences;
}

/** What has to be published before the host may look. */
interface Written {
  readonly mem: OpenCLTensor["root"]["mem"];
  readonly begin: number;
  readonly length: number;
  readonly aliases: boolean;
}

/** Apart from `map`, so that nothing the resource keeps reaches the source. */
function resourceOf(cl: OpenCLContext, job: MapJob, parent: Resource, written: Written | undefined): Resource {
  const { name, undo, grants } = job;
  const init = { name, undo, grants, owners: [parent, cl.queue.resource] };
  if (written === undefined) return new Resource(init);
  const { mem, begin, length, aliases } = written;
  const back = cl.memory.publish(mem, begin, length);
  return new Resource({
    ...init,
    giveBack: { ...back, context: cl, submit: (work, used) => aliases && !used ? undefined : back.submit(work) },
  });
}

function refuse(source: Described, cl: OpenCLContext): Refusal | undefined {
  const { byteLength, allocation, address } = rangeOf(source);
  if (cl.queue.resource.state !== "live") return { edge: EDGE, reason: `${cl.name}, or its queue, was disposed.` };
  if (byteLength > cl.device.maxAllocation) {
    return {
      edge: EDGE,
      reason: `${byteLength} bytes are more than the ${cl.device.maxAllocation} that ${cl.name} takes in one buffer.`,
      remedy: "Map it in slices.",
    };
  }
  const { hostBuffers } = cl.memory;
  const live = address === undefined ? undefined : hostBuffers.find(allocation, address, byteLength);
  if (live === undefined) return undefined;
  if (live.hostWriters > 0 && !cl.aliasing.judge(live.hostAddress, live.byteLength).aliases) {
    return {
      edge: EDGE,
      reason: `${cl.name} has a copy of its own of these bytes, which a map of it to the host may be changing.`,
      remedy: "Dispose the host's map first.",
    };
  }
  if (hostBuffers.covers(live, address!, byteLength)) return undefined;
  return {
    edge: EDGE,
    reason:
      `${byteLength} bytes at 0x${address!.toString(16)} overlap a live map in ${cl.name} (${live.what}), which has ` +
      `${live.byteLength} bytes at 0x${
        live.hostAddress.toString(16)
      }: two buffers over the same bytes are undefined in OpenCL.`,
    remedy: "Dispose that map first, or map the whole range first.",
  };
}
