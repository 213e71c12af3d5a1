import { shown } from "../../core/argument.ts";
import { boxOf } from "../../core/device/box.ts";
import { runsOf } from "../../core/layout/runs.ts";
import { checks } from "../check.ts";
import { cudart } from "../library.ts";
import { assertReachable } from "../reach.ts";
import type { CudaStream, CudaUse } from "../stream.ts";
import { onStream } from "../stream_lane.ts";
import type { CudaTensor } from "../tensor.ts";

const FN = "cudaMemset2DAsync";

/** Sets every byte of a tensor's elements, and leaves the gaps alone. */
export function fill(stream: CudaStream, tensor: CudaTensor, byte: number): void {
  const uses: CudaUse[] = [{ tensor, access: "write", argument: "tensor" }];
  stream.assertTakes(uses);
  assertReachable(tensor, stream.context, "tensor");
  if (!Number.isInteger(byte) || byte < 0 || byte > 255) {
    throw checks.wrong("byte", `expected 0 to 255, got ${shown(byte)}.`);
  }
  const place = { api: "cuda", fn: FN, argument: "tensor" };
  const { length, rows, rowPitches: [rowPitch] } = boxOf(runsOf([tensor.layout]), 2, place);
  const { address } = tensor;
  const [pitch, width, height] = [BigInt(rowPitch || length), BigInt(length), BigInt(rows)];
  stream.submit(uses, onStream(FN, (on) => cudart().cudaMemset2DAsync(address, pitch, byte, width, height, on)));
}
