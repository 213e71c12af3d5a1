import type { DType } from "../../core/layout/dtype.ts";
import { ArgumentError } from "../../core/errors.ts";
import { NUMBERS } from "../../core/layout/numbers.ts";
import { bytesIn } from "../../core/checks.ts";

/** A pattern to fill a tensor with: a value of its dtype, or several in turn; or bytes, as a typed array. */
export type FillPattern = number | bigint | readonly number[] | readonly bigint[] | ArrayBufferView;

/** The longest pattern of clEnqueueFillBuffer: a double16. A length is a power of two. */
const MOST_BYTES = 128;

/** A copy of a pattern's bytes. @throws {ArgumentError} if its kind, size or range is wrong. */
export function patternBytes(pattern: FillPattern, dtype: DType): Uint8Array<ArrayBuffer> {
  const bytes = bytesIn(pattern, wrong)?.slice() ??
    encoded(Array.isArray(pattern) ? values(pattern) : [pattern], dtype);
  const { length } = bytes;
  if (length >= 1 && length <= MOST_BYTES && Number.isInteger(Math.log2(length))) return bytes;
  throw wrong(`expected 1, 2, 4, 8, 16, 32, 64 or ${MOST_BYTES} bytes, got ${length}.`);
}

function values(given: readonly unknown[]): unknown[] {
  const { length } = given;
  if (length <= MOST_BYTES) return Array.from({ length }, (_, i) => given[i]);
  throw wrong(`expected at most ${MOST_BYTES} bytes, got ${length} values.`);
}

/** The bytes of values of a dtype. */
function encoded(given: readonly unknown[], dtype: DType): Uint8Array<ArrayBuffer> {
  const numbers = NUMBERS[dtype];
  const bytes = new Uint8Array(given.length * numbers.size);
  const view = new DataView(bytes.buffer);
  given.forEach((value, i) => {
    const refusal = numbers.refusal(value);
    if (refusal !== undefined) throw wrong(refusal);
    numbers.write(view, i * numbers.size, value as number | bigint);
  });
  return bytes;
}

function wrong(what: string, hint?: string): ArgumentError {
  return new ArgumentError(`pattern: ${what}`, {
    api: "opencl",
    fn: "clEnqueueFillBuffer",
    argument: "pattern",
    ...(hint === undefined ? {} : { hint }),
  });
}
