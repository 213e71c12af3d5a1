import type { Access } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import { Described, laidOut } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import { moved } from "../../core/layout/layout.ts";
import {
  type MapJob,
  type Mapper,
  type ProbedStep,
  probedStep,
  refused,
  refuseEnded,
  refuseUnfit,
  resourceOf,
} from "../../core/graph/mapper.ts";
import { noRoute } from "../../core/graph/route.ts";
import type { OpenCLImage } from "../image.ts";
import type { ImageShape } from "../images/shape.ts";
import type { ImageTarget } from "../image.ts";
import type { OpenCLTensor } from "../tensor.ts";

const EDGE = "opencl→opencl.image";

/**
 * An OpenCL buffer as an image over it: a `"1D buffer"` (OpenCL 1.2), or 2D with cl_khr_image2d_from_buffer. OpenCL
 * requires that both are the same memory; `alias` if that was proven, else `migrate`.
 */
export const openCLToOpenCLImage: Mapper<OpenCLTensor, OpenCLImage> = {
  from: "opencl",
  to: "opencl.image",

  prepare(source: Described, target: Target): void {
    const { context: cl, format } = target as ImageTarget;
    const fit = fitOf(source, target as ImageTarget);
    if (!("reason" in fit)) cl.proofs.tryToProve(cl.images.overBuffers.classOf(fit.type, format, isOverHost(source)));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ProbedStep | Refusal {
    const { context: cl, format } = target as ImageTarget;
    const fit = fitOf(source, target as ImageTarget);
    if ("reason" in fit) return fit;
    const verdict = cl.proofs.judge(cl.images.overBuffers.classOf(fit.type, format, isOverHost(source)));
    if (verdict.impossible) return refused(EDGE, verdict.evidence);
    const [plane] = source.planes;
    const result = new Described(target, access, [laidOut(plane, moved(plane.layout, 0))]);
    return probedStep(EDGE, verdict, cl.queue.line.whyHostWaits(waits), result);
  },

  map(source: OpenCLTensor, target: Target, job: MapJob): OpenCLImage {
    const to = target as ImageTarget;
    const { layout, root, rootOffset, rawHandle } = source;
    const fit = sourceRefusal(source) ?? fitOf(source.described, to);
    if ("reason" in fit) throw noRoute(source.name, to.context.name, [fit]);
    const handle = to.context.images.overBuffers.create(to, fit, rawHandle, job.undo);
    const resource = resourceOf(to.context.queue.resource, job);
    resource.inherit(job.waits);
    const init = { target: to, resource, handle, layout, image: fit, root, bufferOffset: rootOffset, parent: source };
    return to.context.images.tensor(init);
  },
};

function fitOf(source: Described, target: ImageTarget): ImageShape | Refusal {
  const { context: cl } = target;
  if (source.target.context !== cl) return refused(EDGE, "an image over a buffer is in the buffer's own context.");
  const closed = refuseEnded(EDGE, cl);
  if (closed !== undefined) return closed;
  const [{ layout, address }] = source.planes;
  const fit = cl.images.overBuffers.fit(target, layout, address);
  return "problem" in fit ? refuseUnfit(EDGE, fit)! : fit;
}

function isOverHost({ planes: [{ address }] }: Described): boolean {
  return address !== undefined;
}

function sourceRefusal({ layout: { byteOffset }, limits, context }: OpenCLTensor): Refusal | undefined {
  if (limits !== undefined) return refused(EDGE, `the buffer was made with ${limits.flags}.`);
  if (byteOffset === 0) return undefined;
  return refused(
    EDGE,
    `the tensor begins ${byteOffset} bytes into its cl_mem, and an image begins where a cl_mem does.`,
    `Slice it at a multiple of ${context.subBufferAlign} bytes.`,
  );
}
