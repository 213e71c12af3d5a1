import { CL_TRUE } from "../../../ffi/opencl/constants.ts";
import { boxOf } from "../../core/device/box.ts";
import { LayoutError } from "../../core/errors.ts";
import { describeLayout, layout, type LayoutInit } from "../../core/layout/layout.ts";
import { assertSameElements, runsOf } from "../../core/layout/runs.ts";
import { bytesIn } from "../check.ts";
import { opencl } from "../library.ts";
import type { OpenCLQueue } from "../queue.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { partsOf, sizes } from "./parts.ts";
import { assertUsable, runBlocking, type Use } from "./use.ts";

/** Copies the tensor's elements to the program's bytes, laid out by `at`. */
export function readRect(queue: OpenCLQueue, tensor: OpenCLTensor, bytes: ArrayBufferView, at?: LayoutInit): void {
  transfer(queue, "clEnqueueReadBufferRect", { tensor, access: "read", argument: "tensor" }, bytes, at);
}

/** Copies elements from the program's bytes, laid out by `at`, to the tensor's. */
export function writeRect(queue: OpenCLQueue, tensor: OpenCLTensor, bytes: ArrayBufferView, at?: LayoutInit): void {
  transfer(queue, "clEnqueueWriteBufferRect", { tensor, access: "write", argument: "tensor" }, bytes, at);
}

function transfer(
  queue: OpenCLQueue,
  fn: "clEnqueueReadBufferRect" | "clEnqueueWriteBufferRect",
  use: Use,
  bytes: ArrayBufferView,
  at: LayoutInit | undefined,
): void {
  const wanted = at === undefined ? undefined : layout(at);
  const view = bytesIn(bytes, "bytes");
  assertUsable(queue, [use]);
  const { tensor } = use;
  const { shape, dtype } = tensor.layout;
  const inHost = wanted ?? layout({ shape, dtype });
  assertSameElements(tensor.layout, inHost, { api: "opencl", fn: fn, argument: "at" });
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
