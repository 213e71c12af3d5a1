import type { Access } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import type { Described } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import {
  type MapJob,
  type Mapper,
  type ProbedStep,
  probedStep,
  refused,
  refuseEnded,
  resourceOf,
} from "../../core/graph/mapper.ts";
import type { OpenCLContext } from "../../opencl/context.ts";
import type { OpenCLTensor } from "../../opencl/tensor.ts";
import type { OpenCVUMat } from "../umat.ts";
import type { UMatTarget } from "../umats/target.ts";
import { SAME_CL_MEM } from "./opencl_to_opencv_umat.ts";

const EDGE = "opencv.umat→opencl";

/** A `cv::UMat` as its OpenCL buffer, in the buffer's context. */
export const openCVUMatToOpenCL: Mapper<OpenCVUMat, OpenCLTensor> = {
  from: "opencv.umat",
  to: "opencl",

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ProbedStep | Refusal {
    const cl = target.context as OpenCLContext;
    const refusal = refuse(source, cl);
    if (refusal !== undefined) return refusal;
    const { start } = source.range;
    const offset = cl.memory.find(source.range)?.offset ?? start;
    return probedStep(
      EDGE,
      SAME_CL_MEM,
      cl.queue.line.whyHostWaits(waits),
      cl.memory.describe(source, access, start - offset),
    );
  },

  map(source: OpenCVUMat, target: Target, job: MapJob): OpenCLTensor {
    const cl = target.context as OpenCLContext;
    const { range } = source.described;
    const { root, offset } = cl.memory.find(range) ?? cl.memory.adopt(range, source.buffer.mem);
    const part = cl.memory.part(root, offset, source.layout, job.undo);
    const resource = resourceOf(cl.queue.resource, job);
    resource.inherit(job.waits);
    return cl.memory.tensor(resource, root, part, source);
  },
};

function refuse(source: Described, cl: OpenCLContext): Refusal | undefined {
  const ended = refuseEnded(EDGE, cl);
  if (ended !== undefined || source.home === cl.rawHandle) return ended;
  const home = (source.target as UMatTarget).context.executionIn(source.home!);
  const whose = home === undefined ? "a context that samepage does not know" : home.device.name;
  return refused(
    EDGE,
    `the UMat belongs to ${whose} (cl_context 0x${source.home!.toString(16)}), and not to ${cl.name} ` +
      `(0x${cl.rawHandle.toString(16)}).`,
    "Map it to its own context: OpenCLContext.attach(handle), with the handle that is named first.",
  );
}
