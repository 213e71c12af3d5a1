import { type Address, NULL } from "../../ffi/address.ts";
import {
  ACCESS_READ,
  ACCESS_WRITE,
  CV_MAX_DIM,
  INPUT_ARRAY_FIXED_SIZE,
  INPUT_ARRAY_FIXED_TYPE,
  INPUT_ARRAY_MAT,
  INPUT_ARRAY_UMAT,
  MAT_CONTINUOUS_FLAG,
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
  UMat,
  writeInputArray,
  writeMat,
  writeUMat,
} from "../../ffi/opencv_core/structs.ts";
import { ArgumentError } from "../core/errors.ts";
import { probePages } from "../core/probe.ts";
import { core } from "./library.ts";
import { viewAt } from "./memory.ts";
import type { MatShape } from "./shape.ts";
import { AT, type Slot } from "./slots.ts";
import { channelsIn } from "./type.ts";

/** What a Mat's and a UMat's header have in common, and where that lies in each. */
type Header = typeof Mat | typeof UMat;

/** Fills a slot in as `cv::Mat(sizes, type, data, steps)` would: a header over memory that OpenCV does not own. */
export function fillMat(slot: Slot, shape: MatShape, data: Address): void {
  const { sizes, steps } = shape;
  const pixel = steps[steps.length - 1];
  const length = steps.reduce((sum, step, i) => sum + step * (sizes[i] - 1), pixel);
  writeMat(slot.view, AT.header, {
    ...extents(slot, Mat, shape),
    data,
    datastart: data,
    dataend: data + BigInt(length) as Address,
    datalimit: data + BigInt(sizes[0] * steps[0]) as Address,
    allocator: NULL,
    u: NULL,
  });
  writeArrays(slot, INPUT_ARRAY_MAT, shape.type);
}

/** Fills a slot in as a UMat whose first element lies `offset` bytes into the buffer of `u`. */
export function fillUMat(slot: Slot, shape: MatShape, offset: number, u: Address): void {
  const usageFlags = USAGE_DEFAULT;
  const header = { ...extents(slot, UMat, shape), allocator: NULL, usageFlags, u, offset: BigInt(offset) };
  writeUMat(slot.view, AT.header, header);
  writeArrays(slot, INPUT_ARRAY_UMAT, shape.type);
}

/** Makes a slot an empty Mat or UMat, as their constructors do: for OpenCV to put a result into. */
export function fillEmpty(slot: Slot, kind: "mat" | "umat"): void {
  const none: MatShape = { type: 0, sizes: [0, 0], steps: [0, 0] };
  if (kind === "mat") fillMat(slot, none, NULL);
  else fillUMat(slot, none, 0, NULL);
}

/** What a function's output says of its array: may OpenCV give it other memory where it does not fit? */
export function setReallocation(slot: Slot, allowed: boolean): void {
  const at = AT.output + InputArray.fields.flags.offset;
  const flags = slot.view.getInt32(at, true);
  const fixed = INPUT_ARRAY_FIXED_SIZE | INPUT_ARRAY_FIXED_TYPE;
  slot.view.setInt32(at, allowed ? flags & ~fixed : flags | fixed, true);
}

/** A Mat's header, read. */
export interface MatHeader extends Mat {
  /** What it says of its elements. */
  readonly shape: MatShape;
}

/** Reads the Mat in a view. */
export function matIn(view: DataView, at: number = AT.header): MatHeader {
  const header = readMat(view, at);
  return { ...header, shape: shapeIn(header) };
}

/** A UMat's header, read. */
export interface UMatHeader extends UMat {
  /** What it says of its elements. */
  readonly shape: MatShape;
}

/** Reads the UMat in a view. */
export function umatIn(view: DataView, at: number = AT.header): UMatHeader {
  const header = readUMat(view, at);
  return { ...header, shape: shapeIn(header) };
}

/** Gives back what a header of more than two dimensions keeps outside of it. */
export function releaseGrid(slot: Slot, kind: "mat" | "umat"): void {
  const { step_p } = kind === "mat" ? readMat(slot.view, AT.header) : readUMat(slot.view, AT.header);
  if (step_p !== stepBufferOf(slot, kind === "mat" ? Mat : UMat)) core().fastFree(step_p);
}

