// What rooms of other frameworks have in common: loans of memory, spare objects, and what is known of recent frames.

import { assertEquals, assertThrows } from "@std/assert";
import { host } from "@samepage/interop";
import type { Address } from "../../ffi/address.ts";
import { Spares } from "../../src/core/life/spares.ts";
import { NativeLoans } from "../../src/core/tensors/native_loans.ts";
import { withEmptyLedger } from "./ledger.ts";

/** Calls the function of C as the library's thread would. */
function call(callback: bigint, data: bigint): void {
  const type = { parameters: ["u64"], result: "void" } as const;
  new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof type>(callback)!, type).call(data);
}

Deno.test(
  "a loan lasts until its block's function is called",
  withEmptyLedger(() => {
    const loans = new NativeLoans("A library");
    using tensor = host.allocate({ shape: [16], dtype: "u8" });
    const { object: [block], flags: [flag] } = loans.lend(tensor, (blocks) => blocks);
    assertEquals([block.planes, loans.has(block.data), flag.isSet()], [tensor.described.planes, true, false]);
    call(block.callback, block.data);
    assertEquals([loans.has(block.data), flag.isSet()], [false, true]);
    flag[Symbol.dispose]();
  }),
);

Deno.test(
  "a second loan of the same memory does not wait for the first",
  withEmptyLedger(() => {
    const loans = new NativeLoans("A library");
    using tensor = host.allocate({ shape: [16], dtype: "u8" });
    const given = [1, 2].map(() => {
      const { object: [block], flags: [flag] } = loans.lend(tensor, (blocks) => blocks);
      tensor.resource.usedBy(flag.fence());
      return { ...block, flag };
    });
    for (const { callback, data, flag } of given) {
      call(callback, data);
      flag[Symbol.dispose]();
    }
  }),
);

Deno.test(
  "where no object is made, nothing stays lent",
  withEmptyLedger(() => {
    const loans = new NativeLoans("A library");
    using tensor = host.allocate({ shape: [16], dtype: "u8" });
    let lent = 0n;
    const make = () =>
      loans.lend(tensor, ([{ data }]) => {
        lent = data;
        throw new Error("no memory");
      });
    assertThrows(make, Error, "no memory");
    assertEquals(loans.has(lent as Address), false);
  }),
);

Deno.test("spare objects are used again, and what comes back after the end is freed", () => {
  const [made, cleared, ended]: number[][] = [[], [], []];
  const spares = new Spares(() => made.push(1), (one) => cleared.push(one), (one) => ended.push(one));
  const one = spares.take();
  spares.give(one);
  assertEquals([spares.take(), made.length, cleared, ended], [one, 1, [one], []]);
  spares.free();
  spares.give(one);
  assertEquals(ended, [one]);
});
