import { shown } from "../argument.ts";
import { bytesIn, type Checks } from "../checks.ts";
import type { DType } from "../layout/dtype.ts";
import { encoded } from "../layout/numbers.ts";

/**
 * What memory is filled with: a value of the tensor's dtype, or several in turn; or bytes, as a typed array. An image takes
 * a colour, four numbers: red, green, blue and alpha, as kernels and shaders read them.
 */
export type FillValue = number | bigint | readonly number[] | readonly bigint[] | ArrayBufferView;

/** The longest pattern, in bytes: OpenCL's double16. A length is a power of two. */
const MOST_BYTES = 128;

/** A copy of a pattern's bytes. @throws {ArgumentError} if its kind, size or range is wrong. */
export function patternIn(value: FillValue, dtype: DType, checks: Checks): Uint8Array<ArrayBuffer> {
  const wrong = (what: string, hint?: string) => checks.wrong("value", what, hint);
  const bytes = bytesIn(value, wrong)?.slice() ??
    encoded(Array.isArray(value) ? checks.itemsIn<unknown>(value, "value") : [value], dtype, wrong);
  const { length } = bytes;
  if (length >= 1 && length <= MOST_BYTES && Number.isInteger(Math.log2(length))) return bytes;
  throw wrong(`expected 1, 2, 4, 8, 16, 32, 64 or ${MOST_BYTES} bytes, got ${length}.`);
}

const COLOURS = {
  float: { Channels: Float32Array, least: -Infinity, most: Infinity },
  int: { Channels: Int32Array, least: -(2 ** 31), most: 2 ** 31 - 1 },
  uint: { Channels: Uint32Array, least: 0, most: 2 ** 32 - 1 },
} as const;

/** The four channels of a colour, in the type by which kernels read them. @throws {ArgumentError} for anything else. */
export function colourIn(value: FillValue, checks: Checks, type: keyof typeof COLOURS): ArrayBufferView<ArrayBuffer> {
  const { Channels, least, most } = COLOURS[type];
  const colour = Array.isArray(value) ? checks.itemsIn<number>(value, "value") : [];
  const fits = (channel: unknown) =>
    typeof channel === "number" && channel >= least && channel <= most &&
    (type === "float" || Number.isInteger(channel));
  if (colour.length === 4 && colour.every(fits)) return new Channels(colour);
  const what = `expected four numbers (red, green, blue, alpha) from ${least} to ${most}, got ${shown(value)}.`;
  throw checks.wrong("value", what);
}
