import { boxOf, type BoxPlace } from "../../core/device/box.ts";
import { runsBetween } from "../../core/layout/runs.ts";
import { opencl } from "../library.ts";
import type { Call } from "../../core/contract.ts";
import type { ClLane } from "../lane.ts";
import type { BufferTensor } from "../buffers/tensor.ts";
import { type Part, partsOf, rectOf, sizes, withOnePitch } from "./parts.ts";

const BUFFER = "clEnqueueCopyBuffer";
const RECT = "clEnqueueCopyBufferRect";
const PLACE: BoxPlace = { api: "opencl", fn: RECT, argument: "to" };

/**
 * The commands that copy one buffer's elements to another. Gaps between rows take several commands, so a failure may leave
 * a part copied.
 *
 * It uses whole buffers, never sub-buffers: PoCL 3.1 crashes when rows of a sub-buffer are copied
 * (clEnqueueCopyBufferRect).
 */
export function copyBuffer(from: BufferTensor, to: BufferTensor): Call<ClLane>[] {
  const runs = runsBetween(from, to, { api: "opencl", fn: BUFFER, argument: "to" });
  if (runs.dimensions.length > 0) boxOf(runs, 3, PLACE); // all of it, for the message
  const within = from.root.mem === to.root.mem;
  const parts = partsOf(runs, [0, 1]).flatMap((part) => within ? withOnePitch(part, RECT, "to") : [part]);
  return parts.map((part) => commandFor(from, to, part));
}

function commandFor(from: BufferTensor, to: BufferTensor, { begins, runs }: Part): Call<ClLane> {
  const offsets = [from, to].map(({ rootOffset }, i) => rootOffset + begins[i]);
  const [source, target] = [from.root.mem, to.root.mem];
  if (runs.dimensions.length === 0) {
    const [begin, end] = offsets.map(BigInt);
    const length = BigInt(runs.length);
    return {
      fn: BUFFER,
      call: ({ queue, waitCount, waitList, slot }) =>
        opencl()[BUFFER](queue, source, target, begin, end, length, waitCount, waitList, slot),
    };
  }
  const { region, pitches } = rectOf(runs, PLACE);
  const [begin, end] = offsets.map((offset) => sizes(offset, 0, 0));
  return {
    fn: RECT,
    call: ({ queue, waitCount, waitList, slot }) =>
      opencl()[RECT](queue, source, target, begin, end, region, ...pitches, waitCount, waitList, slot),
  };
}
