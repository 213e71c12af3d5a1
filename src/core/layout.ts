import { type DType, sizeOf, TYPED_ARRAYS } from "./dtype.ts";
import { LayoutError } from "./errors.ts";

/** Where the elements of a tensor lie. All figures but `shape` are bytes, and safe integers. */
export interface Layout<D extends DType = DType> {
  /** Elements along each dimension, outermost first; an image is `[height, width, channels]`. */
  readonly shape: readonly number[];
  /** The element type. */
  readonly dtype: D;
  /** Bytes from one element to the next along each dimension. */
  readonly strides: readonly number[];
  /** Bytes from the tensor's `handle` to its first element. */
  readonly byteOffset: number;
  /** Bytes from the first element to the end of the last: the bounding range, padding between rows included. */
  readonly byteLength: number;
}

/** What a layout is made of; strides default to contiguous ones. */
export interface LayoutInit<D extends DType = DType> {
  /** Elements along each dimension, outermost first. */
  readonly shape: readonly number[];
  /** The element type. */
  readonly dtype: D;
  /** Bytes from one element to the next along each dimension. */
  readonly strides?: readonly number[];
  /** Instead of `strides`: the first dimension's stride is rounded up to a multiple of this many bytes. */
  readonly rowAlign?: number;
  /** Bytes from the handle to the first element; 0 by default. */
  readonly byteOffset?: number;
}

/**
 * Checks a layout and fills in what was left out.
 *
 * Elements may not overlap; strides and offset are multiples of the element's size.
 *
 * @throws {LayoutError} `argument` names what is wrong.
 *
 * @example
 * ```ts
 * import { layout } from "@samepage/interop";
 *
 * console.log(layout({ shape: [1080, 1920, 4], dtype: "u8" }).strides); // [ 7680, 4, 1 ]
 * console.log(layout({ shape: [3, 5], dtype: "u8", rowAlign: 64 }).byteLength); // 133
 * ```
 */
export function layout<D extends DType>(init: LayoutInit<D>): Layout<D> {
  if (!Object.hasOwn(TYPED_ARRAYS, init.dtype)) {
    throw bad("dtype", `${String(init.dtype)} is no dtype.`, `Use one of ${Object.keys(TYPED_ARRAYS).join(", ")}.`);
  }
  const size = sizeOf(init.dtype);
  if (!Array.isArray(init.shape)) throw bad("shape", "the shape must be an array of element counts.");
  const shape = init.shape.map((n, i) => whole(n, `shape[${i}]`, 1));
  const byteOffset = whole(init.byteOffset ?? 0, "byteOffset", 0);
  if (byteOffset % size !== 0) {
    throw bad("byteOffset", `${byteOffset} is not a multiple of ${init.dtype}'s ${size} bytes.`);
  }
  const strides = init.strides === undefined
    ? contiguousStrides(shape, size, init.rowAlign)
    : givenStrides(init.strides, shape, size);
  const byteLength = boundingLength(shape, strides, size);
  safe(byteOffset + byteLength, "byteOffset");
  return { shape, dtype: init.dtype, strides, byteOffset, byteLength };
}

/** True where the elements lie in order without a gap. */
export function isContiguous(l: Layout): boolean {
  let next = sizeOf(l.dtype);
  for (let i = l.shape.length - 1; i >= 0; i--) {
    if (l.shape[i] !== 1 && l.strides[i] !== next) return false;
    next *= l.shape[i];
  }
  return true;
}

/** How many elements there are. */
export function elementCount(l: Layout): number {
  return l.shape.reduce((count, n) => count * n, 1);
}

/**
 * The part of a layout that begins at element `start` and has the given shape.
 *
 * @throws {LayoutError} where the part reaches outside.
 *
 * @example
 * ```ts
 * import { layout, region } from "@samepage/interop";
 *
 * const image = layout({ shape: [1080, 1920, 4], dtype: "u8" });
 * const crop = region(image, [100, 200, 0], [64, 64, 4]);
 * console.log(crop.byteOffset, crop.strides); // 768800 [ 7680, 4, 1 ]
 * ```
 */
