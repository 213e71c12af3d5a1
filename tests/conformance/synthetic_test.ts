/** What the suite does not ask of the queue of the template: fills and copies of elements with gaps between them. */
import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, LayoutError } from "@samepage/interop";
import { FakeContext } from "./template/queue/context.ts";

const ROWS = { shape: [2, 2], dtype: "u8", strides: [4, 1] } as const;

Deno.test("the template's queue fills and copies elements, and leaves the gaps alone", () => {
  using context = new FakeContext("fake", ["fake.alias"]);
  const { queue, targets: [target] } = context;
  using from = target.allocate(ROWS);
  using to = target.allocate(ROWS);
  queue.write(from, Uint8Array.of(9, 9, 9, 9, 9, 9));
  queue.fill(from, [1, 2]);
  queue.copy(from, to);
  const bytes = [from, to].map((tensor) => {
    const all = new Uint8Array(tensor.layout.byteLength);
    queue.read(tensor, all);
    return [...all];
  });
  assertEquals(bytes, [[1, 2, 9, 9, 1, 2], [1, 2, 0, 0, 1, 2]]);
  const dense = new Uint8Array(4);
  queue.read(to, dense, { at: "dense" });
  assertEquals([...dense], [1, 2, 1, 2]);
});

Deno.test("the template's queue refuses what is not its context's, and elements that do not fit", () => {
  using context = new FakeContext("fake", ["fake.alias"]);
  using other = new FakeContext("other", ["fake.alias"]);
  using own = context.targets[0].allocate(ROWS);
  using flat = context.targets[0].allocate({ shape: [4], dtype: "u8" });
  using elsewhere = other.targets[0].allocate(ROWS);
  assertThrows(() => context.queue.fill(elsewhere, 1), ArgumentError, "to: it ");
  assertThrows(() => context.queue.copy(own, flat), LayoutError, "to: expected the elements of");
  assertThrows(() => context.queue.fill(own, 256), ArgumentError, "value");
});
