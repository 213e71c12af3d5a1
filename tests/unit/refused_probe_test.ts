// Memory of others is probed where the kernel refuses process_vm_readv, as a sandbox and qemu's user emulation do.

import { assertEquals, assertThrows } from "@std/assert";
import type { Address } from "../../ffi/address.ts";
import { ArgumentError } from "../../src/core/errors.ts";
import { mapPages, PAGE, reservePages, unmapPages } from "../../src/core/native/blocks.ts";
import { probePages } from "../../src/core/native/foreign_addresses.ts";
import { setTap } from "../../src/core/native/library.ts";

const results: bigint[] = [];

setTap((api, functions) => {
  if (api !== "libc") return functions;
  const readv = functions.process_vm_readv as (...args: unknown[]) => bigint;
  const refused = (...args: unknown[]) => {
    const read = readv(...args.slice(0, 5), 1n); // it has no flags, so the kernel refuses this one
    results.push(read);
    return read;
  };
  return { ...functions, process_vm_readv: refused };
});

Deno.test("the first page that cannot be read is found where the kernel refuses process_vm_readv", () => {
  const pages = reservePages(8 * PAGE);
  try {
    mapPages(pages, 5 * PAGE);
    probePages(pages, 5 * PAGE);
    assertThrows(() => probePages(pages + 100n as Address, 6 * PAGE), ArgumentError, "page 5 of");
    assertThrows(() => probePages(pages + BigInt(5 * PAGE) as Address, 8), ArgumentError, "page 0 of");
    assertEquals(results, [-1n, -1n, -1n]);
  } finally {
    unmapPages(pages, 8 * PAGE);
  }
});
