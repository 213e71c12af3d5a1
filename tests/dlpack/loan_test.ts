// A tensor's bytes in the hands of a consumer that has threads of its own.

import { markAsUntransferable } from "node:worker_threads";
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  type DType,
  host,
  type HostTensor,
  ledger,
} from "@samepage/interop";
import { type DLPackLoan, fromDLPack, type FromDLPackOptions, toDLPack } from "@samepage/interop/dlpack";
import { DLManagedTensorVersioned, readDLManagedTensorVersioned } from "../../ffi/dlpack/structs.ts";
import type { Address } from "../../ffi/address.ts";
import * as dl from "../../ffi/dlpack/constants.ts";
import type { Route } from "../../src/core/graph/route.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { until } from "../conformance/bytes.ts";
import { collect } from "../gc.ts";
import { warningsOf } from "../warnings.ts";
import { peer } from "./peer.ts";

const MATRIX = { shape: [2, 3], dtype: "f32" } as const;

/** Each dtype, as DLPack names it. */
const DTYPES: readonly (readonly [dtype: DType, code: number, bits: number])[] = [
  ...[8, 16, 32, 64].map((bits) => [`u${bits}` as DType, dl.kDLUInt, bits] as const),
  ...[8, 16, 32, 64].map((bits) => [`i${bits}` as DType, dl.kDLInt, bits] as const),
  ...[16, 32, 64].map((bits) => [`f${bits}` as DType, dl.kDLFloat, bits] as const),
];

function structOf(loan: DLPackLoan) {
  const pointer = Deno.UnsafePointer.create(loan.address)!;
  const view = new DataView(Deno.UnsafePointerView.getArrayBuffer(pointer, DLManagedTensorVersioned.size + 64));
  const fields = readDLManagedTensorVersioned(view, 0);
  const numbers = (at: bigint) =>
    Array.from({ length: fields.ndim }, (_, i) => Number(view.getBigInt64(Number(at - loan.address) + 8 * i, true)));
  return { ...fields, shape: numbers(fields.shape), strides: numbers(fields.strides) };
}

Deno.test("toDLPack() describes the tensor in place", () => {
  using tensor = host.allocate({ shape: [2, 3], dtype: "i16", rowAlign: 16, byteOffset: 4 });
  using loan = toDLPack(tensor, { access: "read" });
  const { data, byte_offset, shape, strides, code, bits, lanes, device_type, device_id, flags, major } = structOf(loan);
  assertEquals([data + byte_offset, shape, strides], [tensor.address, [2, 3], [8, 1]]);
  assertEquals([code, bits, lanes, device_type, device_id], [dl.kDLInt, 16, 1, dl.kDLCPU, 0]);
  assertEquals([flags, major], [dl.DLPACK_FLAG_BITMASK_READ_ONLY, 1]);
  assertEquals(loan.device, { type: dl.kDLCPU, id: 0 });
});

Deno.test("toDLPack() flags what a map has copied", () => {
  for (const transfer of ["alias", "migrate", "copy"] as const) {
    using tensor = host.allocate(MATRIX);
    tensor.arrivedBy({ steps: [{ transfer }] } as unknown as Route); // which no driver on this machine makes by a copy
    using loan = toDLPack(tensor);
    assertEquals(structOf(loan).flags, transfer === "copy" ? dl.DLPACK_FLAG_BITMASK_IS_COPIED : 0n, transfer);
  }
});

for (const [dtype, code, bits] of DTYPES) {
  Deno.test(`toDLPack() and fromDLPack() keep ${dtype}, of no dimension too`, () => {
    for (const shape of [[], [5], [3, 1, 2]]) {
      using tensor = host.allocate({ shape, dtype });
      const loan = toDLPack(tensor, { access: "read" });
      const fields = structOf(loan);
      assertEquals([fields.code, fields.bits, fields.ndim], [code, bits, shape.length]);
      using same = fromDLPack(loan.handOver(), { contexts: [host] });
      assertEquals([same.dtype, same.shape, same.layout.strides], [dtype, shape, tensor.layout.strides]);
    }
  });
}

for (const version of [1, 0] as const) {
  Deno.test(`toDLPack() lends to another thread, which writes and releases (version ${version})`, async () => {
    const before = ledger.alive;
    {
      await using tensor = host.allocate(MATRIX);
      tensor.view().set([1, 2, 3, 4, 5, 6]);
      const stale = tensor.view();
      const loan = toDLPack(tensor, { version });
      assertEquals([stale.length, loan.isReleased], [0, false]);
      (version === 1 ? peer.add_versioned : peer.add_unversioned)(loan.handOver(), 10, 30);
      assertThrows(() => tensor.view(), AccessError, "its bytes are still lent to DLPack loan");
      assertThrows(() => toDLPack(tensor), AccessError, "loan.takeBack() if that refused it. Then await");
      await tensor.finished();
      assert(loan.isReleased);
      assertEquals([...tensor.view()], [11, 12, 13, 14, 15, 16]);
    }
    assertEquals(ledger.alive, before);
  });
}

