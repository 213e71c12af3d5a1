import type { Access } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import { Described } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import { moved } from "../../core/layout/layout.ts";
import { type MapJob, type Mapper, type Plan, resourceOf } from "../../core/graph/mapper.ts";
import { planned, SAME_ADDRESS, whyHostReads } from "../../core/graph/plan.ts";
import type { HostTensor } from "../../host/tensor.ts";
import type { OpenCVMat } from "../mat.ts";
import type { MatTarget } from "../mats/target.ts";
import { planesFromZero } from "../../core/tensors/places.ts";
import { refuseFrame, refuseUnfit } from "../../core/graph/refusals.ts";

const EDGE = "host→opencv.mat";

/**
 * Host memory as a `cv::Mat` over it: the same address, the same strides. Its end reports if OpenCV has put other
 * memory into the Mat.
 */
export const hostToOpenCVMat: Mapper<HostTensor, OpenCVMat> = {
  from: "host",
  to: "opencv.mat",

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const [plane] = source.planes;
    const closed = refuseFrame(EDGE, source, "a Mat") ??
      refuseUnfit(EDGE, (target as MatTarget).fit(plane.layout, plane.address));
    if (closed !== undefined) return closed;
    return planned(EDGE, SAME_ADDRESS, whyHostReads(waits), new Described(target, access, planesFromZero(source)));
  },

  map(source: HostTensor, target: Target, job: MapJob): OpenCVMat {
    const to = target as MatTarget;
    const layout = moved(source.layout, 0);
    const over = to.over(layout, source.address, job.name, job.undo);
    return to.tensor(resourceOf(to.context.resource, job, source.resource), layout, source.address, over, source);
  },
};
