import { aKind, literal, type Names, object, otherNames, unexpected } from "../argument.ts";
import { type DType, sizeOf, TYPED_ARRAYS } from "./dtype.ts";
import { LayoutError } from "../errors.ts";

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

/** The properties that a layout can be made of; a layout's own are among them. */
export const LAYOUT_NAMES: Names<LayoutInit & Layout> = {
  shape: true,
  dtype: true,
  strides: true,
  rowAlign: true,
  byteOffset: true,
  byteLength: true,
};

const MAX_DIMENSIONS = 32;

/**
 * Checks a layout and fills in what was left out. The result is frozen.
 *
 * Elements may not overlap. Strides and offset are in bytes, and multiples of the element's size.
 *
 * @throws {LayoutError} whose `argument` names the wrong property.
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
  return layoutIn(init, LAYOUT_NAMES);
}

/** The layout in an object that may have the properties in `names`. @see {@link layout} */
export function layoutIn<D extends DType>(init: LayoutInit<D>, names: object): Layout<D> {
  if (typeof init !== "object" || init === null) {
    throw bad("init", `expected a layout, got ${literal(init)}.`, "Pass { shape, dtype }.");
  }
  if (Array.isArray(init)) throw bad("init", `expected { shape, dtype }, got ${aKind(init)}.`);
  const others = otherNames(init, names);
  if (others !== undefined) throw bad("init", `unknown property ${others}.`, `Use ${Object.keys(names).join(", ")}.`);
  const { dtype, shape: givenShape, strides: given, rowAlign, byteOffset: givenOffset = 0 } = init;
  if (given !== undefined && rowAlign !== undefined) {
    throw bad("rowAlign", "pass either rowAlign or strides, not both.");
  }
  assertDType(dtype, "dtype");
  const size = sizeOf(dtype);
  const shape = wholes(givenShape, "shape", 1);
  const byteOffset = whole(givenOffset, "byteOffset", 0);
  if (byteOffset % size !== 0) throw bad("byteOffset", `${byteOffset} is not a multiple of ${dtype}'s ${size} bytes.`);
  const strides = given === undefined
    ? contiguousStrides(shape, size, rowAlign)
    : givenStrides(wholes(given, "strides", 0), shape, size);
  const byteLength = boundingLength(shape, strides, size);
  safe(byteOffset + byteLength, "byteOffset");
  return frozen({ shape, dtype, strides, byteOffset, byteLength });
}

/** Freezing a layout takes longer than all the rest, and programs ask for the same few again and again. */
const lately: Layout[] = [];
const MAX_LATELY = 4;

function frozen<D extends DType>(at: Layout<D>): Layout<D> {
  for (const one of lately) if (isSame(one, at)) return one as Layout<D>;
  const made = Object.freeze({ ...at, shape: Object.freeze(at.shape), strides: Object.freeze(at.strides) });
  lately.unshift(made);
  if (lately.length > MAX_LATELY) lately.pop();
  return made;
}

function isSame(a: Layout, b: Layout): boolean {
  if (a.dtype !== b.dtype || a.byteLength !== b.byteLength || a.byteOffset !== b.byteOffset) return false;
  return areSame(a.shape, b.shape) && areSame(a.strides, b.strides);
}

function areSame(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** True if the elements lie in order without gaps. @throws {LayoutError} if it is not a layout. */
export function isContiguous(l: Layout): boolean {
  return isGapless(layout(l));
}

/** The same of a layout that is known to be one, such as a tensor's. */
export function isGapless({ shape, strides, dtype }: Layout): boolean {
  return areGapless(strides, shape, sizeOf(dtype));
}

function areGapless(strides: readonly number[], shape: readonly number[], size: number): boolean {
  let next = size;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] !== 1 && strides[i] !== next) return false;
    next *= shape[i];
  }
  return true;
}

/**
 * The part of a layout that begins at element `start` and has the given shape.
 *
 * @throws {LayoutError} if the part reaches outside.
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
  init: Layout<D>,
  start: readonly number[],
  shape: readonly number[],
): Layout<D> {
  const all = layout(init);
  const first = wholes(start, "start", 0);
  const counts = wholes(shape, "shape", 1);
  sameRank("start", first, all);
  sameRank("shape", counts, all);
  let byteOffset = all.byteOffset;
  for (let i = 0; i < counts.length; i++) {
    if (first[i] + counts[i] > all.shape[i]) {
      const reach = `${first[i]} + ${counts[i]} elements reach past the ${all.shape[i]} of dimension ${i}.`;
      throw bad(`shape[${i}]`, reach);
    }
    byteOffset += first[i] * all.strides[i];
  }
  return layout({ shape: counts, dtype: all.dtype, strides: all.strides, byteOffset });
}

/** The same elements at another offset from another handle. */
export function moved<D extends DType>(l: Layout<D>, byteOffset: number): Layout<D> {
  return l.byteOffset === byteOffset ? l : Object.freeze({ ...l, byteOffset });
}

/** The layout that was described last, and its description: a program that allocates often takes the same layout. */
let described: Layout | undefined;
let description = "";

/** `[1080,1920,4] u8`, with the strides if it is not contiguous. */
export function describeLayout(l: Layout): string {
  if (l === described) return description;
  const plain = `[${l.shape.join(",")}] ${l.dtype}`;
  described = l;
  return description = isGapless(l) ? plain : `${plain}, strides [${l.strides.join(",")}]`;
}