/** The fields that both headers have. */
function extents(slot: Slot, header: Header, { type, sizes, steps }: MatShape) {
  const dims = sizes.length;
  const flat = dims <= 2;
  return {
    flags: MAT_MAGIC_VAL | type | (isContinuous(type, sizes, steps) ? MAT_CONTINUOUS_FLAG : 0),
    dims: sizes[0] === 0 ? 0 : dims,
    rows: flat ? sizes[0] : -1,
    cols: flat ? sizes[1] : -1,
    step_buf_0: flat ? BigInt(steps[0]) : 0n,
    step_buf_1: flat ? BigInt(steps[1]) : 0n,
    ...(flat ? flatGrid(slot, header) : gridOf(sizes, steps)),
  };
}

/** Two dimensions have room in the header itself: MatSize::p is `&rows`, MatStep::p is MatStep::buf. */
function flatGrid(slot: Slot, header: Header) {
  return {
    size_p: slot.header + BigInt(header.fields.rows.offset) as Address,
    step_p: stepBufferOf(slot, header),
  };
}

function stepBufferOf(slot: Slot, header: Header): Address {
  return slot.header + BigInt(header.fields.step_buf_0.offset) as Address;
}

/** More of them do not: OpenCV allocates room, and frees it where it gives the header another shape (setSize). */
function gridOf(sizes: readonly number[], steps: readonly number[]) {
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

/** OpenCV's own rule (updateContinuityFlag): no gap between rows, and as many elements as an int can count. */
function isContinuous(type: number, sizes: readonly number[], steps: readonly number[]): boolean {
  const first = sizes.findIndex((size) => size > 1);
  let elements = (first < 0 ? 1 : sizes[first]) * channelsIn(type);
  for (let i = sizes.length - 1; i > first && first >= 0; i--) {
    elements *= sizes[i];
    if (steps[i] * sizes[i] < steps[i - 1]) return false;
  }
  return elements < 2 ** 31;
}

function writeArrays(slot: Slot, kind: number, type: number): void {
  const array = { obj: slot.header, sz_width: 0, sz_height: 0 };
  writeInputArray(slot.view, AT.input, { ...array, flags: kind | type | ACCESS_READ });
  writeInputArray(slot.view, AT.output, { ...array, flags: kind | type | ACCESS_WRITE });
  setReallocation(slot, false);
}

/**
 * Reads the Mat or UMat that a program says is at an address.
 *
 * @throws {ArgumentError} where nothing can be read there, or it is none.
 */
export function headerAt(address: Address, kind: "mat"): MatHeader;
/** The same of a UMat. */
export function headerAt(address: Address, kind: "umat"): UMatHeader;
export function headerAt(address: Address, kind: "mat" | "umat"): MatHeader | UMatHeader {
  const size = kind === "mat" ? Mat.size : UMat.size;
  probePages(address, size, "opencv", "handle");
  const view = viewAt(address, size);
  const header = kind === "mat" ? readMat(view, 0) : readUMat(view, 0);
  const { flags, dims, size_p, step_p } = header;
  const name = kind === "mat" ? "cv::Mat" : "cv::UMat";
  if ((flags & MAT_MAGIC_MASK) !== (MAT_MAGIC_VAL & MAT_MAGIC_MASK)) throw noHeader(name, "it does not begin as one");
  if (dims < 1 || dims > CV_MAX_DIM) throw noHeader(name, dims === 0 ? "it is empty" : `it has ${dims} dimensions`);
  probePages(size_p, dims * 4, "opencv", "handle");
  probePages(step_p, dims * 8, "opencv", "handle");
  const shape = shapeIn(header);
  if (shape.sizes.some((extent) => extent < 1)) throw noHeader(name, "it is empty");
  return { ...header, shape } as MatHeader | UMatHeader;
}

function noHeader(name: string, what: string): ArgumentError {
  return new ArgumentError(`handle: it is no ${name} of use: ${what}.`, { api: "opencv", argument: "handle" });
}
