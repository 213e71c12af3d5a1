import { assertEquals } from "@std/assert";
import { type HeldSide, hold } from "../../src/core/graph/step_side.ts";
import { unordered } from "../../src/core/graph/offers.ts";
import { ledger } from "../../src/core/life/ledger.ts";
import { type Undo, unwind } from "../../src/core/life/undo.ts";
import type { Allocation } from "../../src/core/memory/allocation.ts";
import { ManualGate } from "../gate.ts";
import { command, fakeAllocation, FakeDriver } from "./fakes.ts";
import { withEmptyLedger } from "./ledger.ts";

/** What becomes of the views of the block that a side shows, and how often the side is released then. */
const fates: readonly (readonly [fate: string, note: Partial<Allocation>, releases: number])[] = [
  ["no view was moved away", {}, 1],
  ["a view was moved away", { escaped: true }, 0],
  ["a tensor was collected before its views were revoked", { unseen: true }, 0],
];

for (const [fate, note, releases] of fates) {
  Deno.test(
    `hold() ${releases === 1 ? "releases" : "keeps"} what a side holds at its end where ${fate}`,
    withEmptyLedger(() => {
      const block = fakeAllocation(8);
      let released = 0;
      const side: HeldSide = {
        side: { release: () => void released++ },
        line: undefined,
        kind: "test.side",
        shows: block,
      };
      const undo: Undo = [];
      hold(side, undo);
      assertEquals(ledger.alive["test.side"], 1);
      Object.assign(block, note);
      assertEquals(unwind(undo), []);
      assertEquals([released, ledger.alive["test.side"]], [releases, undefined]);
      Object.assign(block, { escaped: false, unseen: false });
      block.leave();
    }),
  );
}

Deno.test("unordered() keeps work of the exporter's line behind a gate: the import's command does not wait for that", () => {
  const gate = new ManualGate();
  const [line, other] = [new FakeDriver().line(), new FakeDriver().line()];
  for (const each of [line, other]) each.submit([], command(() => {}));
  const [plain, foreign] = [line.fence(), other.fence()];
  line.submit([], command(() => {}), [gate.fence]);
  const gated = line.fence();
  const waits = [plain, gated, foreign];
  assertEquals(unordered(waits, true, line), [gated, foreign]);
  assertEquals(unordered(waits, false, line), waits);
  gate.open();
  assertEquals(unordered(waits, true, line), [foreign]);
  for (const each of [line, other]) {
    each.fence().waitSync();
    each.resource.dispose();
  }
});
