// What rooms of other frameworks have in common: loans of memory, spare objects, and what is known of recent frames.

import { assertEquals, assertThrows } from "@std/assert";
import { host, ledger, MapperGraph } from "@samepage/interop";
import type { Address } from "../../ffi/address.ts";
import { Spares } from "../../src/core/life/spares.ts";
import { NativeLoans } from "../../src/core/tensors/native_loans.ts";
import { until } from "../conformance/bytes.ts";
import { withEmptyLedger } from "./ledger.ts";

/** The memory of a flag that C has set is freed soon, and not at once. */
const noFlag = () => until(() => ledger.alive["native.flag"] === undefined);

/** Calls the function of C as the library's thread would. */
function call(callback: bigint, data: bigint): void {
  const type = { parameters: ["u64"], result: "void" } as const;
  new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof type>(callback)!, type).call(data);
}

Deno.test(
  "a loan lasts until its block's function is called",
  withEmptyLedger(async () => {
    const loans = new NativeLoans("A library");
    using tensor = host.allocate({ shape: [16], dtype: "u8" });
    const block = loans.untilLetGo(tensor, (access) => loans.lend(tensor, access, ([one]) => one));
    assertEquals([block.planes, loans.has(block.data), tensor.work.length], [tensor.described.planes, true, 1]);
    call(block.callback, block.data);
    assertEquals([loans.has(block.data), tensor.resource.busy], [false, false]);
    await noFlag();
  }),
);

Deno.test(
  "a second loan of the same memory does not wait for the first",
  withEmptyLedger(async () => {
    const loans = new NativeLoans("A library");
    using tensor = host.allocate({ shape: [16], dtype: "u8" });
    const given = [1, 2].map(() => {
      return loans.untilLetGo(tensor, (access) => loans.lend(tensor, access, ([block]) => block));
    });
    for (const { callback, data } of given) call(callback, data);
    await noFlag();
  }),
);

for (const [access, waits] of [["read", false], ["read-write", true]] as const) {
  const does = waits ? "waits" : "does not wait";
  Deno.test(
    `a map for reading ${does} for a library that has the bytes for "${access}"`,
    withEmptyLedger(async () => {
      const loans = new NativeLoans("A library");
      using graph = new MapperGraph([host]);
      using tensor = host.allocate({ shape: [16], dtype: "u8" });
      using lent = tensor.borrow(access);
      const block = loans.untilLetGo(lent, (access) => loans.lend(lent, access, ([one]) => one));
      const reason = graph.explain(lent, host, { access: "read" }).waitReason;
      if (reason === undefined) graph.map(lent, host, { access: "read" })[Symbol.dispose](); // else it would wait for us
      const { busy } = lent.resource;
      call(block.callback, block.data);
      assertEquals([reason !== undefined, busy], [waits, true]);
      await noFlag();
    }),
  );
}

Deno.test(
  "where no object is made, nothing stays lent",
  withEmptyLedger(() => {
    const loans = new NativeLoans("A library");
    using tensor = host.allocate({ shape: [16], dtype: "u8" });
    let lent = 0n;
    const make = () =>
      loans.lend(tensor, "read", ([{ data }]) => {
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
