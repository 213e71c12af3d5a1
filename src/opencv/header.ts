import { type Address, NULL } from "../../ffi/address.ts";
import {
  ACCESS_READ,
  ACCESS_WRITE,
  CV_MAX_DIM,
  INPUT_ARRAY_FIXED_SIZE,
  INPUT_ARRAY_FIXED_TYPE,
  INPUT_ARRAY_MAT,
  INPUT_ARRAY_UMAT,
  MAT_MAGIC_MASK,
  MAT_MAGIC_VAL,
  MAT_TYPE_MASK,
  USAGE_DEFAULT,
} from "../../ffi/opencv_core/constants.ts";
import {
  InputArray,
  Mat,
  readMat,
  readUMat,
  readUMatData,
  UMat,
  UMatData,
  writeInputArray,
  writeMat,
  writeUMat,
} from "../../ffi/opencv_core/structs.ts";
import type { FieldLayout } from "../../ffi/layout.ts";
import type { ArgumentError } from "../core/errors.ts";
import { probePages } from "../core/native/foreign_addresses.ts";
import { wrong } from "./errors.ts";
import { extentsOf } from "./extents.ts";
import { core } from "./library.ts";
import { viewAt } from "./memory.ts";
import type { MatShape } from "./shape.ts";
import { AT, type Grid, type Slot, viewOf } from "./slots.ts";

/** Fills in a slot as `cv::Mat(sizes, type, data, steps)` would: a header over memory that OpenCV does not own. */
export function fillMat(slot: Slot, shape: MatShape, data: Address): void {
  const { flags, dims, rows, cols, length, limit, step_buf_0, step_buf_1 } = extentsOf(shape);
  const grid = shape.sizes.length > 2 ? gridOf(shape) : slot.matGrid;
  writeMat(viewOf(slot), AT.header, {
    flags,
    dims,
    rows,
    cols,
    data,
    datastart: data,
    dataend: data + length as Address,
    datalimit: data + limit as Address,
    allocator: NULL,
    u: NULL,
    size_p: grid.size_p,
    step_p: grid.step_p,
    step_buf_0,
    step_buf_1,
  });
  writeArrays(slot, INPUT_ARRAY_MAT, shape.type);
}

/** Fills in a slot as a UMat whose first element lies `offset` bytes into the buffer of `u`. */
export function fillUMat(slot: Slot, shape: MatShape, offset: number, u: Address): void {
  const { flags, dims, rows, cols, step_buf_0, step_buf_1 } = extentsOf(shape);
  const grid = shape.sizes.length > 2 ? gridOf(shape) : slot.umatGrid;
  writeUMat(viewOf(slot), AT.header, {
    flags,
    dims,
    rows,
    cols,
    allocator: NULL,
    usageFlags: USAGE_DEFAULT,
    u,
    offset: offset === 0 ? 0n : BigInt(offset),
    size_p: grid.size_p,
    step_p: grid.step_p,
    step_buf_0,
    step_buf_1,
  });
  writeArrays(slot, INPUT_ARRAY_UMAT, shape.type);
}

/** Makes a slot an empty Mat or UMat, as their constructors do, for a result of OpenCV's. */
export function fillEmpty(slot: Slot, kind: "mat" | "umat"): void {
  if (kind === "mat") fillMat(slot, NO_SHAPE, NULL);
  else fillUMat(slot, NO_SHAPE, 0, NULL);
}

const NO_SHAPE: MatShape = { type: 0, sizes: [0, 0], steps: [0, 0] };

/** Sets whether OpenCV may reallocate a function's output if the result does not fit. */
export function setReallocation(slot: Slot, allowed: boolean): void {
  const at = AT.output + InputArray.fields.flags.offset;
  const flags = viewOf(slot).getInt32(at, true);
  const fixed = INPUT_ARRAY_FIXED_SIZE | INPUT_ARRAY_FIXED_TYPE;
  viewOf(slot).setInt32(at, allowed ? flags & ~fixed : flags | fixed, true);
}

export interface MatHeader extends Mat {
  readonly shape: MatShape;
}

export function matIn(view: DataView, at: number = AT.header): MatHeader {
  const header = readMat(view, at);
  return { ...header, shape: shapeIn(header) };
}

export function dataIn(slot: Slot): Address {
  return addressIn(slot, Mat.fields.data);
}

/** The UMatData of the Mat in a slot: null unless OpenCV has put memory of its own into it. */
export function matDataIn(slot: Slot): Address {
  return addressIn(slot, Mat.fields.u);
}

export function umatDataIn(slot: Slot): Address {
  return addressIn(slot, UMat.fields.u);
}

/** One field of a header. Every map's end reads a few, and reading all of them would allocate as many bigints. */
function addressIn(slot: Slot, { offset }: FieldLayout): Address {
  return viewOf(slot).getBigUint64(AT.header + offset, true) as Address;
}

export interface UMatHeader extends UMat {
  readonly shape: MatShape;
}

export function umatIn(view: DataView, at: number = AT.header): UMatHeader {
  const header = readUMat(view, at);
  return { ...header, shape: shapeIn(header) };
}

/** Gives a UMat that OpenCV has copied another shape and offset; unchanged if that fails. */
export function reshapeUMat(slot: Slot, shape: MatShape, offset: number): void {
  const { u, step_p } = readUMat(viewOf(slot), AT.header);
  fillUMat(slot, shape, offset, u);
  if (step_p !== slot.umatGrid.step_p) core().fastFree(step_p);
}

