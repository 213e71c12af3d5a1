import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { Fate } from "../../src/core/memory/allocation.ts";
import { ArgumentError } from "../../src/core/errors.ts";
import { LONGEST_IN_SLAB, takeFromSlab } from "../../src/core/native/blocks.ts";
import { host } from "../../src/host/mod.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

const bytesAt = (address: bigint, count: number) =>
  new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, count));

function linesOfMaps(): number {
  return Deno.readTextFileSync("/proc/self/maps").split("\n").length;
}

/** Memory of this process that is really there, in bytes. */
function resident(): number {
  return Deno.memoryUsage().rss;
}

const anyOp = fc.record({
  byteLength: fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 1, max: LONGEST_IN_SLAB })),
  frees: fc.option(fc.nat(1000)),
  fate: fc.constantFrom<Fate>("unused", "unused", "unused", "unused", "escaped", "unknown"),
});

Deno.test("slabs: blocks are zeroed, begin a page, overlap no other, and come again only where they were unused", () => {
  const kept: [bigint, bigint][] = [];
  fc.assert(
    fc.property(fc.array(anyOp, { maxLength: 150 }), (ops) => {
      const live: { start: bigint; end: bigint; free: (fate: Fate) => void }[] = [];
      for (const { byteLength, frees, fate } of ops) {
        if (frees !== null && live.length > 0) {
          const [{ start, end, free }] = live.splice(frees % live.length, 1);
          free(fate);
          if (fate !== "unused") kept.push([start, end]);
          continue;
        }
        const { address: start, free } = takeFromSlab(byteLength);
        const end = start + BigInt(byteLength);
        assertEquals(start % 4096n, 0n);
        const isApart = (from: bigint, to: bigint) => to <= start || end <= from;
        assert(live.every((other) => isApart(other.start, other.end)), "two have the same bytes");
        assert(kept.every(([from, to]) => isApart(from, to)), "what is kept for good was handed out");
        const bytes = bytesAt(start, byteLength);
        assert(bytes.every((byte) => byte === 0), "a block that is not zeroed");
        bytes.fill(0xff);
        live.push({ start, end, free });
      }
      for (const { start, end, free } of live) {
        assert(bytesAt(start, Number(end - start)).every((byte) => byte === 0xff), "somebody else wrote into a block");
        free("unused");
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test(
  "slabs: many small tensors share mappings, in whatever order they end",
  withEmptyLedger(() => {
    const count = 20_000;
    const before = linesOfMaps();
    const tensors = Array.from({ length: count }, () => host.allocate({ shape: [4096], dtype: "u8" }));
    for (let i = 0; i < count; i += 2) tensors[i][Symbol.dispose]();
    assert(linesOfMaps() - before < 500, `${linesOfMaps() - before} more mappings`);
    for (let i = 1; i < count; i += 2) tensors[i][Symbol.dispose]();
    assert(linesOfMaps() - before < 500, `${linesOfMaps() - before} more mappings`);
  }),
);

Deno.test(
  "slabs: the memory of a tensor that ends goes back to the system, though others of its mapping live",
  withEmptyLedger(() => {
    const [count, byteLength] = [2000, 65_536];
    const before = resident();
    const tensors = Array.from({ length: count }, () => host.allocate({ shape: [byteLength], dtype: "u8" }));
    for (const tensor of tensors) tensor.view().fill(1);
    const all = resident();
    assert(all - before > 0.9 * count * byteLength);
    for (let i = 0; i < count; i += 2) tensors[i][Symbol.dispose]();
    assert(all - resident() > 0.4 * count * byteLength, `${all - resident()} bytes went back`);
    for (let i = 1; i < count; i += 2) tensors[i][Symbol.dispose]();
  }),
);

Deno.test(
  "slabs: the address of a tensor that was disposed is refused, though the pages are there",
  withEmptyLedger(() => {
    const tensor = host.allocate({ shape: [10_000], dtype: "u8" });
    using neighbour = host.allocate({ shape: [10_000], dtype: "u8" });
    const { address } = tensor;
    tensor[Symbol.dispose]();
    for (const at of [address, address + 9_000n]) {
      const error = assertThrows(() => host.wrap(at, { shape: [8], dtype: "u8" }), ArgumentError, "has been disposed");
      assertEquals([error.api, error.argument], ["host", "pointer"]);
    }
    using peer = host.wrap(neighbour.address, { shape: [8], dtype: "u8" });
    assertEquals(peer.view().length, 8);
  }),
);

Deno.test(
  "slabs: a block with a view that was moved away is never handed out again",
  withEmptyLedger(async () => {
    const tensor = host.allocate({ shape: [4096], dtype: "u8" });
    const { address } = tensor;
    const moved = new Uint8Array(tensor.view().buffer.transfer());
    await warningsOf(() => tensor[Symbol.dispose]());
    moved.fill(7);
    const others = Array.from({ length: 2000 }, () => host.allocate({ shape: [4096], dtype: "u8" }));
    assert(others.every((other) => other.address !== address));
    for (const other of others) other.view().fill(1);
    assert(moved.every((byte) => byte === 7));
    for (const other of others) other[Symbol.dispose]();
  }, { quarantined: 4096 }),
);
