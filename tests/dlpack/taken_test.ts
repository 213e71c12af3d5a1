// Memory of a producer's, as tensors of the host.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, host, type HostTensor, ledger, MapperGraph } from "@samepage/interop";
import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import { OpenCLContext } from "@samepage/interop/opencl";
import * as dl from "../../ffi/dlpack/constants.ts";
import type { Address } from "../../ffi/address.ts";
import { COUNTING, peer } from "./peer.ts";
import { DATA, type Given, HOST, structOf } from "./struct.ts";

Deno.test("fromDLPack() takes a producer's memory, and calls its deleter once, at the end", () => {
  const before = [peer.deleted(), ledger.alive] as const;
  {
    using tensor = fromDLPack(peer.produce(0n), HOST) as HostTensor<"f32">;
    assertEquals([tensor.shape, tensor.dtype, tensor.access, tensor.target], [[2, 3], "f32", "read-write", host]);
    assertEquals([...tensor.view()], [0, 1, 2, 3, 4, 5]);
    tensor.view()[5] = 50;
    using part = tensor.slice({ shape: [1], dtype: "f32", byteOffset: 20 });
    assertEquals([...part.view()], [50]);
    assertEquals(peer.deleted(), before[0]);
  }
  assertEquals([peer.deleted(), ledger.alive], [before[0] + 1, before[1]]);
});

Deno.test("fromDLPack() calls the deleter after all work on the tensor", async () => {
  const before = peer.deleted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const tensor = fromDLPack(peer.produce(0n), HOST);
  tensor.usedBy(host.signal(promise));
  const ended = tensor[Symbol.asyncDispose]();
  await new Promise((later) => setTimeout(later, 10));
  assertEquals(peer.deleted(), before);
  resolve();
  await ended;
  assertEquals(peer.deleted(), before + 1);
});

Deno.test("fromDLPack() waits for the producer's work, which is `after`", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using tensor = fromDLPack(peer.produce(0n), { ...HOST, after: host.signal(promise) }) as HostTensor<"f32">;
  assertThrows(() => tensor.view(), AccessError, "work that has not finished");
  resolve();
  await tensor.finished();
  assertEquals(tensor.view().length, 6);
});

Deno.test("fromDLPack() refuses to write where the producer allows reading only", () => {
  const before = peer.deleted();
  const address = peer.produce(dl.DLPACK_FLAG_BITMASK_READ_ONLY | 1n << 40n); // and an unknown flag
  assertThrows(() => fromDLPack(address, { ...HOST, access: "read-write" }), AccessError, "allows reading only");
  assertEquals(peer.deleted(), before); // it was not taken
  {
    using tensor = fromDLPack(address, HOST) as HostTensor;
    assertEquals(tensor.access, "read");
    assertThrows(() => tensor.view({ access: "read-write" }), AccessError);
  }
  assertEquals(peer.deleted(), before + 1);
});

Deno.test("fromDLPack() calls no deleter where it fails, and else calls it once", () => {
  const before = peer.deleted();
  for (const data of [0x10n, offset(4090)]) { // nothing is mapped there, or behind it
    assertThrows(() => fromDLPack(structOf({ data: data as Address, deleter: COUNTING }), HOST), ArgumentError);
  }
  assertEquals(peer.deleted(), before);
  fromDLPack(structOf({ deleter: COUNTING }), HOST)[Symbol.dispose]();
  assertEquals(peer.deleted(), before + 1);
});

Deno.test("fromDLPack() gives a tensor that maps to OpenCL, as any other", () => {
  using cl = OpenCLContext.open();
  using graph = new MapperGraph([host, cl]);
  const before = peer.deleted();
  {
    using tensor = fromDLPack(peer.produce(0n), HOST) as HostTensor<"f32">;
    {
      using mapped = graph.map(tensor, cl);
      cl.queue.fill(mapped, 7);
    }
    assertEquals([...tensor.view()], [7, 7, 7, 7, 7, 7]);
    const loan = toDLPack(tensor); // a loan of what was borrowed
    peer.add_versioned(loan.handOver(), 1, 20);
  }
  assertEquals(peer.deleted(), before + 1);
});

