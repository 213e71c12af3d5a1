import { cudaMemcpyDefault } from "../../../ffi/cuda_runtime/constants.ts";
import { LayoutError } from "../../core/errors.ts";
import type { Grant } from "../../core/memory/grant.ts";
import { assertSameElements, runsOf } from "../../core/layout/runs.ts";
import { cudart } from "../library.ts";
import type { CudaStream, CudaUse } from "../stream.ts";
import type { CudaTensor } from "../tensor.ts";

const FN = "cudaMemcpy2DAsync";

/** One tensor's elements to another; what lies between them stays as it is. */
export function copy(stream: CudaStream, from: CudaTensor, to: CudaTensor): void {
  const uses: CudaUse[] = [
    { tensor: from, access: "read", argument: "from" },
    { tensor: to, access: "write", argument: "to" },
  ];
  stream.assertUsable(uses);
  assertSameElements(from.layout, to.layout, { api: "cuda", fn: FN, argument: "to" });
  if (overlap(from.grant, to.grant)) throw unfit(`its bytes overlap those of ${from.name}.`);
  const { length, dimensions } = runsOf([from.layout, to.layout]);
  if (dimensions.length > 1) {
    throw unfit("the elements lie in more than two dimensions of bytes.", "Copy it in parts: slice(region(…)).");
  }
  const { count, strides } = dimensions[0] ?? { count: 1, strides: [length, length] };
  if (strides.some((stride) => stride < length)) throw unfit("its rows lie inside of each other.");
  const [toPitch, fromPitch] = [BigInt(strides[1]), BigInt(strides[0])];
  const [bytes, rows] = [BigInt(length), BigInt(count)];
  const [target, source] = [to.address, from.address];
  stream.submit(
    FN,
    uses,
    [],
    (handle) =>
      count === 1
        ? cudart().cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, handle)
        : cudart().cudaMemcpy2DAsync(target, toPitch, source, fromPitch, bytes, rows, cudaMemcpyDefault, handle),
  );
  if ((from.hostHandle === undefined) !== (to.hostHandle === undefined)) stream.context.countCopied(length * count);
}

/** By their bounding ranges, as grants are judged. */
function overlap(one: Grant, other: Grant): boolean {
  return one.allocation === other.allocation && one.start < other.end && other.start < one.end;
}

function unfit(what: string, hint?: string): LayoutError {
  const fields = { api: "cuda", fn: FN, argument: "to", ...(hint === undefined ? {} : { hint }) };
  return new LayoutError(`to: ${what}`, fields);
}
