import type { Fence } from "../../core/device/fence.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Target } from "../../core/graph/context.ts";
import {
  type MapJob,
  type Mapper,
  probedCopy,
  type ProbedStep,
  probedStep,
  refused,
  resourceOf,
  whyHostReads,
} from "../../core/graph/mapper.ts";
import type { ImageInfo } from "../../core/layout/frame_info.ts";
import { type Access, reads, writes } from "../../core/memory/access.ts";
import { Described } from "../../core/tensors/described.ts";
import { Frame, planesOf } from "../../core/tensors/frame.ts";
import { tensorOver } from "../../core/tensors/over.ts";
import type { HostContext } from "../../host/context.ts";
import type { HostTensor } from "../../host/tensor.ts";
import type { VaapiContext } from "../context.ts";
import type { VaapiTensor } from "../tensor.ts";

const EDGE = "vaapi→host";

/**
 * A surface as host memory, through an image derived from it: `alias` if an experiment proves that the CPU sees the surface
 * itself, else `migrate`. If the driver derives no image and copies are allowed, it is a copy (vaGetImage, vaPutImage).
 */
export const vaapiToHost: Mapper<VaapiTensor | Frame<VaapiTensor>, HostTensor | Frame<HostTensor>> = {
  from: "vaapi",
  to: "host",
  takesParts: true,

  prepare(source: Described): void {
    const va = source.target.context as VaapiContext;
    if (va.refuseShow(source) === undefined) va.images.tryToProve(va.pictureOf(source)!);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ProbedStep | Refusal {
    const va = source.target.context as VaapiContext;
    const refusal = va.refuseShow(source);
    if (refusal !== undefined) return { edge: EDGE, ...refusal };
    const info = va.pictureOf(source)!;
    const { planes } = source.withoutAddress(target, access);
    const result = new Described(target, access, planes, source.info && linear(info));
    const verdict = va.images.judge(info);
    if (verdict !== undefined) return probedStep(EDGE, verdict, whyHostReads(waits), result);
    const reason = va.images.refuseCopy(info);
    if (reason !== undefined) return refused(EDGE, reason);
    const why = "the driver shows no such surface to the CPU itself";
    return { ...probedCopy(EDGE, why, whyHostReads(waits), result), bytesMoved: movedBy(result) };
  },

  map(source: VaapiTensor | Frame<VaapiTensor>, target: Target, job: MapJob): HostTensor | Frame<HostTensor> {
    const va = source.target as VaapiContext;
    const [lent] = job.grants;
    const [{ rawHandle: surface }] = planesOf(source);
    const copied = job.step.transfer === "copy";
    const { address, layouts, allocation, giveBack } = va.images.show(surface, copied, lent.access, job.undo);
    const first = Math.min(...layouts.map(({ byteOffset }) => byteOffset));
    const end = Math.max(...layouts.map(({ byteOffset, byteLength }) => byteOffset + byteLength));
    const grants = [lent.elsewhere(allocation, first, end), ...job.grants];
    const resource = resourceOf(va.resource, { ...job, grants }, giveBack);
    const at = { handle: address, layouts, resource, parent: source };
    const host = target as HostContext;
    if (!(source instanceof Frame)) return tensorOver<HostTensor>(host, at);
    return tensorOver<HostTensor>(host, { ...at, info: linear(surface.info), metadata: source.metadata });
  },
};

function linear(info: ImageInfo): ImageInfo {
  return { ...info, modifier: 0n };
}

/** An imported surface's planes may lie in several blocks. */
function movedBy({ planes, access }: Described): number {
  const bytes = planes.reduce((sum, { layout: { byteLength } }) => sum + byteLength, 0);
  return bytes * (Number(reads(access)) + Number(writes(access)));
}
