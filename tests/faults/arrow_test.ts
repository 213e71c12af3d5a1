/** Every native call of `toArrow` and `fromArrow` fails once: what comes of it is typed, and nothing stays behind. */
import { assert, assertEquals } from "@std/assert";
import { Frame, host } from "../../mod.ts";
import { fromArrow, toArrow } from "../../src/arrow/mod.ts";
import { keep } from "../../src/arrow/lent.ts";
import { numbers, produced, theirs } from "../arrow/arrow.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();

function test(name: string, operation: () => void, intact: () => void = () => {}): void {
  const ignore = theirs === undefined;
  Deno.test({
    name: ignore ? `faults: ${name} (skipped: needs Arrow's header)` : `faults: ${name}`,
    ignore,
    async fn() {
      operation();
      const faults = await sweep(operation, () => {
        assertEquals(keep.count, 0, "nothing is lent");
        intact();
      }, ["libc.process_vm_readv"]);
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

let due = 0;

test("fromArrow of a record batch", () => {
  const batch = produced("+s", {
    ...{ length: 2n, buffers: [0n] },
    children: [numbers("f", new Float32Array(2)), numbers("i", new Int32Array(2))],
  });
  try {
    using frame = fromArrow(batch.schema.address, batch.array.address, { contexts: [host] });
    assert(frame instanceof Frame);
  } finally {
    due += 6; // two structs, and two of each column
    if (batch.array.get("release") !== 0n) theirs.release_array(batch.array.address); // it is still the caller's
    if (batch.schema.get("release") !== 0n) theirs.release_schema(batch.schema.address);
  }
}, () => assertEquals(theirs.released_structs(), due, "each struct is released once"));
