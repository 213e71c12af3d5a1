import { type Access, writes } from "../../core/memory/access.ts";
import { showAt } from "../../core/memory/peers.ts";
import type { Target } from "../../core/graph/context.ts";
import type { Described } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import { type MapJob, type Mapper, type Plan, resourceOf } from "../../core/graph/mapper.ts";
import { planned, whyHostReads } from "../../core/graph/plan.ts";
import type { HostContext } from "../../host/context.ts";
import type { HostTensor } from "../../host/tensor.ts";
import type { OpenCLImage } from "../image.ts";
import type { ImageTarget } from "../image.ts";
import { refuseEnded } from "../../core/graph/refusals.ts";

const EDGE = "opencl.image→host";

/**
 * An OpenCL image as host memory (clEnqueueMapImage; an image over a buffer: clEnqueueMapBuffer). The driver's pitches
 * become the tensor's strides. `alias` if the device provably shares this memory with the CPU, else `migrate`.
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
    // The driver chooses its address and pitches.
    const result = source.withoutAddress(target, access);
    return refuseEnded(EDGE, cl) ?? planned(EDGE, cl.images.judgeMap(source), whyHostReads(waits), result);
  },

  map(source: OpenCLImage, target: Target, job: MapJob): HostTensor {
    const { context: cl, root } = source;
    const { access } = job.grants[0];
    const mapped = cl.images.mapTensor(source, access, !source.described.hasGaps);
    const { range, layout } = mapped;
    if (root.hostAddress === undefined) job.undo.push(showAt(range.address, layout.byteLength, source.name));
    if (writes(access)) {
      root.hostWriters++;
      job.undo.push(() => void root.hostWriters--);
    }
    const grants = mapped.grantsFor(job.grants, job.undo);
    const resource = resourceOf(cl.queue.resource, { ...job, grants }, source.resource, range.giveBack);
    return (target.context as HostContext).tensor(resource, range.address, layout, source);
  },
};