Deno.test("a tensor's end waits for the deleter", async () => {
  const before = ledger.alive;
  const tensor = host.allocate(MATRIX);
  const loan = toDLPack(tensor);
  peer.add_versioned(loan.handOver(), 1, 30);
  tensor[Symbol.dispose]();
  assert(loan.isReleased);
  const other = host.allocate(MATRIX);
  const second = toDLPack(other);
  peer.add_versioned(second.handOver(), 1, 30);
  const ended = other[Symbol.asyncDispose]();
  second[Symbol.dispose](); // returns at once
  assertEquals(second.isReleased, false);
  await ended;
  assert(second.isReleased);
  assertEquals(ledger.alive, before);
});

Deno.test("handOver() gives the struct away once, and dispose() does nothing from then on", () => {
  using tensor = host.allocate(MATRIX);
  const loan = toDLPack(tensor);
  const address = loan.handOver();
  assertThrows(() => loan.handOver(), DisposedError, "was handed over");
  assertThrows(() => loan.address, DisposedError);
  loan[Symbol.dispose]();
  assertEquals([loan.isReleased, `${loan}`], [false, "DLPack loan of host tensor [2,3] f32 (handed over)"]);
  peer.lend_and_release(address);
  assertEquals([loan.isReleased, `${loan}`], [true, "DLPack loan of host tensor [2,3] f32 (released)"]);
  tensor.view(); // at once, without a timer
});

Deno.test("takeBack() ends a loan whose consumer has refused the struct", () => {
  const before = ledger.alive;
  {
    using tensor = host.allocate(MATRIX);
    const loan = toDLPack(tensor);
    const address = loan.handOver();
    assertThrows(() => fromDLPack(address, { contexts: [] }), ArgumentError);
    assertThrows(() => tensor.view(), AccessError);
    for (let i = 0; i < 2; i++) loan.takeBack(); // idempotent
    assertEquals([loan.isReleased, tensor.view().length], [true, 6]);
    const other = toDLPack(tensor);
    other.takeBack(); // that was never handed over
    const third = toDLPack(tensor);
    peer.lend_and_release(third.handOver());
    tensor.view();
    third.takeBack(); // that was released, and whose memory may be another's
  }
  assertEquals(ledger.alive, before);
});

Deno.test("fromDLPack() that refuses a loan's struct says how to take it back, and so does a blocking end", async () => {
  const before = ledger.alive;
  const refusals = [{ contexts: [] }, { contexts: [host], version: 0 }, {}] as FromDLPackOptions[];
  for (const options of refusals) {
    const tensor = host.allocate(MATRIX);
    const loan = toDLPack(tensor);
    const address = loan.handOver();
    const refusal = assertThrows(() => fromDLPack(address, options), ArgumentError);
    assert(refusal.hint?.endsWith("call loan.takeBack()."), refusal.hint);
    assert(refusal.message.endsWith(`${refusal.hint}`), refusal.message);
    const error = assertThrows(() => tensor[Symbol.dispose](), AccessError, "fromDLPack() has refused it");
    assert(error.hint?.endsWith("call loan.takeBack()."), error.hint);
    loan.takeBack(); // the end goes on in the background
    await until(() => tensor.resource.state === "freed");
  }
  assertEquals(ledger.alive, before);
});

Deno.test("a refusal is forgotten once the struct is taken, and once the loan has ended", () => {
  for (const end of ["taken", "released"] as const) {
    const tensor = host.allocate(MATRIX);
    const address = toDLPack(tensor).handOver();
    assertThrows(() => fromDLPack(address, { contexts: [] }), ArgumentError);
    if (end === "taken") fromDLPack(address, { contexts: [host] })[Symbol.dispose]();
    else peer.lend_and_release(address);
    tensor.view();
    const again = toDLPack(tensor).handOver();
    assertEquals(again, address, "the next loan lies elsewhere, and proves nothing");
    peer.add_versioned(again, 1, 30);
    tensor[Symbol.dispose](); // waits for the thread
  }
});

Deno.test("a blocking end that waits for a tensor here is refused, and names that", async () => {
  const tensor = host.allocate(MATRIX);
  const back = writableOf(toDLPack(tensor, { access: "read" }).handOver());
  const error = assertThrows(() => tensor[Symbol.dispose](), AccessError, "has made a tensor of it");
  assertEquals(error.hint, "Dispose that tensor: its end calls the deleter.");
  back[Symbol.dispose]();
  await until(() => tensor.resource.state === "freed");
});

