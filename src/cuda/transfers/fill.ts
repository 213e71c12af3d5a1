import { shown } from "../../core/argument.ts";
import { LayoutError } from "../../core/errors.ts";
import { runsOf } from "../../core/layout/runs.ts";
import { checks } from "../check.ts";
import { cudart } from "../library.ts";
import { assertReachable } from "../reach.ts";
import type { CudaStream, CudaUse } from "../stream.ts";
import type { CudaTensor } from "../tensor.ts";

const FN = "cudaMemset2DAsync";

/** Every byte of a tensor's elements; what lies between them stays as it is. */
export function fill(stream: CudaStream, tensor: CudaTensor, byte: number): void {
  const uses: CudaUse[] = [{ tensor, access: "write", argument: "tensor" }];
  stream.assertUsable(uses);
  assertReachable(tensor, stream.context, "tensor");
  if (!Number.isInteger(byte) || byte < 0 || byte > 255) throw checks.wrong("byte", `${shown(byte)} is no byte.`);
  const { length, dimensions } = runsOf([tensor.layout]);
  if (dimensions.length > 1) {
    throw new LayoutError("tensor: its elements lie in more than two dimensions of bytes.", {
      api: "cuda",
      fn: FN,
      argument: "tensor",
      hint: "Fill it in parts: slice(region(…)).",
    });
  }
  const { count, strides } = dimensions[0] ?? { count: 1, strides: [length] };
  stream.submit(
    FN,
    uses,
    [],
    (handle) =>
      cudart().cudaMemset2DAsync(tensor.address, BigInt(strides[0]), byte, BigInt(length), BigInt(count), handle),
  );
}
