import { cudaMemcpyDefault } from "../../../ffi/cuda_runtime/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import type { Access } from "../../core/memory/access.ts";
import { LayoutError } from "../../core/errors.ts";
import { isContiguous } from "../../core/layout/layout.ts";
import { pinned } from "../../core/native/pin.ts";
import { checks } from "../check.ts";
import { cudart } from "../library.ts";
import type { CudaStream } from "../stream.ts";
import { onStream } from "../stream_lane.ts";
import type { CudaTensor } from "../tensor.ts";

const FN = "cudaMemcpyAsync";

/** Copies the tensor's bytes to the program's. */
export function read(stream: CudaStream, tensor: CudaTensor, bytes: ArrayBufferView): void {
  transfer(stream, tensor, "read", bytes, (host) => [host, tensor.address]);
}

/** Copies the program's bytes to the tensor's. */
export function write(stream: CudaStream, tensor: CudaTensor, bytes: ArrayBufferView): void {
  transfer(stream, tensor, "write", bytes, (host) => [tensor.address, host]);
}

function transfer(
  stream: CudaStream,
  tensor: CudaTensor,
  access: Access,
  bytes: ArrayBufferView,
  ends: (host: Address) => readonly [to: Address, from: Address],
): void {
  const view = checks.bytesIn(bytes, "bytes");
  const uses = [{ tensor, access, argument: "tensor" }];
  stream.assertTakes(uses);
  const { byteLength } = tensor.layout;
  if (!isContiguous(tensor.layout)) throw unfit("tensor", `${tensor.name} has gaps between its elements.`);
  if (view.byteLength !== byteLength) {
    throw unfit("bytes", `expected the ${byteLength} bytes of ${tensor.name}, got ${view.byteLength}.`);
  }
  const size = BigInt(byteLength);
  // This blocks, so the program's memory outlives the copy.
  pinned(view, "cuda", (host) => {
    const [to, from] = ends(host);
    const call = onStream(FN, (on) => cudart().cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, on));
    stream.submit(uses, call);
    stream.finish();
  });
  stream.context.countCopied(byteLength);
}

function unfit(argument: string, what: string): LayoutError {
  return new LayoutError(`${argument}: ${what}`, { api: "cuda", fn: FN, argument });
}