Deno.test("dispose() gives back what nobody has taken over", () => {
  const before = ledger.alive;
  {
    using tensor = host.allocate(MATRIX);
    const loan = toDLPack(tensor);
    assertThrows(() => tensor.view(), AccessError, "lent to its DLPack loan");
    loan[Symbol.dispose]();
    assertEquals(loan.isReleased, true);
    assertThrows(() => loan.handOver(), DisposedError);
    tensor.view();
  }
  assertEquals(ledger.alive, before);
});

Deno.test("a tensor's end ends a loan that no consumer has taken over", () => {
  const tensor = host.allocate(MATRIX);
  const loan = toDLPack(tensor);
  tensor[Symbol.dispose]();
  assertEquals(loan.isReleased, true);
});

Deno.test("a loan that is forgotten before it is handed over is reported, and ended", async () => {
  using tensor = host.allocate(MATRIX);
  const warnings = await warningsOf(async () => {
    (() => void toDLPack(tensor))();
    await new Promise((resolve) => setTimeout(resolve));
    await collect();
  });
  assertEquals(warnings.length, 1);
  assert(warnings[0].includes("DLPack loan of host tensor [2,3] f32 was never disposed"), warnings[0]);
  tensor.view();
});

Deno.test("a loan keeps its tensor until it is handed over", async () => {
  const loan = (() => toDLPack(host.allocate(MATRIX), { access: "read" }))();
  const warnings = await warningsOf(collect);
  assertEquals(warnings, []);
  const tensor = fromDLPack(loan.handOver(), { contexts: [host] });
  await warningsOf(collect);
  tensor[Symbol.dispose]();
  assert(loan.isReleased);
});

Deno.test("readers share the bytes, and those that have released pile up nowhere", () => {
  using tensor = host.allocate(MATRIX);
  const loans = Array.from({ length: 10 }, () => toDLPack(tensor, { access: "read" }));
  tensor.view({ access: "read" });
  const flags = () => ledger.alive["native.flag"] ?? 0;
  const all = flags();
  for (const loan of loans) peer.lend_and_release(loan.handOver());
  using _another = toDLPack(tensor, { access: "read" });
  assertEquals(flags(), all - 10 + 1);
});

Deno.test("a consumer that never deletes is found in the ledger", () => {
  const tensor = host.allocate(MATRIX);
  const before = ledger.alive["native.flag"] ?? 0;
  const address = toDLPack(tensor).handOver();
  assertEquals(ledger.alive["native.flag"], before + 1);
  peer.lend_and_release(address);
  tensor[Symbol.dispose]();
});

Deno.test("toDLPack() waits for work in flight, and refuses what waits for a promise", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using tensor = host.allocate(MATRIX);
  tensor.usedBy(host.signal(promise));
  assertThrows(() => toDLPack(tensor), AccessError, "could never end");
  resolve();
  await promise;
  await tensor.finished();
  toDLPack(tensor)[Symbol.dispose]();
});

Deno.test("toDLPack() lends a part", () => {
  using tensor = host.allocate({ shape: [4, 8], dtype: "f32" });
  using part = tensor.slice({ shape: [2, 3], dtype: "f32", strides: [32, 4], byteOffset: 40 });
  const loan = toDLPack(part);
  const { strides, data } = structOf(loan);
  assertEquals([strides, data], [[8, 1], tensor.address + 40n]);
  assertThrows(() => tensor.view(), AccessError);
  loan[Symbol.dispose]();
});

Deno.test("tensors that came back from one loan wait for each other's work, and are judged together", async () => {
  using tensor = host.allocate(MATRIX);
  const { address } = tensor;
  const loan = toDLPack(tensor);
  const one = fromDLPack(loan.handOver(), { contexts: [host] }) as HostTensor;
  using other = host.wrap(address, MATRIX); // as an array of the consumer's would be
  const { promise, resolve } = Promise.withResolvers<void>();
  one.usedBy(host.signal(promise));
  assertThrows(() => other.view(), AccessError, "work that has not finished");
  resolve();
  await one.finished();
  {
    using part = one.slice({ shape: [1], dtype: "f32" });
    assertThrows(() => other.view(), AccessError, "are lent to its slice");
    part.view();
  }
  other.view();
  one[Symbol.dispose]();
  assert(loan.isReleased);
  assertThrows(() => tensor.view(), AccessError, "are lent to host tensor"); // by the other one
});

