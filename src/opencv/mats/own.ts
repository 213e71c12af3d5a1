import { NULL } from "../../../ffi/address.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Block } from "../../core/memory/allocation.ts";
import { adopt, own } from "../../core/memory/own.ts";
import { describeLayout } from "../../core/layout/layout.ts";
import { closedAt } from "../../core/memory/peers.ts";
import { probePages } from "../../core/native/foreign_addresses.ts";
import { wrong } from "../errors.ts";
import { fillEmpty, headerAt, matIn, probeOwners } from "../header.ts";
import { core } from "../library.ts";
import { OpenCVMat } from "../mat.ts";
import { addressIn } from "../memory.ts";
import { layoutOf } from "../shape.ts";
import { filledSlot, giveSlot, type Slot, viewOf } from "../slots.ts";
import type { MatTarget } from "./target.ts";

/**
 * A tensor over the Mat in a slot, as one more owner in OpenCV's reference count. Tensors over the same bytes are its peers.
 * Takes over the slot if it succeeds.
 * @throws {ArgumentError} if its memory overlaps that of a tensor in part, or the CPU may not use it.
 */
export function ownMat(target: MatTarget, slot: Slot, access: Access = "read-write"): OpenCVMat {
  const { shape, data } = matIn(viewOf(slot));
  const layout = layoutOf(shape);
  const closed = closedAt(data, layout.byteLength);
  if (closed !== undefined) throw wrong("handle", closed.reason, closed.remedy);
  const allocation = adopt(data, layout.byteLength, () => blockOf(slot, data, layout.byteLength));
  const start = Number(data - allocation.block.address!);
  if (start < 0 || start + layout.byteLength > allocation.block.byteLength) {
    throw wrong("handle", "its memory overlaps that of a tensor in part.", "Dispose that tensor first.");
  }
  const resource = own({
    ...{ name: `opencv mat ${describeLayout(layout)}`, allocation, start, end: start + layout.byteLength, access },
    // The block of a Mat that was unknown keeps its header: peers may outlive this tensor.
    undo: allocation.peers === 0 ? [] : [() => endHeader(slot)],
    owners: [target.context.resource],
  });
  return new OpenCVMat({ target, resource, layout, slot, shape, address: data, ownsMemory: true });
}

export function attachedMat(target: MatTarget, given: bigint | Deno.PointerValue, access: Access): OpenCVMat {
  const handle = addressIn(given);
  const header = headerAt(handle, "mat");
  if (header.data === 0n) throw wrong("handle", "the Mat is empty.");
  probePages(header.data, layoutOf(header.shape).byteLength, "opencv", "handle");
  if (header.u !== NULL) probeOwners(header.u, "refcount");
  const slot = filledSlot((slot) => {
    fillEmpty(slot, "mat");
    core().Mat_copy(slot.header, handle);
  });
  try {
    return ownMat(target, slot, access);
  } catch (error) {
    endHeader(slot);
    throw error;
  }
}

/** OpenCV's result in a slot, as a tensor. If the context has ended, the result is released, and this returns undefined. */
export function resultIn(target: MatTarget, slot: Slot): OpenCVMat | undefined {
  if (target.context.resource.state !== "live") {
    endHeader(slot);
    return undefined;
  }
  try {
    return ownMat(target, slot);
  } catch (error) {
    endHeader(slot);
    throw error;
  }
}

/** Removes an owner of the memory, and returns the slot. */
export function endHeader(slot: Slot): void {
  core().Mat_destruct(slot.header);
  giveSlot(slot);
}

function blockOf(slot: Slot, address: bigint, byteLength: number): Block {
  // The memory is kept if a view has escaped, which may still be used.
  return { kind: "opencv.mat", address, byteLength, free: (fate) => fate === "unused" ? endHeader(slot) : undefined };
}
