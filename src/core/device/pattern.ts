import { aKind, literal } from "../argument.ts";
import { bytesIn, type Checks } from "../checks.ts";
import type { DType } from "../layout/dtype.ts";
import { encoded } from "../layout/numbers.ts";

/**
 * What memory is filled with: a value of the tensor's dtype, or several in turn; or bytes, as a typed array. An image
 * takes a colour, four numbers: red, green, blue and alpha, as kernels and shaders read them.
 */
export type FillValue = number | bigint | readonly number[] | readonly bigint[] | ArrayBufferView;

/** The longest pattern, in bytes: OpenCL's double16. A length is a power of two. */
const MAX_BYTES = 128;

/** A copy of a pattern's bytes. @throws {ArgumentError} if its kind, size or range is wrong. */
export function patternIn(value: FillValue, dtype: DType, checks: Checks): Uint8Array<ArrayBuffer> {
  const wrong = (what: string, hint?: string) => checks.wrong("value", what, hint);
  const bytes = bytesIn(value, wrong)?.slice() ??
    encoded(Array.isArray(value) ? checks.itemsIn<unknown>(value, "value") : [value], dtype, wrong);
  const { length } = bytes;
  if (length >= 1 && length <= MAX_BYTES && Number.isInteger(Math.log2(length))) return bytes;
  throw wrong(`expected 1, 2, 4, 8, 16, 32, 64 or ${MAX_BYTES} bytes, got ${length}.`);
}

/** Throws unless a row is so many whole patterns. */
export function assertRepeats(pattern: Uint8Array, rowLength: number, name: string, checks: Checks): void {
  if (rowLength % pattern.length === 0) return;
  throw checks.wrong("value", `the rows of ${name} have ${rowLength} bytes, no multiple of ${pattern.length}.`);
}

const COLOURS = {
  float: { Channels: Float32Array, of: "finite numbers", fits: (channel: number) => Number.isFinite(channel) },
  int: { Channels: Int32Array, of: "whole numbers from -2147483648 to 2147483647", fits: isWhole(-(2 ** 31), 2 ** 31) },
  uint: { Channels: Uint32Array, of: "whole numbers from 0 to 4294967295", fits: isWhole(0, 2 ** 32) },
} as const;

function isWhole(least: number, end: number): (channel: number) => boolean {
  return (channel) => Number.isInteger(channel) && channel >= least && channel < end;
}

/** The four channels of a colour, in the type by which kernels read them. @throws {ArgumentError} for anything else. */
export function colourIn(value: FillValue, checks: Checks, type: keyof typeof COLOURS): ArrayBufferView<ArrayBuffer> {
  const { Channels, of, fits } = COLOURS[type];
  const wrong = (got: unknown) =>
    checks.wrong("value", `expected four ${of}, got ${got}.`, "Pass [red, green, blue, alpha].");
  if (!Array.isArray(value)) throw wrong(aKind(value));
  const colour = checks.itemsIn<number>(value, "value");
  if (colour.length !== 4) throw wrong(colour.length);
  const odd = colour.findIndex((channel) => typeof channel !== "number" || !fits(channel));
  if (odd >= 0) throw wrong(literal(colour[odd]));
  return new Channels(colour);
}