Deno.test("toDLPack() that cannot revoke a view lends nothing", async () => {
  const { alive } = ledger;
  const tensor = host.allocate(MATRIX);
  const peer = host.wrap(tensor.address, MATRIX);
  await warningsOf(() => {
    markAsUntransferable(peer.view().buffer);
    assertThrows(() => toDLPack(tensor), AccessError, "cannot be taken away");
    assertEquals(tensor.grant.state, "live");
    assertThrows(() => peer[Symbol.dispose](), AccessError, "cannot be taken away");
    tensor[Symbol.dispose]();
  });
  assertEquals(ledger.alive, alive);
});

Deno.test("what comes back from a loan whose lender is ending is refused, and keeps nothing", async () => {
  const before = ledger.alive;
  const tensor = host.allocate({ ...MATRIX, sharable: true });
  const { address } = tensor;
  const fd = tensor.exportFd();
  const struct = toDLPack(tensor).handOver();
  const ended = tensor[Symbol.asyncDispose]();
  assertThrows(() => host.wrap(address, MATRIX), DisposedError);
  assertThrows(() => host.attach(fd, MATRIX), DisposedError);
  closeFd(fd);
  assertThrows(() => fromDLPack(struct, { contexts: [host] }), DisposedError);
  peer.add_versioned(struct, 1, 0);
  await ended;
  assertEquals(ledger.alive, before);
});

Deno.test("fromDLPack() of a loan borrows beside it, within its access and its range", async () => {
  let released = 0;
  const memory = new Float32Array(8);
  const handle = Deno.UnsafePointer.value(Deno.UnsafePointer.of(memory)) as Address;
  const place = { handle, byteOffset: 0, memory: "host" } as const;
  const tensor = host.arrays.attach(place, { shape: [8], dtype: "f32" }, { owner: () => released++ }) as HostTensor;
  {
    using part = tensor.slice({ shape: [4], dtype: "f32" });
    using back = fromDLPack(toDLPack(part).handOver(), { contexts: [host] }) as HostTensor<"f32">;
    back.view().fill(7);
    assertThrows(() => part.view(), AccessError, "lent to");
    using beyond = host.wrap(handle, { shape: [8], dtype: "f32" });
    assertThrows(() => beyond.view(), AccessError);
  }
  {
    const read = () => fromDLPack(toDLPack(tensor, { access: "read" }).handOver(), { contexts: [host] }) as HostTensor;
    using one = read();
    using other = read();
    assertEquals([one.access, one.view({ access: "read" })[3], other.view({ access: "read" })[4]], ["read", 7, 0]);
  }
  assertEquals([...tensor.view()], [7, 7, 7, 7, 0, 0, 0, 0]);
  await tensor[Symbol.asyncDispose]();
  assertEquals(released, 1);
});

Deno.test("finished() does not wait for a loan for reading that a tensor here keeps, which came back for writing", async () => {
  using tensor = host.allocate(MATRIX);
  using part = tensor.slice({ shape: [2], dtype: "f32" }, { access: "read" });
  for (const lent of [tensor, part]) {
    const back = writableOf(toDLPack(lent, { access: "read" }).handOver());
    assertEquals(back.access, "read-write");
    await Promise.all([lent.finished(), back.finished()]);
    assertThrows(() => back.view(), AccessError, "are lent to");
    back[Symbol.dispose]();
    await tensor.finished();
  }
  part[Symbol.dispose]();
  tensor.view().fill(1);
});

Deno.test("finished() does not wait for the end of a part whose loan a tensor here keeps", async () => {
  using tensor = host.allocate(MATRIX);
  const part = tensor.slice({ shape: [6], dtype: "f32" }, { access: "read" });
  const inner = part.slice({ shape: [4], dtype: "f32" });
  const back = writableOf(toDLPack(inner, { access: "read" }).handOver());
  const other = toDLPack(tensor, { access: "read" });
  const struct = other.handOver();
  const ended = part[Symbol.asyncDispose](); // a blocking end that is refused goes on in the same way
  peer.add_versioned(struct, 0, 10);
  await Promise.all([tensor.finished(), back.finished()]);
  assert(other.isReleased);
  const error = assertThrows(() => tensor.view(), AccessError, "lent to host tensor");
  assertEquals(error.hint, `Dispose ${back.name} first.`);
  back[Symbol.dispose]();
  await Promise.all([tensor.finished(), ended]);
  tensor.view().fill(1);
});

/** A tensor of a struct that a consumer hands on for writing, as PyTorch does: it has no tensors that can be read alone. */
function writableOf(struct: Address): HostTensor<"f32"> {
  const at = BigInt(DLManagedTensorVersioned.fields.flags.offset);
  new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(struct + at)!, 8)).fill(0);
  return fromDLPack(struct, { contexts: [host] }) as HostTensor<"f32">;
}
