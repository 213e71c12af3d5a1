/** Apache Arrow itself, by its Python: it reads what we describe, and we read what it exports. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, Frame, host } from "@samepage/interop";
import { fromArrow, toArrow } from "@samepage/interop/arrow";
import { ArrowDeviceArray, ArrowSchema } from "../../ffi/arrow/structs.ts";
import { emptied, memory } from "./arrow.ts";
import { pyarrowTest, run } from "./python.ts";

const contexts = [host];

/** Where pyarrow exports to. */
function places() {
  return { schema: memory(new Uint8Array(ArrowSchema.size)), array: memory(new Uint8Array(ArrowDeviceArray.size)) };
}

/** Has pyarrow export a variable. */
function exported(code: string) {
  const to = places();
  run(`${code}\nx._export_to_c(${to.array}, ${to.schema})`);
  return to;
}

pyarrowTest(
  "pyarrow reads a tensor in place, and its release ends the lend",
  emptied(() => {
    using tensor = host.wrap(new Float64Array([1, 2, 3]));
    {
      using arrow = toArrow(tensor);
      run(`x = pa.Array._import_from_c(${arrow.array}, ${arrow.schema})
x.validate(full=True)
assert x.type == pa.float64() and x.to_pylist() == [1, 2, 3], x
assert x.buffers()[1].address == ${tensor.address}`);
    }
    assertThrows(() => tensor.view(), AccessError);
    run("del x");
  }),
);

for (
  const [as, type] of [["list", "pa.list_(pa.list_(pa.uint8(), 3), 2)"], [
    "tensor",
    "pa.fixed_shape_tensor(pa.uint8(), [2, 3])",
  ]] as const
) {
  pyarrowTest(
    `pyarrow reads three dimensions as a ${as}`,
    emptied(() => {
      using tensor = host.wrap(Uint8Array.from({ length: 12 }, (_, i) => i).buffer, { shape: [2, 2, 3], dtype: "u8" });
      using arrow = toArrow(tensor, { as });
      run(`x = pa.Array._import_from_c(${arrow.array}, ${arrow.schema})
x.validate(full=True)
assert x.type == ${type}, x.type
flat = x.storage.flatten() if isinstance(x, pa.ExtensionArray) else x.flatten().flatten()
assert flat.to_pylist() == list(range(12)), flat
del x, flat`);
    }),
  );
}

pyarrowTest(
  "pyarrow reads a frame as a record batch, and a column of it outlives the batch",
  emptied(async () => {
    const columns = [{ name: "height", dtype: "f32", shape: [] }, { name: "colour", dtype: "u8", shape: [3] }] as const;
    const planes = [host.wrap(new Float32Array([1.5, 2.5])), host.allocate({ shape: [2, 3], dtype: "u8" })];
    const frame = Frame.of<(typeof planes)[number]>(planes, { type: "table", format: "ours", rows: 2, columns });
    {
      using arrow = toArrow(frame);
      run(`x = pa.RecordBatch._import_from_c(${arrow.array}, ${arrow.schema})
x.validate(full=True)
assert x.schema.names == ["height", "colour"], x.schema
column = x.column(0)
del x`);
    }
    frame[Symbol.dispose]();
    await new Promise((go) => setTimeout(go, 10));
    run(`assert column.to_pylist() == [1.5, 2.5]
del column`);
  }),
);

