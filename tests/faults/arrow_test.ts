/** Every native call of `toArrow` and `fromArrow` fails once: what comes of it is typed, and nothing stays behind. */
import { assert, assertEquals } from "@std/assert";
import { Frame, host } from "../../mod.ts";
import { fromArrow, toArrow } from "../../src/arrow/mod.ts";
import { keep } from "../../src/arrow/lent.ts";
import { theirs } from "../arrow/arrow.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();

function test(name: string, operation: () => void): void {
  const ignore = theirs === undefined;
  Deno.test({
    name: ignore ? `faults: ${name} (skipped: needs Arrow's header)` : `faults: ${name}`,
    ignore,
    async fn() {
      operation();
      const intact = () => assertEquals(keep.count, 0, "nothing is lent");
      const faults = await sweep(operation, intact, ["libc.madvise"]); // the list of mappings is read instead
      assert(faults.length > 0, "it makes no native call");
    },
  });
}

test("toArrow of a tensor, and back", () => {
  using tensor = host.allocate({ shape: [4, 2], dtype: "f32" });
  using arrow = toArrow(tensor, { as: "tensor" });
  using again = fromArrow(arrow.schema, arrow.array, { contexts: [host] });
  assert(host.is(again));
});

test("toArrow of a frame, and back", () => {
  using one = host.allocate({ shape: [4], dtype: "f32" });
  const columns = [{ name: "a", dtype: "f32", shape: [] }] as const;
  using frame = Frame.of([one], { type: "table", format: "ours", rows: 4, columns });
  using arrow = toArrow(frame);
  using again = fromArrow(arrow.schema, arrow.array, { contexts: [host] });
  assert(again instanceof Frame);
});
