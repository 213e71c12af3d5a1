// A GPU's memory, by the calls of a device that runs nothing: what waits for what.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, host } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { type DLPackLoan, fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import * as cu from "../../ffi/cuda_driver/constants.ts";
import * as dl from "../../ffi/dlpack/constants.ts";
import { DLManagedTensorVersioned, readDLManagedTensorVersioned } from "../../ffi/dlpack/structs.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { ARRAY, device, issued, OF_ANOTHER_DEVICE, orderingCalls, THEIRS } from "../cuda/ordering_calls.ts";
import { lacking, peer } from "./peer.ts";
import { structOf } from "./struct.ts";

const MATRIX = { shape: [2, 3], dtype: "f32" } as const;

const recorded = recordedTests(orderingCalls(cu.CU_MEMORYTYPE_DEVICE));

function test(name: string, run: (cuda: CudaContext) => void): void {
  recorded(
    name,
    () => {
      device.isIdle = true;
      using cuda = CudaContext.open();
      issued.length = 0;
      run(cuda);
      device.isIdle = true;
    },
    {},
    lacking,
  );
}

function fieldsOf({ address }: DLPackLoan): DLManagedTensorVersioned {
  return readDLManagedTensorVersioned(viewAt(address, DLManagedTensorVersioned.size, "test"), 0);
}

test("toDLPack() names the kind of CUDA's memory, and the device", (cuda) => {
  using device = cuda.allocate(MATRIX);
  using pinned = cuda.pinned.allocate(MATRIX);
  using managed = cuda.managed.allocate(MATRIX);
  for (
    const [tensor, type] of [[device, dl.kDLCUDA], [pinned, dl.kDLCUDAHost], [managed, dl.kDLCUDAManaged]] as const
  ) {
    using loan = toDLPack(tensor);
    const { device_type, device_id, data } = fieldsOf(loan);
    assertEquals([device_type, device_id, data], [type, 0, tensor.address]);
  }
});

test("toDLPack() has the consumer's stream wait for ours, and ours for the consumer's, without the host", (cuda) => {
  using tensor = cuda.allocate(MATRIX);
  cuda.stream.fill(tensor, 1);
  device.isIdle = false; // from now on, all work is in flight
  issued.length = 0;
  const loan = toDLPack(tensor, { stream: THEIRS });
  assertEquals(issued, ["record on ours", "wait on theirs"]);
  issued.length = 0;
  peer.lend_and_release(loan.handOver());
  cuda.stream.fill(tensor, 2);
  assertEquals(issued, ["record on theirs", "wait on ours", "fill on ours"]);
  device.isIdle = true;
});

test("toDLPack() makes no call of CUDA's where the same stream has the tensor again, and another stream waits", (cuda) => {
  using tensor = cuda.allocate(MATRIX);
  const turn = (stream: bigint) => peer.lend_and_release(toDLPack(tensor, { stream }).handOver());
  device.isIdle = false;
  for (let i = 0; i < 3; i++) turn(THEIRS);
  assertEquals(issued, []);
  turn(1n);
  assertEquals(issued, ["record on theirs", "wait on legacy"]);
  issued.length = 0;
  cuda.stream.fill(tensor, 2);
  assertEquals(issued, ["wait on ours", "record on legacy", "wait on ours", "fill on ours"]); // behind both
  device.isIdle = true;
});

test("a tensor's end waits for the work behind the stream of its last loan", (cuda) => {
  const tensor = cuda.allocate(MATRIX);
  for (let i = 0; i < 2; i++) peer.lend_and_release(toDLPack(tensor, { stream: THEIRS }).handOver());
  device.isIdle = false;
  tensor[Symbol.dispose]();
  assertEquals(issued, ["record on theirs", "host waits for theirs"]);
});

test("a context ends with a tensor whose release was not noticed yet", (cuda) => {
  const loan = toDLPack(cuda.allocate(MATRIX), { stream: THEIRS });
  peer.lend_and_release(loan.handOver());
  cuda[Symbol.dispose]();
  assertEquals(loan.isReleased, true);
});

test("toDLPack() without a stream has the host wait, and -1 orders nothing", (cuda) => {
  using tensor = cuda.allocate(MATRIX);
  cuda.stream.fill(tensor, 1);
  issued.length = 0;
  toDLPack(tensor)[Symbol.dispose]();
  assertEquals(issued, ["host waits for ours"]);
  cuda.stream.fill(tensor, 1);
  device.isIdle = false;
  issued.length = 0;
  toDLPack(tensor, { stream: -1 })[Symbol.dispose]();
  assertEquals(issued, []);
  device.isIdle = true;
});

test("toDLPack() takes CUDA's default stream by 1, and refuses 0 and streams of other devices", (cuda) => {
  using tensor = cuda.allocate(MATRIX);
  cuda.stream.fill(tensor, 1);
  device.isIdle = false;
  issued.length = 0;
  toDLPack(tensor, { stream: 1 })[Symbol.dispose]();
  assertEquals(issued, ["record on ours", "wait on legacy"]);
  const zero = assertThrows(() => toDLPack(tensor, { stream: 0 }), ArgumentError, "expected a stream, got 0");
  assertEquals([zero.argument, zero.hint], [
    "stream",
    "CUDA's default stream is 1, and that of each thread 2; -1 orders nothing.",
  ]);
  assertThrows(() => toDLPack(tensor, { stream: OF_ANOTHER_DEVICE }), ArgumentError, "it is of device 1");
  device.isIdle = true;
});

test("toDLPack() takes a handle again whose stream of samepage's has ended", (cuda) => {
  using tensor = cuda.allocate(MATRIX);
  const stream = cuda.createStream();
  const { handle } = stream;
  device.isIdle = false;
  cuda.stream.fill(tensor, 1);
  toDLPack(tensor, { stream: handle })[Symbol.dispose]();
  device.isIdle = true;
  stream[Symbol.dispose]();
  device.isIdle = false;
  cuda.stream.fill(tensor, 2);
  toDLPack(tensor, { stream: handle })[Symbol.dispose]();
  device.isIdle = true;
});

test("fromDLPack() takes memory of the device that the struct names, and of no other", (cuda) => {
  const contexts = [host, cuda];
  const given = { data: ARRAY, byte_offset: 64n, device_type: dl.kDLCUDA };
  using tensor = fromDLPack(structOf(given), { contexts, after: cuda.stream.fence() });
  assertEquals([tensor.target, tensor.handle, tensor.shape], [cuda, ARRAY + 64n, [2, 3]]);
  const other = assertThrows(() => fromDLPack(structOf({ ...given, device_id: 1 }), { contexts }), ArgumentError);
  assertStringIncludes(other.message, "contexts: the memory is of kDLCUDA, number 1, and none of them is for that.");
});
