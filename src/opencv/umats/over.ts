import { type Address, NULL } from "../../../ffi/address.ts";
import { UMAT_DATA_COPY_ON_MAP } from "../../../ffi/opencv_core/constants.ts";
import { readUMatData, UMatData, writeUMatData } from "../../../ffi/opencv_core/structs.ts";
import type { Grant } from "../../core/memory/grant.ts";
import type { Layout } from "../../core/layout/layout.ts";
import { libc } from "../../core/native/libc.ts";
import { sleepSync } from "../../core/pace.ts";
import type { Undo } from "../../core/life/undo.ts";
import { warn } from "../../core/errors.ts";
import { unfitError } from "../errors.ts";
import { fillUMat, releaseGrid, reshapeUMat, umatDataIn } from "../header.ts";
import { core } from "../library.ts";
import type { MatShape } from "../shape.ts";
import { AT, filledSlot, giveSlot, type Slot, viewOf } from "../slots.ts";
import type { UMatBuffer } from "../umat.ts";
import { ReallocatedError } from "../tensor.ts";
import type { UMatTarget } from "./target.ts";

/** A header over a buffer. */
export interface UMatOver {
  /** Its slot. */
  readonly slot: Slot;
  /** Its description of the elements. */
  readonly shape: MatShape;
  /** Its UMatData. */
  readonly u: Address;
}

/** A UMat to be made over a buffer. */
export interface UMatInit {
  /** The layout of its elements, from `buffer.offset`. */
  readonly at: Layout;
  /** The buffer. */
  readonly buffer: UMatBuffer;
  /** Its tensor's name. */
  readonly name: string;
}

const DATA = UMatData.fields;

/** The time that OpenCV's own threads may take to release a UMat whose work is over, in milliseconds. */
const LET_GO_MS = 1000;

/**
 * A UMat over a buffer that OpenCV does not own, which `undo` ends. It is made as by convertFromBuffer, but without a native
 * call, and with the offset and the row step that convertFromBuffer of OpenCV 4.6 ignores.
 * @param grants the grants to keep for good if OpenCV does not release the buffer
 * @throws {LayoutError} if OpenCV cannot have that layout.
 */
export function umatOver(target: UMatTarget, init: UMatInit, grants: readonly Grant[], undo: Undo): UMatOver {
  const { at, buffer } = init;
  const shape = fitted(target, at, buffer);
  const slot = filledSlot((slot) => {
    writeData(slot, buffer.mem as Address, buffer.offset + at.byteLength);
    fillUMat(slot, shape, buffer.offset, slot.data);
  });
  undo.push(() => endOver(target, slot, init, grants));
  return { slot, shape, u: slot.data };
}

/** A UMat of a part of another one. They share the UMatData, as any two UMats over one buffer do. */
export function sharedUMat(target: UMatTarget, of: Slot, init: UMatInit, undo: Undo): UMatOver {
  const { at, buffer, name } = init;
  const shape = fitted(target, at, buffer);
  const slot = partOf(of, shape, buffer.offset);
  const u = umatDataIn(slot);
  undo.push(() => {
    const now = umatDataIn(slot);
    if (now !== u && now !== NULL) throw new ReallocatedError(name, target.resultIn(slot, buffer));
    core().UMat_destruct(slot.header);
    giveSlot(slot);
  });
  return { slot, shape, u };
}

/** One more header over the buffer of a UMat. The caller has to destruct the UMat and return the slot. */
export function partOf(of: Slot, shape: MatShape, offset: number): Slot {
  return filledSlot((slot) => {
    core().UMat_copy(slot.header, of.header);
    try {
      reshapeUMat(slot, shape, offset);
    } catch (error) {
      core().UMat_destruct(slot.header);
      throw error;
    }
  });
}

function fitted(target: UMatTarget, at: Layout, { offset }: UMatBuffer): MatShape {
  const shape = target.fit(at, offset);
  if ("problem" in shape) throw unfitError(shape);
  return shape;
}

/** Writes the UMatData with two owners in OpenCV's count, the header and samepage, so that OpenCV never releases the buffer. */
function writeData(slot: Slot, handle: Address, byteLength: number): void {
  const allocator = openCLAllocator();
  writeUMatData(viewOf(slot), AT.data, {
    prevAllocator: allocator,
    currAllocator: allocator,
    urefcount: 2,
    refcount: 0,
    data: NULL,
    origdata: NULL,
    size: BigInt(byteLength),
    flags: 0,
    handle,
    userdata: NULL,
    allocatorFlags: 0,
    mapcount: 0,
    originalUMatData: NULL,
    allocatorContext_pointer: NULL,
    allocatorContext_count: NULL,
  });
}

let allocator: Address | undefined;

function openCLAllocator(): Address {
  return allocator ??= core().ocl_getOpenCLAllocator();
}

/** Returns the slot, unless OpenCV has put a buffer of its own into the header: then the header becomes a tensor. */
function endOver(target: UMatTarget, slot: Slot, { buffer, name }: UMatInit, grants: readonly Grant[]): void {
  const u = umatDataIn(slot);
  const isOurs = u === slot.data;
  if (!letGo(slot, isOurs ? 2 : 1)) {
    warn(`OpenCV still uses ${name}; its memory is kept for good. Release every copy of the cv::UMat.`);
    for (const { allocation } of grants) allocation.escaped = true;
    buffer.execution?.device.keep(buffer.mem);
    return;
  }
  freeHostCopy(slot);
  if (!isOurs && u !== NULL) throw new ReallocatedError(name, target.resultIn(slot, buffer));
  releaseGrid(slot, "umat");
  giveSlot(slot);
}

/** Waits for OpenCV's kernels to release the UMat, which they do once a thread of the driver has reported their end. */
function letGo(slot: Slot, owners: number): boolean {
  if (isLetGo(slot, owners)) return true;
  const until = performance.now() + LET_GO_MS;
  for (let turn = 0; performance.now() <= until; turn++) {
    if (turn < 100) libc().sched_yield();
    else sleepSync(1);
    if (isLetGo(slot, owners)) return true;
  }
  return false;
}

function isLetGo(slot: Slot, owners: number): boolean {
  const { urefcount, refcount } = DATA;
  return viewOf(slot).getInt32(AT.data + urefcount.offset, true) <= owners &&
    viewOf(slot).getInt32(AT.data + refcount.offset, true) === 0;
}

/** Frees the copy that OpenCV works on if the driver does not map a buffer, and which it keeps. */
function freeHostCopy(slot: Slot): void {
  const flags = viewOf(slot).getUint32(AT.data + DATA.flags.offset, true);
  if ((flags & UMAT_DATA_COPY_ON_MAP) === 0) return;
  const { data } = readUMatData(viewOf(slot), AT.data);
  if (data !== NULL) core().fastFree(data);
}
