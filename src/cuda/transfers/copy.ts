import { cudaMemcpyDefault } from "../../../ffi/cuda_runtime/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import { boxOf } from "../../core/device/box.ts";
import type { Call } from "../../core/contract.ts";
import { type Runs, runsBetween } from "../../core/layout/runs.ts";
import { cudart } from "../library.ts";
import { onStream, type StreamLane } from "../stream_lane.ts";
import type { CudaTensor } from "../tensor.ts";

const PLACE = { api: "cuda", fn: "cudaMemcpy2DAsync", argument: "to" };

export function copyTensor(from: CudaTensor, to: CudaTensor): Call<StreamLane> {
  const isCounted = (from.hostHandle === undefined) !== (to.hostHandle === undefined);
  const count = isCounted ? (bytes: number) => from.context.countCopied(bytes) : undefined;
  return copyRows([from.address, to.address], runsBetween(from, to, PLACE), count);
}

export function copyRows(
  [source, target]: readonly Address[],
  runs: Runs,
  count?: (bytes: number) => void,
): Call<StreamLane> {
  const { length, rows, rowPitches } = boxOf(runs, 2, PLACE);
  const [fromPitch, toPitch] = rowPitches.map(BigInt);
  const [bytes, height] = [BigInt(length), BigInt(rows)];
  return onStream(rows === 1 ? "cudaMemcpyAsync" : PLACE.fn, (on) => {
    const code = rows === 1
      ? cudart().cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, on)
      : cudart().cudaMemcpy2DAsync(target, toPitch, source, fromPitch, bytes, height, cudaMemcpyDefault, on);
    if (code === 0) count?.(length * rows);
    return code;
  });
}

export function copyCall(to: Address, from: Address, byteLength: number): Call<StreamLane> {
  const size = BigInt(byteLength);
  return onStream("cudaMemcpyAsync", (on) => cudart().cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, on));
}
