/** Tensors of a second GPU as DLPack's structs, lent and taken. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, host } from "@samepage/interop";
import { CudaContext, type CudaTensor } from "@samepage/interop/cuda";
import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import { kDLCUDA, kDLCUDAHost } from "../../ffi/dlpack/constants.ts";
import { gpuTest } from "../cuda/help.ts";

const SHAPE = { shape: [2, 3], dtype: "f32" } as const;

gpuTest("DLPack: a tensor of the second GPU has its number, and comes back to that context alone", async () => {
  await using first = CudaContext.open({ ordinal: 0 });
  await using second = CudaContext.open({ ordinal: 1 });
  using tensor = second.allocate(SHAPE);
  second.stream.write(tensor, Float32Array.of(1, 2, 3, 4, 5, 6));
  const loan = toDLPack(tensor);
  assertEquals(loan.device, { type: kDLCUDA, id: 1 });
  const { message } = assertThrows(() => fromDLPack(loan.address, { contexts: [host, first] }), ArgumentError);
  assertStringIncludes(message, "contexts: the memory is of kDLCUDA, number 1, and none of them is for that.");
  {
    using same = fromDLPack(loan.handOver(), { contexts: [host, first, second] }) as CudaTensor;
    assertEquals([same.target, same.address], [second, tensor.address]);
    const seen = new Float32Array(6);
    second.stream.read(same, seen);
    assertEquals([...seen], [1, 2, 3, 4, 5, 6]);
    second.stream.fill(same, 7);
  }
  await tensor.finished();
  const seen = new Float32Array(6);
  second.stream.read(tensor, seen);
  assert(seen.every((value) => value === 7));
}, 2);

gpuTest("DLPack: pinned memory of the second GPU is taken by a context of either", async () => {
  await using first = CudaContext.open({ ordinal: 0 });
  await using second = CudaContext.open({ ordinal: 1 });
  for (const contexts of [[second], [first], [first, second]]) {
    using tensor = second.pinned.allocate(SHAPE);
    const loan = toDLPack(tensor);
    assertEquals(loan.device.type, kDLCUDAHost);
    using same = fromDLPack(loan.handOver(), { contexts }) as CudaTensor;
    assertEquals(same.address, tensor.address);
    contexts[0].stream.fill(same, 3);
    contexts[0].stream.finish();
  }
}, 2);
