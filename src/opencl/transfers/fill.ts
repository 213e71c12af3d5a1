import { assertFew } from "../../core/device/box.ts";
import type { Call } from "../../core/contract.ts";
import { type FillValue, patternIn } from "../../core/device/pattern.ts";
import { LayoutError } from "../../core/errors.ts";
import { countOf, placesOf, type Runs, runsOf } from "../../core/layout/runs.ts";
import type { BufferTensor } from "../buffers/tensor.ts";
import { checks } from "../check.ts";
import type { ClLane } from "../lane.ts";
import { opencl } from "../library.ts";

const FN = "clEnqueueFillBuffer";

export function fillBuffer(tensor: BufferTensor, value: FillValue): Call<ClLane>[] {
  const bytes = patternIn(value, tensor.layout.dtype, checks);
  const runs = runsOf([tensor.layout]);
  assertFits(tensor, runs, bytes.length);
  const [mem, size, length] = [tensor.rawHandle, BigInt(bytes.length), BigInt(runs.length)];
  return placesOf([tensor.layout.byteOffset], runs.dimensions).map(([offset]) => {
    const at = BigInt(offset);
    return {
      fn: FN,
      call: (lane) => opencl()[FN](lane.queue, mem, bytes, size, at, length, lane.waitCount, lane.waitList, lane.slot),
    };
  });
}

/** OpenCL fills whole patterns, at multiples of their size. */
function assertFits({ name, layout }: BufferTensor, { length, dimensions }: Runs, size: number): void {
  const about = { api: "opencl", fn: FN, argument: "to" };
  assertFew(countOf(dimensions), name, about);
  const steps = [length, layout.byteOffset, ...dimensions.map(({ strides }) => strides[0])];
  const odd = steps.find((step) => step % size !== 0);
  if (odd === undefined) return;
  const what = `the rows of ${name}, or their length, are not multiples of the pattern's ${size} bytes: ${odd}.`;
  throw new LayoutError(`to: ${what}`, about);
}
