import { type DType, sizeOf, TYPED_ARRAYS } from "../../core/dtype.ts";
import { shown } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { bytesIn } from "../check.ts";

/** What to fill a tensor with: a value of its dtype, or several in turn; or bytes, as a typed array. */
export type FillPattern = number | bigint | readonly number[] | readonly bigint[] | ArrayBufferView;

/** What clEnqueueFillBuffer takes for a pattern's length: a power of two, up to a double16. */
const MOST_BYTES = 128;

/** The bytes of a pattern, a copy. @throws {ArgumentError} where it is of the wrong kind, size or range. */
export function patternBytes(pattern: FillPattern, dtype: DType): Uint8Array<ArrayBuffer> {
  const bytes = bytesIn(pattern)?.slice() ?? encoded(Array.isArray(pattern) ? values(pattern) : [pattern], dtype);
  const { length } = bytes;
  if (length >= 1 && length <= MOST_BYTES && Number.isInteger(Math.log2(length))) return bytes;
  throw wrong(`it has ${length} bytes; it can have 1, 2, 4, 8, 16, 32, 64 or ${MOST_BYTES}.`);
}

function values(given: readonly unknown[]): unknown[] {
  const { length } = given;
  if (length <= MOST_BYTES) return Array.from({ length }, (_, i) => given[i]);
  throw wrong(`${length} values are more than the ${MOST_BYTES} bytes that it can have.`);
}

/** The values as the dtype has them. A whole number that is out of range comes back as another. */
function encoded(given: readonly unknown[], dtype: DType): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(given.length * sizeOf(dtype));
  const elements = new TYPED_ARRAYS[dtype](bytes.buffer) as { [i: number]: number | bigint };
  const wide = elements instanceof BigUint64Array || elements instanceof BigInt64Array;
  given.forEach((value, i) => {
    if (typeof value !== "number" && typeof value !== "bigint") throw wrong(`${shown(value)} is no number.`);
    const whole = !dtype.startsWith("f");
    if (whole && typeof value === "number" && !Number.isInteger(value)) throw wrong(`${value} is no whole number.`);
    elements[i] = wide ? BigInt(value) : Number(value);
    if (whole && BigInt(elements[i]) !== BigInt(value)) throw wrong(`${value} is out of the range of ${dtype}.`);
  });
  return bytes;
}

function wrong(what: string): ArgumentError {
  return new ArgumentError(`pattern: ${what}`, { api: "opencl", fn: "clEnqueueFillBuffer", argument: "pattern" });
}
