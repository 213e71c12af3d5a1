import { LayoutError } from "../../core/errors.ts";
import { OpenCLFence } from "../event.ts";
import { opencl } from "../library.ts";
import type { Point } from "../queues/point.ts";
import type { OpenCLQueue } from "../queue.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { type Runs, runsOf } from "../../core/layout/runs.ts";
import { type FillPattern, patternBytes } from "./pattern.ts";
import { MOST_COMMANDS, placesOf } from "./parts.ts";
import { assertUsable, recordUse, submitUse, type Use } from "./use.ts";

const FN = "clEnqueueFillBuffer";

/** Fills a tensor's elements, row by row where they are apart. */
export function fill(queue: OpenCLQueue, tensor: OpenCLTensor, pattern: FillPattern): void {
  const uses: Use[] = [{ tensor, access: "write", argument: "tensor" }];
  assertUsable(queue, uses);
  const bytes = patternBytes(pattern, tensor.layout.dtype);
  const runs = runsOf([tensor.layout]);
  assertFits(tensor, runs, bytes.length);
  let last: Point | undefined;
  try {
    for (const [offset] of placesOf([tensor.layout.byteOffset], runs.dimensions)) {
      // Row behind row, whatever the queue: the last one stands for all of them.
      using before = last && new OpenCLFence(queue.context, queue, last);
      last = submitUse(queue, FN, uses, (...rest) =>
        opencl().clEnqueueFillBuffer(
          queue.rawHandle,
          tensor.rawHandle,
          bytes,
          BigInt(bytes.length),
          BigInt(offset),
          BigInt(runs.length),
          ...rest,
        ), before);
    }
  } finally {
    if (last !== undefined) recordUse(queue, uses, last);
  }
}

/** OpenCL fills whole patterns, at multiples of their size. */
function assertFits({ name, layout }: OpenCLTensor, { length, dimensions }: Runs, size: number): void {
  const rows = dimensions.reduce((product, { count }) => product * count, 1);
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
