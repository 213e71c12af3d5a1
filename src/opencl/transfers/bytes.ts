import { CL_TRUE } from "../../../ffi/opencl/constants.ts";
import { boxOf } from "../../core/device/box.ts";
import { LayoutError } from "../../core/errors.ts";
import { describeLayout, layout, type LayoutInit } from "../../core/layout/layout.ts";
import { assertSameElements, runsOf } from "../../core/layout/runs.ts";
import type { BaseQueue } from "../base_context.ts";
import type { BufferTensor } from "../buffers/tensor.ts";
import { checks } from "../check.ts";
import { opencl } from "../library.ts";
import { partsOf, sizes } from "./parts.ts";
import { assertUsable, runBlocking, type Use } from "./use.ts";

/** What each function does with the tensor. */
const ACCESSES = {
  clEnqueueReadBuffer: "read",
  clEnqueueWriteBuffer: "write",
  clEnqueueReadBufferRect: "read",
  clEnqueueWriteBufferRect: "write",
} as const;

/** Copies the tensor's bytes, padding included, to the program's, or the other way. */
export function moveBytes(
  queue: BaseQueue,
  fn: "clEnqueueReadBuffer" | "clEnqueueWriteBuffer",
  tensor: BufferTensor,
  bytes: ArrayBufferView,
): void {
  const use: Use = { tensor, access: ACCESSES[fn], argument: "tensor" };
  const view = checks.bytesIn(bytes, "bytes");
  assertUsable(queue, [use]);
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

/** Copies the tensor's elements to the program's bytes, laid out by `at`, or the other way. */
export function moveElements(
  queue: BaseQueue,
  fn: "clEnqueueReadBufferRect" | "clEnqueueWriteBufferRect",
  tensor: BufferTensor,
  bytes: ArrayBufferView,
  at: LayoutInit | undefined,
): void {
  const use: Use = { tensor, access: ACCESSES[fn], argument: "tensor" };
  const wanted = at === undefined ? undefined : layout(at);
  const view = checks.bytesIn(bytes, "bytes");
  assertUsable(queue, [use]);
  const { shape, dtype } = tensor.layout;
  const inHost = wanted ?? layout({ shape, dtype });
  assertSameElements(tensor.layout, inHost, { api: "opencl", fn, argument: "at" });
  const end = inHost.byteOffset + inHost.byteLength;
  if (at === undefined ? view.byteLength !== end : view.byteLength < end) {
    throw new LayoutError(`bytes: expected the ${end} bytes of ${describeLayout(inHost)}, got ${view.byteLength}.`, {
      api: "opencl",
      fn,
      argument: "bytes",
    });
  }
  const runs = runsOf([tensor.layout, inHost]);
  const place = { api: "opencl", fn, argument: "tensor" };
  boxOf(runs, 3, place); // checks everything before the first command
  for (const part of partsOf(runs, [0])) {
    const { length, rows, slices, rowPitches, slicePitches } = boxOf(part.runs, 3, place);
    const begins = [tensor.layout, inHost].map(({ byteOffset }, i) => sizes(byteOffset + part.begins[i], 0, 0));
    const copied = length * rows * slices;
    runBlocking(queue, fn, use, view, copied, ({ queue, waitCount, waitList, slot }, address) =>
      opencl()[fn](
        queue,
        tensor.rawHandle,
        CL_TRUE,
        begins[0],
        begins[1],
        sizes(length, rows, slices),
        BigInt(rowPitches[0]),
        BigInt(slicePitches[0]),
        BigInt(rowPitches[1]),
        BigInt(slicePitches[1]),
        address,
        waitCount,
        waitList,
        slot,
      ));
  }
}