pyarrowTest(
  "pyarrow's arrays are tensors in place: of each type, sliced, of lists, and record batches",
  emptied(() => {
    const types = [
      ...["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"],
    ];
    for (const type of types) {
      const { schema, array } = exported(`x = pa.array([1, 2, 3, 4]).cast(pa.${type}())[1:]`);
      using tensor = fromArrow(schema, array, { contexts });
      assert(host.is(tensor));
      assertEquals([...tensor.view({ access: "read" })].map(Number), [2, 3, 4], type);
      run(`assert x.buffers()[1].address + ${tensor.byteLength / 3} == ${tensor.address}`);
    }
    const lists = exported("x = pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int16(), 2))[1:]");
    using pairs = fromArrow(lists.schema, lists.array, { contexts });
    assert(host.is(pairs));
    assertEquals([pairs.shape, [...pairs.view({ access: "read" })]], [[2, 2], [3, 4, 5, 6]]);
    const images = exported(`
storage = pa.array([list(range(6)), list(range(6, 12))], pa.list_(pa.int32(), 6))
x = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), [2, 3]), storage)`);
    using shaped = fromArrow(images.schema, images.array, { contexts });
    assert(host.is(shaped));
    assertEquals([shaped.shape, shaped.view({ access: "read" })[11]], [[2, 2, 3], 11]);
    const batch = exported('x = pa.record_batch({"a": pa.array([1, 2, 3]), "b": pa.array([1.5, 2.5, 3.5])})[1:]');
    using table = fromArrow(batch.schema, batch.array, { contexts });
    assert(table instanceof Frame && host.is(table.planes[1]) && table.info.type === "table");
    assertEquals([table.info.columns[1].name, [...table.planes[1].view({ access: "read" })]], ["b", [2.5, 3.5]]);
  }),
);

pyarrowTest(
  "pyarrow frees its memory once the tensor has ended, and not before",
  emptied(() => {
    run("x = None\nbefore = pa.total_allocated_bytes()");
    const { schema, array } = exported("x = pa.array(range(1000))");
    run("x = None\nassert pa.total_allocated_bytes() >= before + 8000");
    {
      using tensor = fromArrow(schema, array, { contexts });
      assert(host.is(tensor));
      assertEquals(tensor.view({ access: "read" })[999], 999n);
    }
    run("assert pa.total_allocated_bytes() == before, pa.total_allocated_bytes()");
  }),
);

pyarrowTest(
  "pyarrow's C device interface has arrays of the CPU in both directions",
  emptied(() => {
    using tensor = host.wrap(new Int8Array([1, 2, 3]));
    {
      using arrow = toArrow(tensor);
      run(`x = pa.Array._import_from_c_device(${arrow.array}, ${arrow.schema})
assert x.device_type == pa.DeviceAllocationType.CPU and x.to_pylist() == [1, 2, 3]
del x`);
    }
    const to = places();
    run(`x = pa.array([4, 5])\nx._export_to_c_device(${to.array}, ${to.schema})`);
    using again = fromArrow(to.schema, to.array, { contexts, device: true });
    assert(host.is(again));
    assertEquals([...again.view({ access: "read" })], [4n, 5n]);
  }),
);

pyarrowTest(
  "what pyarrow has and no tensor is refused by its name",
  emptied(() => {
    for (
      const [code, message] of [
        ["pa.array([True, False])", /single bits/],
        ['pa.array(["a", "b"])', /texts/],
        ["pa.array([1, None])", /1 null/],
        ['pa.array(["a"]).dictionary_encode()', /dictionary/],
        ["pa.array([[1], [2, 3]])", /lists of varying length/],
        ["pa.array([], pa.int32())", /no elements/],
        ["pa.array([1]).cast(pa.timestamp('s'))", /timestamps/],
        ["pa.nulls(3)", /nulls/],
      ] as const
    ) {
      const { schema, array } = exported(`x = ${code}`);
      const error = assertThrows(() => fromArrow(schema, array, { contexts }), ArgumentError);
      assert(message.test(error.message), error.message);
      run(`pa.Array._import_from_c(${array}, ${schema})`); // it is still pyarrow's to release
    }
  }),
);

pyarrowTest(
  "arrays that go to pyarrow and back, again and again, leave nothing behind",
  emptied(() => {
    const count = Number(Deno.env.get("SAMEPAGE_ARROW_ROUNDS") ?? 300);
    run("x = None\nbefore = pa.total_allocated_bytes()");
    using tensor = host.allocate({ shape: [64], dtype: "f32" });
    for (let i = 0; i < count; i++) {
      const to = places();
      {
        using arrow = toArrow(tensor);
        run(
          `x = pa.Array._import_from_c(${arrow.array}, ${arrow.schema})\nx._export_to_c(${to.array}, ${to.schema})\ndel x`,
        );
      }
      using again = fromArrow(to.schema, to.array, { contexts });
      assert(host.is(again) && again.address === tensor.address);
    }
    run("assert pa.total_allocated_bytes() == before");
  }),
);
