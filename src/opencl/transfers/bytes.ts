import { CL_TRUE } from "../../../ffi/opencl/constants.ts";
import { boxOf } from "../../core/device/box.ts";
import type { Call } from "../../core/contract.ts";
import type { Direction, HostBytes } from "../../core/device/queue.ts";
import type { Runs } from "../../core/layout/runs.ts";
import type { BufferTensor } from "../buffers/tensor.ts";
import type { ClLane } from "../lane.ts";
import { opencl } from "../library.ts";
import { partsOf, rectOf, sizes } from "./parts.ts";

export function moveBytes(
  direction: Direction,
  { rawHandle }: BufferTensor,
  host: HostBytes,
  begin: number,
): Call<ClLane> {
  const fn = direction === "read" ? "clEnqueueReadBuffer" : "clEnqueueWriteBuffer";
  const [offset, length] = [BigInt(begin), BigInt(host.bytes.length)];
  return {
    fn,
    blocks: true,
    call: ({ queue, waitCount, waitList, slot }) =>
      opencl()[fn](queue, rawHandle, CL_TRUE, offset, length, host.address, waitCount, waitList, slot),
  };
}

export function moveElements(
  direction: Direction,
  { rawHandle }: BufferTensor,
  { address }: HostBytes,
  runs: Runs,
  firsts: readonly number[],
): Call<ClLane>[] {
  const fn = direction === "read" ? "clEnqueueReadBufferRect" : "clEnqueueWriteBufferRect";
  const place = { api: "opencl", fn, argument: direction === "read" ? "from" : "to" };
  boxOf(runs, 3, place); // all of it, for the message
  return partsOf(runs, [0]).map((part) => {
    const { region, pitches } = rectOf(part.runs, place);
    const [here, there] = firsts.map((first, i) => sizes(first + part.begins[i], 0, 0));
    const call = ({ queue, waitCount, waitList, slot }: ClLane) =>
      opencl()[fn](queue, rawHandle, CL_TRUE, here, there, region, ...pitches, address, waitCount, waitList, slot);
    return { fn, blocks: true, call };
  });
}
