import { LayoutError } from "../../core/errors.ts";
import type { Grant } from "../../core/grant.ts";
import { opencl } from "../library.ts";
import type { Enqueue, OpenCLQueue } from "../queue.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { boxOf, type Runs, runsOf, sizes } from "./box.ts";
import { assertSameElements } from "./same_elements.ts";
import { assertUsable, recordUse, submitUse, type Use } from "./use.ts";

const BUFFER = "clEnqueueCopyBuffer";
const RECT = "clEnqueueCopyBufferRect";

/** One tensor's elements to another. */
export function copy(queue: OpenCLQueue, from: OpenCLTensor, to: OpenCLTensor): void {
  const uses: Use[] = [
    { tensor: from, access: "read", argument: "from" },
    { tensor: to, access: "write", argument: "to" },
  ];
  assertUsable(queue, uses);
  assertSameElements(from.layout, to.layout, "to", BUFFER);
  if (overlap(from.grant, to.grant)) {
    throw new LayoutError(`to: its bytes overlap those of ${from.name}.`, {
      api: "opencl",
      fn: BUFFER,
      argument: "to",
    });
  }
  const runs = runsOf([from.layout, to.layout]);
  const point = runs.dimensions.length === 0
    ? submitUse(queue, BUFFER, uses, copyRun(queue, from, to, runs))
    : submitUse(queue, RECT, uses, copyBox(queue, from, to, runs));
  recordUse(queue, uses, point);
}

function copyRun(queue: OpenCLQueue, from: OpenCLTensor, to: OpenCLTensor, { length }: Runs): Enqueue {
  const offsets = [from, to].map(({ layout }) => BigInt(layout.byteOffset));
  return (...rest) =>
    opencl().clEnqueueCopyBuffer(
      queue.rawHandle,
      from.rawHandle,
      to.rawHandle,
      offsets[0],
      offsets[1],
      BigInt(length),
      ...rest,
    );
}

function copyBox(queue: OpenCLQueue, from: OpenCLTensor, to: OpenCLTensor, runs: Runs): Enqueue {
  const { region, rowPitches, slicePitches } = boxOf(runs, RECT, "to");
  const origins = [from, to].map(({ layout }) => sizes([layout.byteOffset, 0, 0]));
  return (...rest) =>
    opencl().clEnqueueCopyBufferRect(
      queue.rawHandle,
      from.rawHandle,
      to.rawHandle,
      origins[0],
      origins[1],
      sizes(region),
      BigInt(rowPitches[0]),
      BigInt(slicePitches[0]),
      BigInt(rowPitches[1]),
      BigInt(slicePitches[1]),
      ...rest,
    );
}

/** By their bounding ranges, as grants are judged. */
function overlap(one: Grant, other: Grant): boolean {
  return one.allocation === other.allocation && one.start < other.end && other.start < one.end;
}
