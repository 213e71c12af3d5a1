import { CL_TRUE } from "../../../ffi/opencl/constants.ts";
import { LayoutError } from "../../core/errors.ts";
import { bytesIn } from "../check.ts";
import { opencl } from "../library.ts";
import type { OpenCLQueue } from "../queue.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { assertUsable, runBlocking, type Use } from "./use.ts";

/** Copies the tensor's bytes, padding included, to the program's. */
export function read(queue: OpenCLQueue, tensor: OpenCLTensor, bytes: ArrayBufferView): void {
  transfer(queue, "clEnqueueReadBuffer", { tensor, access: "read", argument: "tensor" }, bytes);
}

/** Copies the program's bytes to the tensor's, padding included. */
export function write(queue: OpenCLQueue, tensor: OpenCLTensor, bytes: ArrayBufferView): void {
  transfer(queue, "clEnqueueWriteBuffer", { tensor, access: "write", argument: "tensor" }, bytes);
}

function transfer(
  queue: OpenCLQueue,
  fn: "clEnqueueReadBuffer" | "clEnqueueWriteBuffer",
  use: Use,
  bytes: ArrayBufferView,
): void {
  const view = bytesIn(bytes, "bytes");
  assertUsable(queue, [use]);
  const { tensor } = use;
  const { byteOffset, byteLength } = tensor.layout;
  if (view.byteLength !== byteLength) {
    throw new LayoutError(`bytes: expected the ${byteLength} bytes of ${tensor.name}, got ${view.byteLength}.`, {
      api: "opencl",
      fn,
      argument: "bytes",
    });
  }
  const [offset, length] = [BigInt(byteOffset), BigInt(byteLength)];
  runBlocking(
    queue,
    fn,
    use,
    view,
    byteLength,
    ({ queue, waitCount, waitList, slot }, address) =>
      opencl()[fn](queue, tensor.rawHandle, CL_TRUE, offset, length, address, waitCount, waitList, slot),
  );
}