/** Frees the sizes and steps of a header of more than two dimensions, which lie outside of it. */
export function releaseGrid(slot: Slot, kind: "mat" | "umat"): void {
  const step_p = addressIn(slot, kind === "mat" ? Mat.fields.step_p : UMat.fields.step_p);
  const own = kind === "mat" ? slot.matGrid : slot.umatGrid;
  if (step_p !== own.step_p) core().fastFree(step_p);
}

/** Sizes and steps of more than two dimensions, which OpenCV allocates, and frees when the shape changes (setSize). */
function gridOf({ sizes, steps }: MatShape): Grid {
  const dims = sizes.length;
  const step_p = core().fastMalloc(BigInt(dims * 8 + (dims + 1) * 4));
  const grid = viewAt(step_p, dims * 8 + (dims + 1) * 4);
  steps.forEach((step, i) => grid.setBigUint64(i * 8, BigInt(step), true));
  grid.setInt32(dims * 8, dims, true);
  sizes.forEach((size, i) => grid.setInt32(dims * 8 + 4 + i * 4, size, true));
  return { size_p: step_p + BigInt(dims * 8 + 4) as Address, step_p };
}

function shapeIn({ flags, dims, size_p, step_p }: Pick<Mat, "flags" | "dims" | "size_p" | "step_p">): MatShape {
  const size = dims === 0 ? undefined : viewAt(size_p, dims * 4);
  const step = dims === 0 ? undefined : viewAt(step_p, dims * 8);
  return {
    type: flags & MAT_TYPE_MASK,
    sizes: Array.from({ length: dims }, (_, i) => size!.getInt32(i * 4, true)),
    steps: Array.from({ length: dims }, (_, i) => Number(step!.getBigUint64(i * 8, true))),
  };
}

function writeArrays(slot: Slot, kind: number, type: number): void {
  const { header: obj } = slot;
  const view = viewOf(slot);
  const fixed = INPUT_ARRAY_FIXED_SIZE | INPUT_ARRAY_FIXED_TYPE;
  writeInputArray(view, AT.input, { flags: kind | type | ACCESS_READ, obj, sz_width: 0, sz_height: 0 });
  writeInputArray(view, AT.output, { flags: kind | type | ACCESS_WRITE | fixed, obj, sz_width: 0, sz_height: 0 });
}

/** @throws {ArgumentError} if the address cannot be read, or is not that of a header of this kind. */
export function headerAt(address: Address, kind: "mat"): MatHeader;
export function headerAt(address: Address, kind: "umat"): UMatHeader;
export function headerAt(address: Address, kind: "mat" | "umat"): MatHeader | UMatHeader {
  const size = kind === "mat" ? Mat.size : UMat.size;
  probePages(address, size, "opencv", "handle");
  const view = viewAt(address, size);
  const header = kind === "mat" ? readMat(view, 0) : readUMat(view, 0);
  const { flags, dims, size_p, step_p } = header;
  const name = NAMES[kind];
  if ((flags & MAT_MAGIC_MASK) !== (MAT_MAGIC_VAL & MAT_MAGIC_MASK)) throw notThere(kind, "unknown");
  if (dims < 1 || dims > CV_MAX_DIM) throw noHeader(name, dims === 0 ? "it is empty" : `it has ${dims} dimensions`);
  const other = OTHER[kind];
  if (!hasGrid(view, address, kind) && hasGrid(view, address, other)) throw notThere(kind, other);
  probePages(size_p, dims * 4, "opencv", "handle");
  probePages(step_p, dims * 8, "opencv", "handle");
  const shape = shapeIn(header);
  if (shape.sizes.some((extent) => extent < 1)) throw noHeader(name, "it is empty");
  return { ...header, shape } as MatHeader | UMatHeader;
}

/** Checks that a header's memory has an owner. @throws {ArgumentError} */
export function probeOwners(u: Address, count: "refcount" | "urefcount"): void {
  probePages(u, UMatData.size, "opencv", "handle");
  const { prevAllocator, currAllocator, [count]: owners } = readUMatData(viewAt(u, UMatData.size), 0);
  const name = NAMES[count === "refcount" ? "mat" : "umat"];
  if (owners < 1 || (prevAllocator || currAllocator) === NULL) throw noHeader(name, "its memory has no owner");
}

const NAMES = { mat: "cv::Mat", umat: "cv::UMat" } as const;
const OTHER = { mat: "umat", umat: "mat" } as const;

/**
 * True if a header points to its sizes as OpenCV does for that kind of matrix. Mat and UMat begin alike, but have these
 * fields at different offsets. With two dimensions, the pointer is the address of `rows`; with more, it points behind
 * the steps, to a count.
 */
function hasGrid(view: DataView, address: Address, kind: "mat" | "umat"): boolean {
  const { dims, size_p, step_p, rows } = (kind === "mat" ? Mat : UMat).fields;
  const size = view.getBigUint64(size_p.offset, true);
  const count = view.getInt32(dims.offset, true);
  if (count <= 2) return size === address + BigInt(rows.offset);
  return size === view.getBigUint64(step_p.offset, true) + BigInt(count * 8 + 4);
}

function notThere(kind: "mat" | "umat", found: "mat" | "umat" | "unknown"): ArgumentError {
  const other = OTHER[kind];
  const what = `there is no ${NAMES[kind]} at this address${found === other ? `, but a ${NAMES[other]}` : ""}.`;
  const hint = found === other
    ? `Use cv.${other}.attach.`
    : `A ${NAMES[other]}? Use cv.${other}.attach. Pass the address of the object, not of its pixels.`;
  return wrong("handle", what, hint);
}

function noHeader(name: string, what: string): ArgumentError {
  return wrong("handle", `the ${name} cannot be used: ${what}.`);
}
