import { ACCESS_RW, USAGE_DEFAULT } from "../../../ffi/opencv_core/constants.ts";
import { readUMatData, UMatData } from "../../../ffi/opencv_core/structs.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Block, Fate } from "../../core/memory/allocation.ts";
import { adoptHandle, own } from "../../core/memory/own.ts";
import { describeLayout } from "../../core/layout/layout.ts";
import { wrong } from "../errors.ts";
import type { Execution } from "../execution.ts";
import { fillEmpty, headerAt, probeOwners, umatDataIn, umatIn } from "../header.ts";
import { core } from "../library.ts";
import { addressIn, viewAt } from "../memory.ts";
import { layoutOf, type MatShape } from "../shape.ts";
import { filledSlot, giveSlot, isInSlot, type Slot, viewOf } from "../slots.ts";
import { currentContext } from "../thread_state.ts";
import { OpenCVUMat, type UMatBuffer } from "../umat.ts";
import type { UMatTarget } from "./target.ts";

/** A tensor as one more owner of the buffer in OpenCV's count. Tensors over one `cl_mem` are peers. Takes over the slot. */
function ownUMat(
  target: UMatTarget,
  slot: Slot,
  buffer: Omit<UMatBuffer, "offset">,
  access: Access = "read-write",
): OpenCVUMat {
  const { shape, offset, u } = umatIn(viewOf(slot));
  const layout = layoutOf(shape);
  const { mem, execution } = buffer;
  const { allocation, start: first } = adoptHandle("cl_mem", mem, () => blockOf(slot, execution));
  const start = first + Number(offset);
  const end = start + layout.byteLength;
  const resource = own({
    ...{ name: `opencv umat ${describeLayout(layout)}`, allocation, start, end, access },
    // The block of an unknown buffer keeps its header: peers may outlive this tensor.
    undo: allocation.peers === 0 ? [] : [() => endHeader(slot, execution)],
    owners: [target.context.resource, execution?.resource],
  });
  const place = { u, buffer: { ...buffer, offset: Number(offset) } };
  return new OpenCVUMat({ target, resource, layout, slot, shape, ...place, ownsMemory: true });
}

export function attachedUMat(target: UMatTarget, given: bigint | Deno.PointerValue, access: Access): OpenCVUMat {
  const handle = addressIn(given);
  const { u } = headerAt(handle, "umat");
  if (isInSlot(u)) throw wrong("handle", "the UMat belongs to a samepage tensor.", "Slice that tensor, or map it.");
  probeOwners(u, "urefcount");
  if (readUMatData(viewAt(u, UMatData.size), 0).handle === 0n) {
    throw wrong(
      "handle",
      "the UMat has no cl_mem: OpenCV made it where it could not use OpenCL.",
      "Use cv.mat instead.",
    );
  }
  const clContext = contextHere("handle");
  core().ocl_finish();
  const slot = filledSlot((slot) => {
    fillEmpty(slot, "umat");
    core().UMat_copy(slot.header, handle);
  });
  return ownedIn(target, slot, clContext, access);
}

/** A UMat that OpenCV allocates in the OpenCL context that it uses in this thread. */
export function createdUMat(target: UMatTarget, { sizes, type }: MatShape): OpenCVUMat {
  const clContext = contextHere("init");
  const slot = filledSlot((slot) => {
    fillEmpty(slot, "umat");
    core().UMat_create(slot.header, sizes.length, Int32Array.from(sizes), type, USAGE_DEFAULT);
  });
  return ownedIn(target, slot, clContext);
}

function contextHere(argument: string): bigint {
  const clContext = currentContext();
  if (clContext !== undefined) return clContext;
  throw wrong(argument, "OpenCV uses no OpenCL in this thread.", "Set OPENCV_OPENCL_DEVICE.");
}

function ownedIn(target: UMatTarget, slot: Slot, clContext: bigint, access?: Access): OpenCVUMat {
  const execution = target.context.executionIn(clContext);
  try {
    const mem = core().UMat_handle(slot.header, ACCESS_RW);
    return ownUMat(target, slot, { mem, clContext, execution }, access);
  } catch (error) {
    endHeader(slot, execution);
    throw error;
  }
}

/** The block of an OpenCV buffer. Only a map to the host makes views of it. */
function blockOf(slot: Slot, execution: Execution | undefined): Block {
  const byteLength = Number(readUMatData(viewAt(umatDataIn(slot), UMatData.size), 0).size);
  const free = (fate: Fate) => fate === "unused" ? endHeader(slot, execution) : undefined;
  return { kind: "opencv.umat", byteLength, free };
}

/** OpenCV's result in a slot, as a tensor. If its context has ended, the result is released, and this returns undefined. */
export function resultIn(target: UMatTarget, slot: Slot, { clContext, execution }: UMatBuffer): OpenCVUMat | undefined {
  if (target.context.resource.state !== "live" || (execution !== undefined && !execution.live)) {
    endHeader(slot, execution);
    return undefined;
  }
  try {
    const mem = withState(execution, () => core().UMat_handle(slot.header, ACCESS_RW));
    return ownUMat(target, slot, { mem, clContext, execution });
  } catch (error) {
    endHeader(slot, execution);
    throw error;
  }
}

/** Removes an owner of the buffer, and returns the slot. */
function endHeader(slot: Slot, execution: Execution | undefined): void {
  withState(execution, () => core().UMat_destruct(slot.header));
  giveSlot(slot);
}

/** Calls OpenCV with a state, or with OpenCV's own if the state is undefined or has ended. */
function withState<R>(execution: Execution | undefined, call: () => R): R {
  return execution?.live ? execution.run(call) : call();
}