const offset = (bytes: number) => DATA + BigInt(bytes) as Address;

/** What a struct says, and the tensor: where it begins, its shape, dtype and strides. */
const LAYOUTS: readonly (readonly [what: string, given: Given, at: Address, ...layout: unknown[]])[] = [
  ["a dense matrix", {}, DATA, [2, 3], "f32", [12, 4]],
  ["no strides, which are dense", { strides: 0n as Address }, DATA, [2, 3], "f32", [12, 4]],
  ["a transposed matrix", { strides: [1, 2] }, DATA, [2, 3], "f32", [4, 8]],
  ["rows with gaps", { strides: [8, 1] }, DATA, [2, 3], "f32", [32, 4]],
  ["any stride of a dimension of 1", { shape: [1, 3], strides: [-7, 1] }, DATA, [1, 3], "f32", [12, 4]],
  ["no dimension", { shape: [], strides: [] }, DATA, [], "f32", []],
  ["bytes in front", { byte_offset: 64n }, offset(64), [2, 3], "f32", [12, 4]],
  ["bools", { code: dl.kDLBool, bits: 8 }, DATA, [2, 3], "u8", [3, 1]],
  ["complex numbers", { code: dl.kDLComplex, bits: 64 }, DATA, [2, 3, 2], "f32", [24, 8, 4]],
  ["complex doubles in lanes", { code: dl.kDLComplex, bits: 128, lanes: 2 }, DATA, [2, 3, 4], "f64", [96, 32, 8]],
  ["lanes", { code: dl.kDLUInt, bits: 8, lanes: 4 }, DATA, [2, 3, 4], "u8", [12, 4, 1]],
  ["a later minor version", { minor: 99 }, DATA, [2, 3], "f32", [12, 4]],
];

for (const [what, given, at, ...expected] of LAYOUTS) {
  for (const version of [0, 1] as const) {
    Deno.test(`fromDLPack() takes ${what} (version ${version})`, () => {
      using tensor = fromDLPack(structOf(given, version), { ...HOST, version }) as HostTensor;
      const { address, shape, dtype, layout: { strides } } = tensor;
      assertEquals([address, shape, dtype, strides], [at, ...expected]);
      assert(tensor.view().length > 0);
    });
  }
}

Deno.test("fromDLPack() of bytes that are lent for writing has them, and the lender says so", () => {
  using tensor = host.allocate({ shape: [2, 3], dtype: "f32" });
  const loan = toDLPack(tensor);
  using same = fromDLPack(loan.handOver(), HOST) as HostTensor<"f32">;
  same.view().fill(2);
  assertThrows(() => tensor.view(), AccessError, "are lent to host tensor [2,3] f32 for");
  same[Symbol.dispose]();
  assertEquals([...tensor.view()], [2, 2, 2, 2, 2, 2]);
});

Deno.test("finished() does not wait for a loan of which fromDLPack() has made a tensor, until that ends", async () => {
  using tensor = host.allocate({ shape: [2, 3], dtype: "f32" });
  const loan = toDLPack(tensor);
  const same = fromDLPack(loan.handOver(), HOST) as HostTensor<"f32">;
  await tensor.finished();
  const error = assertThrows(() => tensor.view(), AccessError, "are lent to host tensor [2,3] f32 for");
  assertEquals(error.hint, "Dispose host tensor [2,3] f32 first.");
  const { promise, resolve } = Promise.withResolvers<void>();
  same.disposeAfter(host.signal(promise));
  const finished = tensor.finished().then(() => loan.isReleased);
  resolve();
  await same[Symbol.asyncDispose]();
  assertEquals([await finished, tensor.view().length], [true, 6]);
});

Deno.test("fromDLPack() calls the deleter at the tensor's end, also beside others on the same bytes that wait for it", () => {
  const before = peer.deleted();
  const first = fromDLPack(peer.produce(0n), HOST);
  const loan = toDLPack(first, { access: "read" });
  const second = fromDLPack(loan.handOver(), HOST);
  second[Symbol.dispose]();
  assert(loan.isReleased); // or the end of the first would wait for its own
  assertEquals(peer.deleted(), before);
  first[Symbol.dispose]();
  assertEquals(peer.deleted(), before + 1);
});
