import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { ArgumentError } from "../../src/core/errors.ts";
import { type Address, NULL } from "../../ffi/address.ts";
import { mapPages, PAGE, unmapPages } from "../../src/core/native/blocks.ts";
import {
  countForeignMapping,
  ForeignAddresses,
  foreignAddresses,
  probeObject,
} from "../../src/core/native/foreign_addresses.ts";
import { libc } from "../../src/core/native/libc.ts";
import { mappingCount } from "../../src/core/native/mappings.ts";

const GIB = 2 ** 30;

/** A count where there are 1,280 GiB of addresses, of which the process has some in use; and how often it was asked. */
function counted(inUse: () => number = () => 0) {
  const asked = { inUse: 0 };
  const count = new ForeignAddresses({ limit: () => 1280 * GIB, inUse: () => (asked.inUse++, inUse()) });
  return { count, asked };
}

Deno.test("ForeignAddresses take() gives an eighth of all addresses, and its error says what to do", () => {
  const { count } = counted();
  count.take(100 * GIB);
  count.take(60 * GIB);
  const error = assertThrows(() => count.take(4096), ArgumentError);
  assertMatch(
    error.message,
    /memory of other processes would take 161 GiB of addresses, of the 1280 GiB that there are/,
  );
  assertMatch(error.hint!, /Dispose tensors that were received or attached/);
  assertEquals([error.api, error.fn, count.taken], ["host", "mmap", 160 * GIB]);
  count.giveBack(60 * GIB);
  count.take(4096);
});

Deno.test("ForeignAddresses take() asks the kernel now and then, and leaves half to V8, Workers and drivers", () => {
  let inUse = 641 * GIB;
  const { count, asked } = counted(() => inUse);
  for (let i = 0; i < 10; i++) count.take(GIB);
  assertEquals(asked.inUse, 0);
  const error = assertThrows(() => count.take(GIB), ArgumentError);
  assertMatch(error.message, /the process has 641 GiB of addresses in use, of the 1280 GiB/);
  inUse = 600 * GIB;
  count.take(GIB);
  assertEquals(asked.inUse, 2);
});

Deno.test("countForeignMapping() counts a mapping and its addresses, or neither", () => {
  const before = [foreignAddresses.taken, mappingCount.taken];
  const countOff = countForeignMapping(8192);
  assertEquals([foreignAddresses.taken, mappingCount.taken], [before[0] + 8192, before[1] + 1]);
  assertThrows(() => countForeignMapping(2 ** 52), ArgumentError);
  countOff();
  assertEquals([foreignAddresses.taken, mappingCount.taken], before);
});

Deno.test("probeObject() sees each time whether an object can be read, also where it ends on another page", () => {
  const pages = mapPages(NULL, 3 * PAGE);
  const at = (offset: number) => pages + BigInt(offset) as Address;
  const [inside, across] = [at(PAGE + 100), at(2 * PAGE - 100)];
  for (const object of [inside, across]) probeObject(object, 200, "test", "pointer");
  unmapPages(at(2 * PAGE), PAGE);
  probeObject(inside, 200, "test", "pointer");
  assertThrows(() => probeObject(across, 200, "test", "pointer"), ArgumentError, "page 1 of the 200 bytes");
  unmapPages(pages, 2 * PAGE);
  const error = assertThrows(() => probeObject(inside, 200, "test", "pointer"), ArgumentError, "cannot be read");
  assertEquals([error.api, error.argument], ["test", "pointer"]);
});

Deno.test("probeObject() sees every byte of an object, wherever a page ends in it", () => {
  const pages = mapPages(NULL, 2 * PAGE);
  const end = pages + BigInt(PAGE);
  unmapPages(end as Address, PAGE);
  for (const byteLength of [8, 100, 200]) {
    for (let beyond = -1; beyond <= 9; beyond++) {
      const object = end - BigInt(byteLength - beyond) as Address;
      const probe = () => probeObject(object, byteLength, "test", "pointer");
      if (beyond <= 0) probe();
      else assertThrows(probe, ArgumentError, "cannot be read", `${byteLength} bytes, ${beyond} of them not there`);
    }
  }
  unmapPages(pages, PAGE);
});

Deno.test("probeObject() accepts what lies in the C library's heap, and nothing before or behind it", () => {
  const list = Deno.readTextFileSync("/proc/self/maps");
  const start = BigInt(`0x${/^([0-9a-f]+)-.* \[heap\]$/m.exec(list)![1]}`);
  const probe = (address: bigint) => probeObject(address as Address, 200, "test", "pointer");
  const end = (libc().sbrk(0n) + BigInt(PAGE - 1)) / BigInt(PAGE) * BigInt(PAGE);
  for (const inside of [start, start + BigInt(PAGE - 100), end - 200n]) probe(inside);
  for (const outside of [1n, end - 100n, end]) assertThrows(() => probe(outside), ArgumentError, "cannot be read");
});
