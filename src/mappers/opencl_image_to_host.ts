import { type Access, reads, writes } from "../core/access.ts";
import type { Target } from "../core/context.ts";
import { Described } from "../core/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import type { MapJob, Mapper, Plan } from "../core/mapper.ts";
import { Resource } from "../core/resource.ts";
import type { HostContext } from "../host/context.ts";
import type { HostTensor } from "../host/tensor.ts";
import type { OpenCLContext } from "../opencl/context.ts";
import type { OpenCLImage } from "../opencl/image.ts";
import type { ImageTarget } from "../opencl/images/target.ts";
import type { MappedTensor } from "../opencl/images/map.ts";

const EDGE = "opencl.image→host";

/**
 * An OpenCL image as host memory (clEnqueueMapImage; an image over a buffer: clEnqueueMapBuffer); the pitches that the
 * driver answers become the tensor's strides. `alias` where the device was proven to share this memory with the CPU, else
 * `migrate`.
 */
export const openCLImageToHost: Mapper<OpenCLImage, HostTensor> = {
  from: "opencl.image",
  to: "host",

  prepare(source: Described): void {
    const { context: cl } = source.target as ImageTarget;
    if (cl.queue.resource.state === "live") cl.images.tryToProveMap(source);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const { context: cl } = source.target as ImageTarget;
    if (cl.queue.resource.state !== "live") return { edge: EDGE, reason: `${cl.name}, or its queue, was disposed.` };
    const [{ layout, allocation, start }] = source.planes;
    const { aliases, evidence } = cl.images.judgeMap(source);
    return {
      edge: EDGE,
      transfer: aliases ? "alias" : "migrate",
      hostWait: waits.length > 0,
      bytesMoved: aliases ? 0 : layout.byteLength * (Number(reads(access)) + Number(writes(access))),
      evidence,
      // Where it will lie is the driver's to say, and so are its pitches.
      result: new Described(target, access, [{ layout, allocation, start }]),
    };
  },

  map(source: OpenCLImage, target: Target, job: MapJob): HostTensor {
    const { context: cl, root } = source;
    const { access } = job.grants[0];
    const mapped = cl.images.mapTensor(source, access);
    if (writes(access)) {
      root.hostWriters++;
      job.undo.push(() => void root.hostWriters--);
    }
    const resource = resourceOf(cl, job, source.resource, mapped);
    return (target.context as HostContext).tensor(resource, mapped.address, mapped.layout, source);
  },
};

/** Apart from `map`, so that nothing the resource keeps reaches the source. */
function resourceOf(cl: OpenCLContext, job: MapJob, parent: Resource, mapped: MappedTensor): Resource {
  return new Resource({
    name: job.name,
    undo: job.undo,
    grants: mapped.grantsFor(job.grants, job.undo),
    owners: [parent, cl.queue.resource],
    giveBack: { context: cl, submit: (work) => mapped.unmap(work) },
  });
}
