import { assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { AddressIndex } from "../../src/core/memory/peers.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { ledger } from "../../src/core/life/ledger.ts";

const KIND = "test.indexed";

function allocationAt(address: bigint, byteLength: number): Allocation {
  const allocation = new Allocation({ kind: KIND, address, byteLength, free: () => {} });
  ledger.remove(KIND);
  return allocation;
}

const startOf = ({ block }: Allocation) => block.address!;
const endOf = ({ block }: Allocation) => block.address! + BigInt(block.byteLength);

/** The slow reference. */
function firstOverlap(all: Iterable<Allocation>, address: bigint, byteLength: number): Allocation | undefined {
  return [...all]
    .filter((each) => startOf(each) < address + BigInt(byteLength) && address < endOf(each))
    .sort((a, b) => Number(startOf(a) - startOf(b)))[0];
}

Deno.test("lookups while thousands of blocks come and go, against a list", () => {
  // A generator of its own: fast-check's arrays are too small for chunks to split.
  let seed = 42;
  const random = (below: number) => (seed = seed * 48271 % 2147483647) % below;
  const index = new AddressIndex();
  const all = new Set<Allocation>();
  for (let i = 0; i < 12_000; i++) {
    const address = BigInt(random(100_000) * 64);
    const byteLength = 64 * (1 + random(4));
    const found = index.overlapping(address, byteLength);
    // The list is slow: it is asked now and then.
    if (i % 20 === 0) assertStrictEquals(found, firstOverlap(all, address, byteLength));
    if (found === undefined) {
      const allocation = allocationAt(address, byteLength);
      index.add(allocation);
      all.add(allocation);
    } else if (random(3) === 0) {
      index.remove(found);
      all.delete(found);
    }
  }
  for (const allocation of all) {
    assertStrictEquals(index.overlapping(startOf(allocation), 1), allocation);
    assertStrictEquals(index.overlapping(endOf(allocation) - 1n, 1), allocation);
  }
  for (const allocation of all) index.remove(allocation);
  assertEquals(index.overlapping(0n, 2 ** 40), undefined);
});

Deno.test("lookups in a few blocks, against a list", () => {
  const anyOp = fc.record({ at: fc.nat(40), count: fc.integer({ min: 1, max: 8 }), removes: fc.boolean() });
  fc.assert(
    fc.property(fc.array(anyOp, { maxLength: 40 }), (ops) => {
      const index = new AddressIndex();
      const all = new Set<Allocation>();
      for (const { at, count, removes } of ops) {
        const found = index.overlapping(BigInt(at), count);
        assertStrictEquals(found, firstOverlap(all, BigInt(at), count));
        if (found === undefined) {
          const allocation = allocationAt(BigInt(at), count);
          index.add(allocation);
          all.add(allocation);
        } else if (removes) {
          index.remove(found);
          all.delete(found);
        }
      }
    }),
    { numRuns: 2000 },
  );
});

Deno.test("what is not there is not removed, and no neighbour in its place", () => {
  const index = new AddressIndex();
  const [here, absent] = [allocationAt(64n, 64), allocationAt(64n, 64)];
  index.add(here);
  index.remove(absent);
  assertStrictEquals(index.overlapping(64n, 1), here);
});
