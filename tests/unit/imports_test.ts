import { assertEquals } from "@std/assert";
import { Imports } from "../../src/core/memory/imports.ts";
import { fakeAllocation } from "./fakes.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

/** The imports of a context, and what was released of them, in order. */
function imports() {
  const released: string[] = [];
  const own = new Imports();
  const made: string[] = [];
  const of = (allocation: ReturnType<typeof fakeAllocation>, name: string, failure?: Error) =>
    own.of(allocation, () => {
      made.push(name);
      return {
        release() {
          released.push(name);
          if (failure !== undefined) throw failure;
        },
      };
    });
  return { own, of, made, released };
}

Deno.test(
  "Imports.of() imports a block once, and releases that once: when the block is freed, or the context ends",
  withEmptyLedger(() => {
    const { own, of, made, released } = imports();
    const [first, second] = [fakeAllocation(8), fakeAllocation(8)];
    assertEquals(of(first, "first") === of(first, "first again"), true);
    of(second, "second");
    assertEquals(made, ["first", "second"]);
    first.leave();
    assertEquals(released, ["first"]);
    assertEquals(own.close(), []);
    assertEquals(released, ["first", "second"]);
    second.leave();
    assertEquals(own.close(), []);
    assertEquals(released, ["first", "second"]);
  }),
);

Deno.test(
  "Imports.close() returns what failed, and a block that is freed warns of it",
  withEmptyLedger(async () => {
    const { own, of } = imports();
    const [first, second] = [fakeAllocation(8), fakeAllocation(8)];
    const failure = new Error("it is still used");
    of(first, "first", failure);
    of(second, "second", failure);
    const warnings = await warningsOf(() => first.leave());
    assertEquals(warnings, ["samepage: releasing an import failed: it is still used"]);
    assertEquals(own.close(), [failure]);
    second.leave();
  }),
);
