import { type Access, reads, writes } from "../core/access.ts";
import type { Target } from "../core/context.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import { Frame } from "../core/frame.ts";
import { moved } from "../core/layout.ts";
import type { Described, MapJob, Mapper, Plan } from "../core/mapper.ts";
import { Resource, type Undo } from "../core/resource.ts";
import type { HostTensor } from "../host/tensor.ts";
import type { OpenCLContext } from "../opencl/context.ts";
import type { OpenCLTensor } from "../opencl/tensor.ts";
import { rangeOf } from "./range.ts";

const EDGE = "host→opencl";

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
    if (range.address === undefined || cl.resource.state !== "live") return;
    cl.aliasing.tryToProve(range.address, range.byteLength);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cl = target.context as OpenCLContext;
    const { address, byteLength } = rangeOf(source);
    const refusal = refuse(source, cl);
    if (refusal !== undefined) return refusal;
    const { aliases, evidence } = cl.aliasing.judge(address, byteLength);
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
    const [{ allocation, start, end, access }] = job.grants;
    const root = cl.memory.acquire(allocation, start, end, job.undo);
    const begin = start - root.start;
    const planes = source instanceof Frame ? source.planes : [source];
    const first = planes.reduce((least, plane) => plane.address < least ? plane.address : least, planes[0].address);
    const parts = planes.map((plane) => {
      return cl.memory.part(root, begin + Number(plane.address - first), moved(plane.layout, 0), job.undo);
    });
    const { aliases } = cl.aliasing.judge(root.hostAddress, root.end - root.start);
    const resource = resourceOf(
      cl,
      job,
      source.resource,
      writes(access) ? { mem: root.mem, begin, length: end - start, aliases } : undefined,
    );
    for (const fence of job.waits) resource.record(fence.retain());
    if (source instanceof Frame) return cl.memory.frame(resource, root, parts, source);
    return cl.memory.tensor(resource, root, parts[0], source);
  },
};

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
  const init = { name, undo: undo as Undo, grants, owners: [parent, cl.resource] };
  if (written === undefined) return new Resource(init);
  const { mem, begin, length, aliases } = written;
  const back = cl.memory.publish(mem, begin, length);
  return new Resource({
    ...init,
    giveBack: { ...back, context: cl, submit: (work, used) => aliases && !used ? undefined : back.submit(work) },
  });
}

function refuse(source: Described, cl: OpenCLContext): Refusal | undefined {
  const { byteLength, allocation, start } = rangeOf(source);
  if (cl.resource.state !== "live") return { edge: EDGE, reason: `${cl.name} was disposed.` };
  if (byteLength > cl.device.maxAllocation) {
    return {
      edge: EDGE,
      reason: `${byteLength} bytes are more than the ${cl.device.maxAllocation} that ${cl.name} takes in one buffer.`,
      remedy: "Map it in slices.",
    };
  }
  if (start === undefined) return undefined;
  const live = cl.memory.find(allocation, start, start + byteLength);
  if (live === undefined || (live.start <= start && start + byteLength <= live.end)) return undefined;
  return {
    edge: EDGE,
    reason: `a live map in ${cl.name} has bytes ${live.start} to ${live.end}, which overlap ${start} to ${
      start + byteLength
    } in part.`,
    remedy:
      "Dispose that map first, or map the whole range first: two buffers over the same bytes are undefined in OpenCL.",
  };
}
