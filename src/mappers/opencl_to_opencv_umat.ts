import type { Access } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import { Described } from "../core/tensors/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/life/fence.ts";
import { moved } from "../core/layout/layout.ts";
import type { MapJob, Mapper, Plan } from "../core/graph/mapper.ts";
import { planned } from "../core/graph/plan.ts";
import { noRoute } from "../core/graph/route.ts";
import type { OpenCLContext } from "../opencl/context.ts";
import type { OpenCLTensor } from "../opencl/tensor.ts";
import type { DeviceContext } from "../opencv/execution.ts";
import type { OpenCVUMat } from "../opencv/umat.ts";
import type { UMatTarget } from "../opencv/umats/target.ts";
import { resourceOf, retained } from "./shared/job.ts";
import { planesFromZero } from "./shared/planes.ts";
import { refused, refuseEnded, refuseFrame, refuseUnfit } from "./shared/refusals.ts";
import { SAME_CL_MEM } from "./shared/verdicts.ts";

const EDGE = "opencl→opencv.umat";

/**
 * An OpenCL buffer as a `cv::UMat` over the same `cl_mem`. OpenCV is told of the buffer's own `cl_context`, once; its
 * queue in that waits for our work by events, and ours for its.
 */
export const openCLToOpenCVUMat: Mapper<OpenCLTensor, OpenCVUMat> = {
  from: "opencl",
  to: "opencv.umat",

  prepare(source: Described, target: Target): void {
    const cl = source.target.context as OpenCLContext;
    if (cl.queue.resource.state !== "live") return;
    (target as UMatTarget).context.tryExecution(cl.rawHandle, () => deviceContext(cl));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cl = source.target.context as OpenCLContext;
    const closed = refuseFrame(EDGE, source, "a UMat") ?? refuse(source, target as UMatTarget, offsetIn(source));
    if (closed !== undefined) return closed;
    const result = new Described(target, access, planesFromZero(source), undefined, cl.rawHandle);
    return planned(EDGE, SAME_CL_MEM, waits.some((fence) => fence.context !== cl), result);
  },

  map(source: OpenCLTensor, target: Target, job: MapJob): OpenCVUMat {
    const to = target as UMatTarget;
    const cl = source.context;
    const waits = retained(job, source);
    const { described, root, rootOffset, layout: { byteOffset } } = source;
    const [mem, offset] = wantsRoot(cl) ? [root.mem, rootOffset] : [source.rawHandle, byteOffset];
    // Asked again: a hop of the same route may have come between.
    const refusal = refuse(described, to, offset);
    if (refusal !== undefined) throw noRoute(source.name, "a UMat", [refusal]);
    const execution = to.context.executionIn(cl.rawHandle)!;
    const layout = moved(source.layout, 0);
    const buffer = { mem, offset, clContext: cl.rawHandle, execution };
    const over = to.over({ at: layout, buffer, name: job.name }, job.grants, job.undo);
    const resource = resourceOf(execution.resource, job, source.resource);
    for (const fence of waits.splice(0)) resource.record(fence);
    return to.tensor(resource, layout, { ...over, buffer, address: described.range.address }, source);
  },
};

/**
 * PoCL 3.1 ends the process where rectangles are copied from or to a sub-buffer (clEnqueueCopyBufferRect), as OpenCV copies
 * padded rows: it gets the whole buffer there, and an offset.
 */
function wantsRoot({ device }: OpenCLContext): boolean {
  return device.platform === "Portable Computing Language";
}

/** Where a tensor begins in the buffer that OpenCV gets. */
function offsetIn({ target, range, planes: [plane] }: Described): number {
  const cl = target.context as OpenCLContext;
  const root = wantsRoot(cl) ? cl.memory.bufferOf(range) : undefined;
  return root === undefined ? plane.layout.byteOffset : range.start - cl.memory.startOf(root);
}

function refuse(source: Described, target: UMatTarget, byteOffset: number): Refusal | undefined {
  const cl = source.target.context as OpenCLContext;
  const closed = refuseEnded(EDGE, cl) ?? refuseUnfit(EDGE, target.fit(source.planes[0].layout, byteOffset));
  if (closed !== undefined) return closed;
  const limits = cl.memory.bufferOf(source.range)?.limits;
  if (limits !== undefined) {
    return refused(
      EDGE,
      `the buffer was made with ${limits.flags}, and OpenCV maps a UMat for the host, for reading and writing, wherever it ` +
        "has no kernel of its own.",
      "Make it without that flag.",
    );
  }
  const problem = target.context.executionProblem(cl.rawHandle);
  return problem === undefined ? undefined : { edge: EDGE, ...problem };
}

/** What OpenCV has to know of a context of OpenCL's. */
function deviceContext(cl: OpenCLContext): DeviceContext {
  return {
    name: cl.name,
    resource: cl.resource,
    handle: cl.rawHandle,
    device: cl.device.handle,
    platform: cl.device.platformHandle,
    platformName: cl.device.platform,
    share: (undo) => cl.share(undo),
    keep: (mem) => cl.memory.keep(mem),
    attach: (queue) => cl.attachQueue(queue),
  };
}
