import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, Frame, host, ledger, MapperGraph } from "@samepage/interop";
import { fromArrow, toArrow } from "@samepage/interop/arrow";
import { arrowTest, emptied, memory, numbers, produced, theirs } from "./arrow.ts";

const contexts = [host];

arrowTest(
  "fromArrow() takes both structs over, and releases them once, at the tensor's end",
  emptied(() => {
    const before = theirs.released_structs();
    const { schema, array } = numbers("f", new Float32Array([1, 2, 3]));
    const tensor = fromArrow(schema.address, array.address, { contexts });
    assert(host.is(tensor));
    assertEquals([schema.get("release"), array.get("release")], [0n, 0n], "they were moved");
    assertEquals(theirs.released_structs(), before);
    assertEquals([...tensor.view({ access: "read" })], [1, 2, 3]);
    assertThrows(() => tensor.view({ access: "write" }), AccessError);
    tensor[Symbol.dispose]();
    tensor[Symbol.dispose]();
    assertEquals(theirs.released_structs(), before + 2);
  }),
);

arrowTest(
  "a tensor of fromArrow() reads its producer's bytes in place, and writes them where that is asked for",
  emptied(() => {
    const elements = new Int32Array([1, 2, 3, 4]);
    const { schema, array } = numbers("i", elements);
    array.set({ length: 2n, offset: 1n });
    using tensor = fromArrow(schema.address, array.address, { contexts, access: "read-write" });
    assert(host.is(tensor));
    elements[1] = 20;
    assertEquals([...tensor.view()], [20, 3]);
    tensor.view()[1] = 30;
    assertEquals([...elements], [1, 20, 30, 4]);
  }),
);

arrowTest(
  "the release comes after all work on the tensor",
  emptied(async () => {
    const before = theirs.released_structs();
    const { schema, array } = numbers("f", new Float32Array([1]));
    const tensor = fromArrow(schema.address, array.address, { contexts });
    const { promise, resolve } = Promise.withResolvers<void>();
    tensor.usedBy(host.signal(promise));
    const end = tensor[Symbol.asyncDispose]();
    await new Promise((go) => setTimeout(go, 10));
    assertEquals(theirs.released_structs(), before);
    resolve();
    await end;
    assertEquals(theirs.released_structs(), before + 2);
  }),
);

arrowTest(
  "a record batch is a frame whose columns end together, offsets of the batch and of its columns added up",
  emptied(() => {
    const before = theirs.released_structs();
    const one = numbers("i", new Int32Array([0, 1, 2, 3, 4, 5]), "one");
    one.array.set({ length: 5n, offset: 1n });
    const items = numbers("S", Uint16Array.from({ length: 20 }, (_, i) => i));
    const pairs = produced("+w:2", { length: 8n, offset: 1n, buffers: [0n], children: [items], name: "pairs" });
    const batch = produced("+s", { length: 3n, offset: 2n, buffers: [0n], children: [one, pairs] });
    const frame = fromArrow(batch.schema.address, batch.array.address, { contexts });
    assert(frame instanceof Frame && frame.info.type === "table");
    assertEquals(frame.info.columns.map(({ name }) => name), ["one", "pairs"]);
    const [first, second] = frame.planes;
    assert(host.is(first) && host.is(second));
    assertEquals([...first.view({ access: "read" })], [3, 4, 5]);
    assertEquals([second.shape, [...second.view({ access: "read" })]], [[3, 2], [6, 7, 8, 9, 10, 11]]);
    {
      using graph = new MapperGraph([host]);
      using _mapped = graph.map(frame, host, { access: "read" });
    }
    frame[Symbol.dispose]();
    assertEquals(theirs.released_structs(), before + 2 * 4, "each struct once: the children with their parent");
  }),
);

