import { bytesIn } from "../../core/checks.ts";
import { type ArgumentError, LayoutError } from "../../core/errors.ts";
import { refused } from "../check.ts";
import { opencl } from "../library.ts";
import type { BaseQueue } from "../base_context.ts";
import type { BufferTensor } from "../buffers/tensor.ts";
import type { DType } from "../../core/layout/dtype.ts";
import { encoded } from "../../core/layout/numbers.ts";
import { countOf, placesOf, type Runs, runsOf } from "../../core/layout/runs.ts";
import { MOST_COMMANDS } from "./parts.ts";
import { assertUsable, type Use } from "./use.ts";

const FN = "clEnqueueFillBuffer";

/** A pattern to fill a tensor with: a value of its dtype, or several in turn; or bytes, as a typed array. */
export type FillPattern = number | bigint | readonly number[] | readonly bigint[] | ArrayBufferView;

/** The longest pattern of clEnqueueFillBuffer: a double16. A length is a power of two. */
const MOST_BYTES = 128;

/** Fills a tensor's elements; row by row, if there are gaps. */
export function fill(queue: BaseQueue, tensor: BufferTensor, pattern: FillPattern): void {
  const uses: Use[] = [{ tensor, access: "write", argument: "tensor" }];
  assertUsable(queue, uses);
  const bytes = patternBytes(pattern, tensor.layout.dtype);
  const runs = runsOf([tensor.layout]);
  assertFits(tensor, runs, bytes.length);
  const [mem, size, length] = [tensor.rawHandle, BigInt(bytes.length), BigInt(runs.length)];
  for (const [offset] of placesOf([tensor.layout.byteOffset], runs.dimensions)) {
    const at = BigInt(offset);
    queue.line.submit(uses, {
      fn: FN,
      call: (lane) => opencl()[FN](lane.queue, mem, bytes, size, at, length, lane.waitCount, lane.waitList, lane.slot),
    });
  }
}

/** OpenCL fills whole patterns, at multiples of their size. */
function assertFits({ name, layout }: BufferTensor, { length, dimensions }: Runs, size: number): void {
  const rows = countOf(dimensions);
  if (rows > MOST_COMMANDS) {
    throw unfit(`${name} has ${rows} rows of ${length} bytes, with gaps between them: more than ${MOST_COMMANDS}.`);
  }
  const steps = [length, layout.byteOffset, ...dimensions.map(({ strides }) => strides[0])];
  const odd = steps.find((step) => step % size !== 0);
  if (odd === undefined) return;
  throw unfit(`the rows of ${name}, or their length, are no multiples of the pattern's ${size} bytes: ${odd}.`);
}

function unfit(what: string): LayoutError {
  return new LayoutError(`tensor: ${what}`, { api: "opencl", fn: FN, argument: "tensor" });
}

/** A copy of a pattern's bytes. @throws {ArgumentError} if its kind, size or range is wrong. */
function patternBytes(pattern: FillPattern, dtype: DType): Uint8Array<ArrayBuffer> {
  const bytes = bytesIn(pattern, wrong)?.slice() ??
    encoded(Array.isArray(pattern) ? values(pattern) : [pattern], dtype, wrong);
  const { length } = bytes;
  if (length >= 1 && length <= MOST_BYTES && Number.isInteger(Math.log2(length))) return bytes;
  throw wrong(`expected 1, 2, 4, 8, 16, 32, 64 or ${MOST_BYTES} bytes, got ${length}.`);
}

function values(given: readonly unknown[]): unknown[] {
  const { length } = given;
  if (length <= MOST_BYTES) return Array.from({ length }, (_, i) => given[i]);
  throw wrong(`expected at most ${MOST_BYTES} bytes, got ${length} values.`);
}

function wrong(what: string, hint?: string): ArgumentError {
  return refused(FN, "pattern", what, hint);
}
