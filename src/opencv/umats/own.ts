import { ACCESS_RW } from "../../../ffi/opencv_core/constants.ts";
import { readUMatData, UMatData } from "../../../ffi/opencv_core/structs.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Block, Fate } from "../../core/memory/allocation.ts";
import { adoptHandle, own } from "../../core/memory/own.ts";
import { describeLayout } from "../../core/layout/layout.ts";
import type { Execution } from "../execution.ts";
import { umatDataIn, umatIn } from "../header.ts";
import { core } from "../library.ts";
import { viewAt } from "../memory.ts";
import { layoutOf } from "../shape.ts";
import { giveSlot, type Slot, viewOf } from "../slots.ts";
import { OpenCVUMat, type UMatBuffer } from "../umat.ts";
import type { UMatTarget } from "./target.ts";

/**
 * A tensor over the UMat in a slot, whose buffer OpenCV counts the owners of: this is one more. Who has the same `cl_mem` is
 * its peer. Takes the slot over.
 */
export function ownUMat(
  target: UMatTarget,
  slot: Slot,
  buffer: Omit<UMatBuffer, "offset">,
  access: Access = "read-write",
): OpenCVUMat {
  const { shape, offset, u } = umatIn(viewOf(slot));
  const layout = layoutOf(shape);
  const start = Number(offset);
  const end = start + layout.byteLength;
  const { mem, execution } = buffer;
  const allocation = adoptHandle("cl_mem", mem, () => blockOf(slot, execution));
  const resource = own({
    ...{ name: `opencv umat ${describeLayout(layout)}`, allocation, start, end, access },
    // The block of a buffer that nobody knew keeps its header: peers may outlive this tensor.
    undo: allocation.peers === 0 ? [] : [() => endHeader(slot, execution)],
    owners: [target.context.resource, execution?.resource],
  });
  const place = { u, buffer: { ...buffer, offset: start } };
  return new OpenCVUMat({ target, resource, layout, slot, shape, ...place, ownsMemory: true });
}

/** All of a buffer of OpenCV's: whoever maps it on to the host makes the views of it. */
function blockOf(slot: Slot, execution: Execution | undefined): Block {
  const byteLength = Number(readUMatData(viewAt(umatDataIn(slot), UMatData.size), 0).size);
  const free = (fate: Fate) => fate === "unused" ? endHeader(slot, execution) : undefined;
  return { kind: "opencv.umat", byteLength, free };
}

/** What OpenCV has put into a slot, as a tensor of its own; undefined where its context has ended: then it is released. */
export function resultIn(target: UMatTarget, slot: Slot, { clContext, execution }: UMatBuffer): OpenCVUMat | undefined {
  if (target.context.resource.state !== "live" || (execution !== undefined && !execution.live)) {
    endHeader(slot, execution);
    return undefined;
  }
  try {
    const mem = within(execution, () => core().UMat_handle(slot.header, ACCESS_RW));
    return ownUMat(target, slot, { mem, clContext, execution });
  } catch (error) {
    endHeader(slot, execution);
    throw error;
  }
}

/** One owner less of the buffer; the slot is given back. */
export function endHeader(slot: Slot, execution: Execution | undefined): void {
  within(execution, () => core().UMat_destruct(slot.header));
  giveSlot(slot);
}

/** OpenCV's own state, where there is no other, or that one has ended. */
function within<R>(execution: Execution | undefined, call: () => R): R {
  return execution?.live ? execution.run(call) : call();
}
