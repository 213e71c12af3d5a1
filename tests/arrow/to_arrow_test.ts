import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  Frame,
  host,
  imageInfo,
  LayoutError,
  ledger,
  MapperGraph,
} from "@samepage/interop";
import { fromArrow, toArrow } from "@samepage/interop/arrow";
import { arrowTest, emptied, place, theirs, untilEmpty } from "./arrow.ts";

function floats(...shape: number[]) {
  const tensor = host.allocate({ shape, dtype: "f32" });
  tensor.view().set(tensor.view().map((_, i) => i + 1));
  return tensor;
}

arrowTest(
  "toArrow() shows a consumer the tensor's own bytes",
  emptied(() => {
    using tensor = floats(5);
    {
      using arrow = toArrow(tensor);
      assertEquals(theirs.sum_f32(arrow.array), 15);
    }
    tensor.view()[0] = 101;
    using arrow = toArrow(tensor);
    assertEquals(theirs.sum_f32(arrow.array), 115);
  }),
);

arrowTest(
  "a tensor is lent until the consumer that moved its array has released it, on any thread",
  emptied(() => {
    const tensor = floats(4);
    const to = place();
    {
      using arrow = toArrow(tensor);
      theirs.move_array(arrow.array, to);
    } // the schema is released; the array has another home
    assertEquals(theirs.is_released(to), 0);
    assertThrows(() => tensor.view({ access: "write" }), AccessError);
    assertEquals(tensor.view({ access: "read" })[3], 4);
    tensor[Symbol.dispose](); // in the background: it returns at once
    assertEquals(theirs.sum_f32(to), 10, "the bytes are still there");
    theirs.release_on_thread(to);
    assertEquals(theirs.is_released(to), 1);
  }),
);

arrowTest(
  "a tensor whose consumer never releases it is found by the ledger",
  async () => {
    const tensor = floats(4);
    const to = place();
    {
      using arrow = toArrow(tensor);
      theirs.move_array(arrow.array, to);
    }
    tensor[Symbol.dispose]();
    await new Promise((go) => setTimeout(go, 20));
    assertEquals(ledger.alive, { "host.block": 1, "native.flag": 1 });
    theirs.release_array(to);
    await untilEmpty();
  },
);

arrowTest(
  "a consumer may release both structs in place, before they are disposed",
  emptied(() => {
    using tensor = floats(4);
    using arrow = toArrow(tensor);
    theirs.release_array(arrow.array);
    theirs.release_schema(arrow.schema);
    arrow[Symbol.dispose]();
    arrow[Symbol.dispose]();
  }),
);

arrowTest(
  "a child that a consumer has moved keeps the bytes when its parent is released",
  emptied(async () => {
    const tensor = floats(3, 2);
    const to = place();
    {
      using arrow = toArrow(tensor);
      assertEquals(theirs.sum_f32(theirs.child_of(arrow.array, 0n)), 21);
      theirs.move_child(arrow.array, 0n, to);
      assertEquals(theirs.is_released(arrow.array), 1);
    }
    tensor[Symbol.dispose]();
    await new Promise((go) => setTimeout(go, 10));
    assertEquals(theirs.sum_f32(to), 21);
    theirs.release_array(to);
  }),
);

for (const as of ["list", "tensor"] as const) {
  arrowTest(
    `toArrow() describes every dtype and shape as a ${as}, and fromArrow() reads the same`,
    emptied(() => {
      const dtypes = ["u8", "i8", "u16", "i16", "f16", "u32", "i32", "f32", "u64", "i64", "f64"] as const;
      for (const dtype of dtypes) {
        for (const shape of [[1], [7], [3, 2], [2, 3, 4], [1, 1, 1, 5]]) {
          using tensor = host.allocate({ shape, dtype });
          tensor.bytes()[0] = 77;
          using arrow = toArrow(tensor, { as });
          using again = fromArrow(arrow.schema, arrow.array, { contexts: [host] });
          assert(host.is(again));
          assertEquals([again.shape, again.dtype, again.address], [shape, dtype, tensor.address]);
          assertEquals([again.access, again.bytes({ access: "read" })[0]], ["read", 77]);
        }
      }
    }),
  );
}

arrowTest(
  "a tensor without dimensions is an array of one element",
  emptied(() => {
    using tensor = floats();
    using arrow = toArrow(tensor);
    assertEquals(theirs.sum_f32(arrow.array), 1);
  }),
);

arrowTest(
  "a frame is a record batch: a table with its columns' names, a picture by numbers",
  emptied(() => {
    const tensors = [floats(6), host.allocate({ shape: [6, 2], dtype: "u8" })];
    const columns = [{ name: "height", dtype: "f32", shape: [] }, { name: "pair", dtype: "u8", shape: [2] }] as const;
    using table = Frame.of(tensors, { type: "table", format: "ours", rows: 6, columns });
    {
      using arrow = toArrow(table);
      using again = fromArrow(arrow.schema, arrow.array, { contexts: [host] });
      assert(again instanceof Frame && again.info.type === "table");
      assertEquals(again.info.columns, columns);
      assertEquals([again.info.format, again.info.rows], ["arrow", 6]);
      assertEquals(JSON.parse(JSON.stringify(again)).rows, 6);
      assertEquals(`${again}`.includes("2 columns of 6 rows"), true, `${again}`);
      using graph = new MapperGraph([host]);
      using mapped = graph.map(again, host, { access: "read" });
      assertEquals(mapped.planes.map(({ shape }) => shape), [[6], [6, 2]]);
    }
    using picture = host.allocateFrame(imageInfo({ format: "YUV444", width: 4, height: 3 }));
    using arrow = toArrow(picture, { names: ["y", "u", "v"] });
    using again = fromArrow(arrow.schema, arrow.array, { contexts: [host] });
    assert(again instanceof Frame && again.info.type === "table");
    assertEquals(again.info.columns.map(({ name, shape }) => [name, shape]), [["y", [4]], ["u", [4]], ["v", [4]]]);
  }),
);

arrowTest(
  "toArrow() refuses what Arrow cannot describe",
  emptied(() => {
    using gaps = host.allocate({ shape: [4, 3], dtype: "u8", rowAlign: 64 });
    assertThrows(() => toArrow(gaps), LayoutError, "has gaps between its elements");
    using picture = host.allocateFrame(imageInfo({ format: "NV12", width: 4, height: 4 }));
    assertThrows(() => toArrow(picture), LayoutError, "columns of one length");
    using tensor = floats(4);
    assertThrows(() => toArrow(tensor, { names: ["x"] }), ArgumentError, "a tensor has no columns");
    assertThrows(() => toArrow(picture, { names: ["x"] }), ArgumentError, "expected 2 strings");
    using _slice = tensor.slice({ shape: [2], dtype: "f32" }, { access: "write" });
    assertThrows(() => toArrow(tensor), AccessError);
  }),
);

arrowTest(
  "a lend waits for the tensor's work in flight, and two consumers may read one tensor",
  emptied(async () => {
    using tensor = floats(4);
    const { promise, resolve } = Promise.withResolvers<void>();
    tensor.usedBy(host.signal(promise));
    assertThrows(() => toArrow(tensor), AccessError);
    resolve();
    await tensor.finished();
    using one = toArrow(tensor);
    using two = toArrow(tensor);
    assertEquals(theirs.sum_f32(one.array) + theirs.sum_f32(two.array), 20);
  }),
);
