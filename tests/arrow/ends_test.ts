/** Ends that a program did not plan: what is forgotten, views that are moved away, and a Worker that is terminated. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { DisposedError, host, ledger } from "@samepage/interop";
import { fromArrow, toArrow } from "@samepage/interop/arrow";
import { collect } from "../gc.ts";
import { warningsOf } from "../warnings.ts";
import { arrowTest, emptied, numbers, place, theirs } from "./arrow.ts";

const contexts = [host];

arrowTest(
  "an export that is forgotten is released by the garbage collector, with a warning",
  emptied(async () => {
    using tensor = host.allocate({ shape: [4], dtype: "f32" });
    const warnings = await warningsOf(async () => {
      (() => void toArrow(tensor))();
      for (let i = 0; i < 300 && ledger.alive["arrow.structs"] !== undefined; i++) await collect();
    });
    assertEquals(warnings.length, 1, warnings.join("\n"));
    assert(/host tensor \[4\] f32 for Arrow was never disposed/.test(warnings[0]), warnings[0]);
    assertEquals(tensor.view().length, 4);
  }),
);

arrowTest(
  "a tensor of fromArrow() that is forgotten is released by the garbage collector, with a warning",
  emptied(async () => {
    const before = theirs.released_structs();
    const { schema, array } = numbers("f", new Float32Array(3));
    const warnings = await warningsOf(async () => {
      (() => void fromArrow(schema.address, array.address, { contexts }))();
      for (let i = 0; i < 300 && ledger.alive["arrow.structs"] !== undefined; i++) await collect();
    });
    assertEquals([warnings.length, theirs.released_structs()], [1, before + 2]);
  }),
);

arrowTest("a producer's memory is kept for good where a view of it was moved away", async () => {
  const before = theirs.released_structs();
  const { schema, array } = numbers("f", new Float32Array(1024));
  const tensor = fromArrow(schema.address, array.address, { contexts });
  assert(host.is(tensor));
  const moved = tensor.view({ access: "read" }).buffer.transfer();
  const warnings = await warningsOf(() => tensor[Symbol.dispose]());
  assertEquals(theirs.released_structs(), before, "the view may still look at it");
  assertEquals([moved.byteLength, ledger.alive], [4096, { "arrow.structs": 1 }], warnings.join());
});

arrowTest("an export that came back ends with its tensor, also where a view of it was moved away", async () => {
  for (const isMoved of [false, true]) {
    const before = ledger.alive;
    const tensor = host.allocate({ shape: [4], dtype: "f32" });
    const { schema, array } = toArrow(tensor);
    const back = fromArrow(schema, array, { contexts });
    assert(host.is(back));
    const view = back.view({ access: "read" });
    if (isMoved) view.buffer.transfer();
    const warnings = await warningsOf(() => tensor[Symbol.dispose]());
    assertThrows(() => back.view(), DisposedError, "with host tensor [4] f32");
    assertEquals([tensor.resource.state, warnings.length, ledger.alive], ["freed", isMoved ? 1 : 0, before]);
  }
});

arrowTest("a Worker that is terminated leaves what a consumer has of it", async () => {
  const { alive } = ledger;
  const url = new URL("./worker.ts", import.meta.url);
  const to = place();
  const worker = new Worker(url, { type: "module" });
  const array = await new Promise<bigint>((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = reject;
  });
  theirs.move_array(array, to);
  worker.terminate();
  await new Promise((go) => setTimeout(go, 50));
  assertEquals(theirs.is_released(to), 0);
  theirs.release_on_thread(to); // its machine code, its structs and its flag are still there
  assertEquals([theirs.is_released(to), ledger.alive], [1, alive]);
});

arrowTest(
  "fromArrow() releases at the tensor's end, also beside others on the same bytes that wait for it",
  () => {
    const before = theirs.released_structs();
    const { schema, array } = numbers("f", new Float32Array(3));
    const first = fromArrow(schema.address, array.address, { contexts });
    {
      using arrow = toArrow(first);
      fromArrow(arrow.schema, arrow.array, { contexts })[Symbol.dispose]();
    }
    first[Symbol.dispose]();
    assertEquals(theirs.released_structs(), before + 2);
  },
);

arrowTest("the addresses of an export end with it: another may lie there", () => {
  using tensor = host.allocate({ shape: [4], dtype: "f32" });
  const arrow = toArrow(tensor);
  arrow[Symbol.dispose]();
  assertThrows(() => arrow.schema, DisposedError, "was disposed");
  assertThrows(() => arrow.array, DisposedError, "was disposed");
});