export function region<D extends DType>(
  l: Layout<D>,
  start: readonly number[],
  shape: readonly number[],
): Layout<D> {
  sameRank("start", start, l);
  sameRank("shape", shape, l);
  let byteOffset = l.byteOffset;
  for (let i = 0; i < l.shape.length; i++) {
    const from = whole(start[i], `start[${i}]`, 0);
    const count = whole(shape[i], `shape[${i}]`, 1);
    if (from + count > l.shape[i]) {
      throw bad(`shape[${i}]`, `${from} + ${count} elements reach past the ${l.shape[i]} of dimension ${i}.`);
    }
    byteOffset += from * l.strides[i];
  }
  return layout({ shape, dtype: l.dtype, strides: l.strides, byteOffset });
}

/** The same elements at another offset from another handle. */
export function moved<D extends DType>(l: Layout<D>, byteOffset: number): Layout<D> {
  return l.byteOffset === byteOffset ? l : { ...l, byteOffset };
}

/** `[1080,1920,4] u8`, and the strides where they are not contiguous. */
export function describeLayout(l: Layout): string {
  const plain = `[${l.shape.join(",")}] ${l.dtype}`;
  return isContiguous(l) ? plain : `${plain}, strides [${l.strides.join(",")}]`;
}

/** A whole number in `[least, 2^53)`, or a LayoutError that names the argument. */
export function whole(value: unknown, argument: string, least: number): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) {
    throw bad(argument, `${String(value)} is not a whole number below 2^53.`);
  }
  if (value < least) throw bad(argument, `${value} is less than ${least}.`);
  return value;
}

/** A LayoutError in the house's words: `argument: what is wrong`. */
function bad(argument: string, what: string, hint?: string): LayoutError {
  return new LayoutError(`${argument}: ${what}`, { api: "core", argument, ...(hint === undefined ? {} : { hint }) });
}

function safe(bytes: number, argument: string): number {
  if (!Number.isSafeInteger(bytes)) throw bad(argument, "the layout reaches past 2^53 bytes.");
  return bytes;
}

function sameRank(argument: string, given: readonly number[], l: Layout): void {
  if (given.length !== l.shape.length) {
    throw bad(argument, `${given.length} entries were given for the ${l.shape.length} dimensions of the layout.`);
  }
}

function contiguousStrides(shape: readonly number[], size: number, rowAlign = 1): number[] {
  const multiple = whole(rowAlign, "rowAlign", 1);
  if (multiple !== 1 && multiple % size !== 0) {
    throw bad("rowAlign", `${multiple} is not a multiple of the element's ${size} bytes.`);
  }
  const strides = new Array<number>(shape.length);
  let next = size;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = i === 0 ? Math.ceil(next / multiple) * multiple : next;
    next = safe(strides[i] * shape[i], `shape[${i}]`);
  }
  return strides;
}

function givenStrides(given: readonly number[], shape: readonly number[], size: number): number[] {
  if (!Array.isArray(given) || given.length !== shape.length) {
    throw bad("strides", `${shape.length} strides are needed, one for each dimension.`);
  }
  const strides = given.map((stride, i) => {
    if (whole(stride, `strides[${i}]`, 0) % size !== 0) {
      throw bad(`strides[${i}]`, `${stride} is not a multiple of the element's ${size} bytes.`);
    }
    return stride;
  });
  // From the smallest stride outwards, each dimension has to step over all that lies within it.
  const order = strides.map((_, i) => i).filter((i) => shape[i] > 1).sort((a, b) => strides[a] - strides[b]);
  let inner = size;
  for (const i of order) {
    if (strides[i] < inner) {
      throw bad(`strides[${i}]`, `${strides[i]} is less than the ${inner} bytes that one step has to cover.`);
    }
    inner = safe(strides[i] * (shape[i] - 1) + inner, `strides[${i}]`);
  }
  return strides;
}

function boundingLength(shape: readonly number[], strides: readonly number[], size: number): number {
  let length = size;
  for (let i = 0; i < shape.length; i++) length += (shape[i] - 1) * strides[i];
  return safe(length, "shape");
}
