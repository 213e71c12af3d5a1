// A GPU's memory, by the calls of a device that runs nothing: what waits for what.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, host } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { type DLPackLoan, fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import * as cu from "../../ffi/cuda_driver/constants.ts";
import * as dl from "../../ffi/dlpack/constants.ts";
import { cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import { DLManagedTensorVersioned, readDLManagedTensorVersioned } from "../../ffi/dlpack/structs.ts";
import type { Address } from "../../ffi/address.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { lacking, peer } from "./peer.ts";
import { structOf } from "./struct.ts";

const MATRIX = { shape: [2, 3], dtype: "f32" } as const;
/** Streams of other code's. */
const [THEIRS, OF_ANOTHER_DEVICE] = [0x501n, 0x502n];
/** Memory of other code's. */
const ARRAY = 0x7000_0000_0000n as Address;

const told: string[] = [];
let isIdle = true;
const on = (stream: bigint) => stream === THEIRS ? "theirs" : stream === 1n ? "legacy" : "ours";
/** A call that is told of. */
const tells = (line: (...args: bigint[]) => string) => (...args: bigint[]) => {
  told.push(line(...args));
  return 0;
};

const recorded = recordedTests({
  cuMemsetD2D32Async: tells((...args) => `fill on ${on(args[5])}`),
  cudaEventRecord: tells((_event, stream) => `record on ${on(stream)}`),
  cudaStreamWaitEvent: tells((stream) => `wait on ${on(stream)}`),
  cudaEventQuery: () => isIdle ? 0 : cudaErrorNotReady,
  cudaStreamSynchronize: tells((stream) => `host waits for ${on(stream)}`),
  cudaEventSynchronize: tells(() => "host waits for an event"),
  cuStreamGetCtx: (stream: bigint, context: BigUint64Array) => {
    context[0] = stream === OF_ANOTHER_DEVICE ? 0x1001n : 0x1000n;
    return 0;
  },
  cuStreamGetCtx_v2: (stream: bigint, context: BigUint64Array) => {
    context[0] = stream === OF_ANOTHER_DEVICE ? 0x1001n : 0x1000n;
    return 0;
  },
  cuCtxGetDevice: (device: Int32Array) => {
    device[0] = 1;
    return 0;
  },
  cuPointerGetAttribute: (out: BigUint64Array, attribute: number) => {
    if (attribute === cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE) out[0] = BigInt(cu.CU_MEMORYTYPE_DEVICE);
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) out[0] = 0n;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) out[0] = ARRAY;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE) out[0] = 4096n;
    return 0;
  },
});

function test(name: string, run: (cuda: CudaContext) => void): void {
  recorded(
    name,
    () => {
      isIdle = true;
      using cuda = CudaContext.open();
      told.length = 0;
      run(cuda);
      isIdle = true;
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
  isIdle = false; // from now on, all work is in flight
  told.length = 0;
  const loan = toDLPack(tensor, { stream: THEIRS });
  assertEquals(told, ["record on ours", "wait on theirs"]);
  told.length = 0;
  peer.lend_and_release(loan.handOver());
  cuda.stream.fill(tensor, 2);
  assertEquals(told, ["record on theirs", "wait on ours", "fill on ours"]);
  isIdle = true;
});

test("a context ends with a tensor whose release nobody has noticed", (cuda) => {
  const loan = toDLPack(cuda.allocate(MATRIX), { stream: THEIRS });
  peer.lend_and_release(loan.handOver());
  cuda[Symbol.dispose]();
  assertEquals(loan.isReleased, true);
});

test("toDLPack() without a stream has the host wait, and -1 orders nothing", (cuda) => {
  using tensor = cuda.allocate(MATRIX);
  cuda.stream.fill(tensor, 1);
  told.length = 0;
  toDLPack(tensor)[Symbol.dispose]();
  assertEquals(told, ["host waits for ours"]);
  cuda.stream.fill(tensor, 1);
  isIdle = false;
  told.length = 0;
  toDLPack(tensor, { stream: -1 })[Symbol.dispose]();
  assertEquals(told, []);
  isIdle = true;
});

test("toDLPack() takes CUDA's default stream by 1, and refuses 0 and streams of other devices", (cuda) => {
  using tensor = cuda.allocate(MATRIX);
  cuda.stream.fill(tensor, 1);
  isIdle = false;
  told.length = 0;
  toDLPack(tensor, { stream: 1 })[Symbol.dispose]();
  assertEquals(told, ["record on ours", "wait on legacy"]);
  const zero = assertThrows(() => toDLPack(tensor, { stream: 0 }), ArgumentError, "expected a stream, got 0");
  assertEquals([zero.argument, zero.hint], [
    "stream",
    "CUDA's default stream is 1, and that of each thread 2; -1 orders nothing.",
  ]);
  assertThrows(() => toDLPack(tensor, { stream: OF_ANOTHER_DEVICE }), ArgumentError, "it is of device 1");
  isIdle = true;
});

test("toDLPack() takes a handle again whose stream of samepage's has ended", (cuda) => {
  using tensor = cuda.allocate(MATRIX);
  const stream = cuda.createStream();
  const { handle } = stream;
  isIdle = false;
  cuda.stream.fill(tensor, 1);
  toDLPack(tensor, { stream: handle })[Symbol.dispose]();
  isIdle = true;
  stream[Symbol.dispose]();
  isIdle = false;
  cuda.stream.fill(tensor, 2);
  toDLPack(tensor, { stream: handle })[Symbol.dispose]();
  isIdle = true;
});

test("fromDLPack() takes memory of the device that the struct names, and of no other", (cuda) => {
  const contexts = [host, cuda];
  const given = { data: ARRAY, byte_offset: 64n, device_type: dl.kDLCUDA };
  using tensor = fromDLPack(structOf(given), { contexts, after: cuda.stream.fence() });
  assertEquals([tensor.target, tensor.handle, tensor.shape], [cuda, ARRAY + 64n, [2, 3]]);
  const other = assertThrows(() => fromDLPack(structOf({ ...given, device_id: 1 }), { contexts }), ArgumentError);
  assertStringIncludes(other.message, "contexts: the memory is of kDLCUDA, number 1, and none of them is for that.");
});
