import { assertEquals, assertThrows } from "@std/assert";
import { Resource } from "../../src/core/life/resource.ts";
import { type Undo, undoAll } from "../../src/core/life/undo.ts";
import { importFor, Imports } from "../../src/core/memory/imports.ts";
import { fakeAllocation } from "./fakes.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

/** The imports of a context, and what was released of them, in order. */
function imports() {
  const released: string[] = [];
  const undo: Undo = [];
  const own = new Imports(undo);
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
  return { end: () => undoAll(undo, "the end"), of, made, released };
}

Deno.test(
  "Imports.of() imports a block once, and releases that once: when the block is freed, or the context ends",
  withEmptyLedger(() => {
    const { end, of, made, released } = imports();
    const [first, second] = [fakeAllocation(8), fakeAllocation(8)];
    assertEquals(of(first, "first") === of(first, "first again"), true);
    of(second, "second");
    assertEquals(made, ["first", "second"]);
    first.leave();
    assertEquals(released, ["first"]);
    end();
    assertEquals(released, ["first", "second"]);
    second.leave();
    assertEquals(released, ["first", "second"]);
  }),
);

Deno.test(
  "Imports throws what failed as its context ends, and a block that is freed warns of it",
  withEmptyLedger(async () => {
    const { end, of } = imports();
    const [first, second] = [fakeAllocation(8), fakeAllocation(8)];
    const failure = new Error("it is still used");
    of(first, "first", failure);
    of(second, "second", failure);
    const warnings = await warningsOf(() => first.leave());
    assertEquals(warnings, ["samepage: releasing an import failed: it is still used"]);
    assertThrows(end, Error, "it is still used");
    second.leave();
  }),
);

Deno.test(
  "importFor() imports a block once for each owner, whose end releases it",
  withEmptyLedger(() => {
    const released: string[] = [];
    const [one, other] = [new Resource({ name: "one" }), new Resource({ name: "other" })];
    const block = fakeAllocation(8);
    const of = (owner: Resource) => importFor(owner, block, () => ({ release: () => released.push(owner.name) }));
    assertEquals([of(one) === of(one), of(one) === of(other)], [true, false]);
    one.dispose();
    assertEquals(released, ["one"]);
    block.leave();
    assertEquals(released, ["one", "other"]);
    other.dispose();
    assertEquals(released, ["one", "other"]);
  }),
);
