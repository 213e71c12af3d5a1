import type { Access } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import type { Described } from "../core/tensors/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/device/fence.ts";
import type { MapJob, Mapper, Plan } from "../core/graph/mapper.ts";
import { planned } from "../core/graph/plan.ts";
import type { HostContext } from "../host/context.ts";
import type { HostTensor } from "../host/tensor.ts";
import type { OpenCVMat } from "../opencv/mat.ts";
import { resourceOf } from "./shared/job.ts";
import { SAME_ADDRESS } from "./shared/verdicts.ts";

const EDGE = "opencv.mat→host";

/** A `cv::Mat` as the host memory that it is: the same address, the same strides. */
export const openCVMatToHost: Mapper<OpenCVMat, HostTensor> = {
  from: "opencv.mat",
  to: "host",

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    return planned(EDGE, SAME_ADDRESS, waits.length > 0, source.as(target, access));
  },

  map(source: OpenCVMat, target: Target, job: MapJob): HostTensor {
    const host = target.context as HostContext;
    return host.tensor(resourceOf(undefined, job, source.resource), source.address, source.layout, source);
  },
};