/** Throws a LayoutError that names the argument. */
export function assertDType(value: unknown, argument: string): asserts value is DType {
  if (typeof value === "string" && Object.hasOwn(TYPED_ARRAYS, value)) return;
  const hint = `Use one of ${Object.keys(TYPED_ARRAYS).join(", ")}.`;
  throw bad(argument, `expected a dtype, got ${literal(value)}.`, hint);
}

/** Throws a LayoutError that names the argument. */
export function whole(value: unknown, argument: string, least: number): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) {
    throw bad(argument, `expected a whole number below 2^53, got ${literal(value)}.`);
  }
  if (value < least) throw bad(argument, `expected at least ${least}, got ${value}.`);
  return value;
}

export function powerOfTwo(value: unknown, argument: string): number {
  const power = whole(value, argument, 1);
  if (2 ** Math.round(Math.log2(power)) !== power) throw bad(argument, `expected a power of two, got ${power}.`);
  return power;
}

function wholes(given: unknown, argument: string, least: number): number[] {
  if (!Array.isArray(given)) throw bad(argument, `expected an array of whole numbers, got ${literal(given)}.`);
  const { length } = given;
  if (length > MAX_DIMENSIONS) throw bad(argument, `expected at most ${MAX_DIMENSIONS} dimensions, got ${length}.`);
  const copy = new Array<number>(length);
  for (let i = 0; i < length; i++) copy[i] = whole(given[i], `${argument}[${i}]`, least);
  return copy;
}

function bad(argument: string, what: string, hint?: string): LayoutError {
  return new LayoutError(`${argument}: ${what}`, { api: "core", argument, hint });
}

function safe(bytes: number, argument: string): number {
  if (!Number.isSafeInteger(bytes)) throw bad(argument, "the layout reaches past 2^53 bytes.");
  return bytes;
}

function sameRank(argument: string, given: readonly number[], l: Layout): void {
  if (given.length !== l.shape.length) {
    throw bad(argument, `expected ${l.shape.length} entries, one for each dimension, got ${given.length}.`);
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

function givenStrides(strides: number[], shape: readonly number[], size: number): number[] {
  if (strides.length !== shape.length) {
    throw bad("strides", `expected ${shape.length} strides, one for each dimension, got ${strides.length}.`);
  }
  for (let i = 0; i < strides.length; i++) {
    if (strides[i] % size !== 0) {
      const what = `${strides[i]} is not a multiple of the element's ${size} bytes.`;
      throw bad(`strides[${i}]`, what, "Strides are in bytes.");
    }
  }
  if (areGapless(strides, shape, size)) return strides; // most are
  // From the smallest stride outwards, each dimension has to step over all inner ones.
  const order = strides.map((_, i) => i).filter((i) => shape[i] > 1).sort((a, b) => strides[a] - strides[b]);
  let inner = size;
  for (const i of order) {
    if (strides[i] < inner) {
      const what = `${strides[i]} is less than the ${inner} bytes that one step has to cover.`;
      throw bad(`strides[${i}]`, what, "Strides are in bytes.");
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

/** What an API or a vendor requires of an address and a length. */
export interface AlignmentRule {
  /** Whose rule it is. */
  readonly name: string;
  /** The address has to be a multiple of this many bytes. */
  readonly address: number;
  /** The length has to be a multiple of this many bytes. */
  readonly length: number;
  /** True if breaking the rule costs speed and not correctness. */
  readonly advice: boolean;
  /** Where the rule comes from: a document, or a proof that was run. */
  readonly source: string;
}

/** How a tensor breaks a rule, if it does. */
export interface AlignmentReport {
  /** True if the tensor obeys the rule. */
  readonly ok: boolean;
  /** One sentence for each way it breaks the rule. */
  readonly problems: readonly string[];
  /** What to do; undefined if nothing is wrong. */
  readonly remedy: string | undefined;
}

/** Rules that vendors publish, as advice. What a device really does is shown by a proof of aliasing. */
export const VENDOR_RULES: { readonly [name: string]: AlignmentRule } = {
  intel: {
    name: "intel",
    address: 4096,
    length: 64,
    advice: true,
    source:
      "Intel, Getting the Most from OpenCL 1.2: How to Increase Performance by Minimizing Buffer Copies on Intel " +
      "Processor Graphics: CL_MEM_USE_HOST_PTR at a 4096-byte address, with a length that is a multiple of 64 bytes",
  },
};

/** Checks an address and a length, in bytes, against a rule. */
export function checkAlignment(address: bigint, byteLength: number, rule: AlignmentRule): AlignmentReport {
  if (typeof address !== "bigint") throw unexpected("address", "a bigint", address);
  whole(byteLength, "byteLength", 0);
  const multiple = whole(object(rule, "rule").address, "rule.address", 1);
  const lengthMultiple = whole(rule.length, "rule.length", 1);
  const problems: string[] = [];
  const off = Number(address % BigInt(multiple));
  if (off !== 0) {
    problems.push(`the address 0x${address.toString(16)} is ${off} bytes past a multiple of ${multiple}.`);
  }
  if (byteLength % lengthMultiple !== 0) {
    problems.push(`the length ${byteLength} is not a multiple of ${lengthMultiple}.`);
  }
  const remedy = `Allocate it with host.allocate({ align: ${multiple} }), which rounds the length up to 64 bytes.`;
  return { ok: problems.length === 0, problems, remedy: problems.length === 0 ? undefined : remedy };
}
