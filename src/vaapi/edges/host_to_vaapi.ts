import type { Fence } from "../../core/device/fence.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Target } from "../../core/graph/context.ts";
import {
  type MapJob,
  type Mapper,
  probedCopy,
  type ProbedStep,
  refused,
  refuseDisposed,
  resourceOf,
  whyHostReads,
} from "../../core/graph/mapper.ts";
import { moved } from "../../core/layout/layout.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Described } from "../../core/tensors/described.ts";
import { type Frame, planesOf } from "../../core/tensors/frame.ts";
import type { HostTensor } from "../../host/tensor.ts";
import type { VaapiContext } from "../context.ts";
import type { VaapiTensor } from "../tensor.ts";

const EDGE = "host→vaapi";

/** Host memory as a new surface with a copy of the pixels, which are copied back when the map ends. */
export const hostToVaapi: Mapper<HostTensor | Frame<HostTensor>, VaapiTensor | Frame<VaapiTensor>> = {
  from: "host",
  to: "vaapi",
  takesParts: true,

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ProbedStep | Refusal {
    const va = target.context as VaapiContext;
    const disposed = refuseDisposed(EDGE, va);
    if (disposed !== undefined) return disposed;
    const refusal = va.ports.images!.refuse!(source, access);
    if (refusal !== undefined) return { edge: EDGE, ...refusal };
    const reason = va.images.refuseCopy(va.pictureOf(source)!);
    if (reason !== undefined) return refused(EDGE, reason);
    const why = "a surface is the driver's own memory";
    return probedCopy(EDGE, why, whyHostReads(waits), source.withoutAddress(target, access));
  },

  map(source: HostTensor | Frame<HostTensor>, target: Target, job: MapJob): VaapiTensor | Frame<VaapiTensor> {
    const va = target.context as VaapiContext;
    const [lent] = job.grants;
    const { surface, allocation } = va.newSurface(va.pictureOf(source.described)!, job.undo);
    const planes = planesOf(source).map(({ address, layout }) => ({ address, layout: moved(layout, 0) }));
    const giveBack = va.images.hold(surface, planes, lent.access, job.undo);
    const grants = [lent.elsewhere(allocation), ...job.grants];
    return va.placed(resourceOf(va.resource, { ...job, grants }, giveBack), surface, source);
  },
};
