import { cudaMemcpyDefault } from "../../../ffi/cuda_runtime/constants.ts";
import { boxOf } from "../../core/device/box.ts";
import { runsBetween } from "../../core/layout/runs.ts";
import { cudart } from "../library.ts";
import type { CudaStream, CudaUse } from "../stream.ts";
import { onStream } from "../stream_lane.ts";
import type { CudaTensor } from "../tensor.ts";

const FN = "cudaMemcpy2DAsync";

/** Copies one tensor's elements to another, and leaves the gaps alone. */
export function copy(stream: CudaStream, from: CudaTensor, to: CudaTensor): void {
  const uses: CudaUse[] = [
    { tensor: from, access: "read", argument: "from" },
    { tensor: to, access: "write", argument: "to" },
  ];
  stream.assertTakes(uses);
  const place = { api: "cuda", fn: FN, argument: "to" };
  const { length, rows, rowPitches } = boxOf(runsBetween(from, to, place), 2, place);
  const [fromPitch, toPitch] = rowPitches.map(BigInt);
  const [bytes, height] = [BigInt(length), BigInt(rows)];
  const [target, source] = [to.address, from.address];
  const call = onStream(
    FN,
    (on) =>
      rows === 1
        ? cudart().cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, on)
        : cudart().cudaMemcpy2DAsync(target, toPitch, source, fromPitch, bytes, height, cudaMemcpyDefault, on),
  );
  stream.submit(uses, call);
  if ((from.hostHandle === undefined) !== (to.hostHandle === undefined)) stream.context.countCopied(length * rows);
}
