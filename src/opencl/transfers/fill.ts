import { LayoutError } from "../../core/errors.ts";
import { opencl } from "../library.ts";
import type { OpenCLQueue } from "../queue.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { type Runs, runsOf } from "../../core/layout/runs.ts";
import { type FillPattern, patternBytes } from "./pattern.ts";
import { MOST_COMMANDS, placesOf } from "./parts.ts";
import { assertUsable, type Use } from "./use.ts";

const FN = "clEnqueueFillBuffer";

/** Fills a tensor's elements; row by row, if there are gaps. */
export function fill(queue: OpenCLQueue, tensor: OpenCLTensor, pattern: FillPattern): void {
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