arrowTest(
  "lists lie within each other, and a tensor's extension type gives its own shape",
  emptied(() => {
    const items = () => numbers("C", Uint8Array.from({ length: 24 }, (_, i) => i));
    const inner = produced("+w:3", { length: 8n, buffers: [0n], children: [items()] });
    const outer = produced("+w:4", { length: 2n, buffers: [0n], children: [inner] });
    using nested = fromArrow(outer.schema.address, outer.array.address, { contexts });
    const tensors = produced("+w:12", { length: 2n, buffers: [0n], children: [items()] });
    tensors.schema.set({
      metadata: pairs(
        "ARROW:extension:name",
        "arrow.fixed_shape_tensor",
        "ARROW:extension:metadata",
        '{"shape":[2,6]}',
      ),
    });
    using shaped = fromArrow(tensors.schema.address, tensors.array.address, { contexts });
    const unknown = produced("+w:12", { length: 2n, buffers: [0n], children: [items()] });
    unknown.schema.set({ metadata: pairs("ARROW:extension:name", "someone.else") });
    using stored = fromArrow(unknown.schema.address, unknown.array.address, { contexts });
    assert(host.is(nested) && host.is(shaped) && host.is(stored));
    assertEquals([nested.shape, shaped.shape, stored.shape], [[2, 4, 3], [2, 2, 6], [2, 12]]);
    assertEquals(nested.view({ access: "read" })[23], 23);
  }),
);

arrowTest(
  "an array that has a validity bitmap and no nulls is taken",
  emptied(() => {
    const { schema, array } = numbers("f", new Float32Array([1, 2]));
    array.set({
      null_count: 0n,
      buffers: memory(new BigUint64Array([memory(new Uint8Array([3])), memory(new Float32Array(2))])),
    });
    using tensor = fromArrow(schema.address, array.address, { contexts });
    assert(host.is(tensor));
    const unknown = numbers("f", new Float32Array([1, 2]));
    unknown.array.set({ null_count: -1n });
    using other = fromArrow(unknown.schema.address, unknown.array.address, { contexts });
    assert(host.is(other));
  }),
);

arrowTest(
  "where fromArrow() fails, both structs are still the caller's",
  emptied(() => {
    const before = theirs.released_structs();
    const { schema, array } = numbers("f", new Float32Array([1]));
    assertThrows(
      () => fromArrow(schema.address, array.address, { contexts: [] }),
      ArgumentError,
      "none of them is for that",
    );
    const noContext = [{}] as unknown as [];
    const { argument } = assertThrows(
      () => fromArrow(schema.address, array.address, { contexts: noContext }),
      ArgumentError,
    );
    assertEquals(argument, "contexts");
    assert(schema.get("release") !== 0n && array.get("release") !== 0n);
    theirs.release_schema(schema.address);
    theirs.release_array(array.address);
    assertEquals(theirs.released_structs(), before + 2);
    const batch = produced("+s", {
      ...{ length: 2n, buffers: [0n] },
      children: [numbers("f", new Float32Array(2)), produced("f", { length: 2n, buffers: [0n, 8n] })],
    });
    assertThrows(
      () => fromArrow(batch.schema.address, batch.array.address, { contexts }),
      ArgumentError,
      "cannot be read",
    );
    assertEquals(ledger.alive, {}, "the first column has ended");
    assert(batch.array.get("release") !== 0n);
    assertEquals(theirs.released_structs(), before + 2);
  }),
);

arrowTest(
  "what toArrow() has described comes back as a peer, and both end",
  emptied(() => {
    const tensor = host.allocate({ shape: [4], dtype: "u8" });
    const arrow = toArrow(tensor);
    const again = fromArrow(arrow.schema, arrow.array, { contexts });
    arrow[Symbol.dispose]();
    assertThrows(() => tensor.view({ access: "write" }), AccessError);
    again[Symbol.dispose]();
    assertEquals(tensor.view().length, 4);
    tensor[Symbol.dispose]();
  }),
);

function pairs(...texts: string[]): bigint {
  const bytes = texts.flatMap((text) => [text.length, 0, 0, 0, ...new TextEncoder().encode(text)]);
  return memory(new Uint8Array([texts.length / 2, 0, 0, 0, ...bytes]));
}
