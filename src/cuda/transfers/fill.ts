import type { CUstream } from "../../../ffi/cuda_driver/handles.ts";
import { boxOf } from "../../core/device/box.ts";
import type { Call } from "../../core/contract.ts";
import { assertRepeats, type FillValue, patternIn } from "../../core/device/pattern.ts";
import { runsOf } from "../../core/layout/runs.ts";
import { checks } from "../check.ts";
import { cudaDriver, cudart } from "../library.ts";
import { onStream, type StreamLane } from "../stream_lane.ts";
import type { CudaTensor } from "../tensor.ts";

export function fillTensor(tensor: CudaTensor, value: FillValue): Call<StreamLane> {
  const pattern = patternIn(value, tensor.layout.dtype, checks);
  const word = shortest(pattern);
  if (word.length > 4) {
    throw checks.wrong(
      "value",
      "CUDA fills with 4 bytes, and these repeat only after more.",
      "Write it: stream.write().",
    );
  }
  const place = { api: "cuda", fn: "cudaMemset2DAsync", argument: "to" };
  const { length, rows, rowPitches: [rowPitch] } = boxOf(runsOf([tensor.layout]), 2, place);
  assertRepeats(pattern, length, tensor.name, checks);
  const { address } = tensor;
  const [pitch, width, height] = [BigInt(rowPitch || length), BigInt(length / word.length), BigInt(rows)];
  const number = word.reduceRight((all, byte) => all * 256 + byte, 0);
  if (word.length === 1) {
    return onStream(place.fn, (on) => cudart().cudaMemset2DAsync(address, pitch, number, width, height, on));
  }
  const fn = word.length === 2 ? "cuMemsetD2D16Async" : "cuMemsetD2D32Async";
  return onStream(fn, (on) => cudaDriver()[fn](address, pitch, number, width, height, on as bigint as CUstream));
}

/** The shortest part whose repetition is a pattern. The pattern's length is a power of two. */
function shortest(pattern: Uint8Array): Uint8Array {
  const half = pattern.length / 2;
  return half >= 1 && pattern.every((byte, i) => byte === pattern[i % half])
    ? shortest(pattern.subarray(0, half))
    : pattern;
}
