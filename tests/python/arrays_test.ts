import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  type HostTensor,
  InteropError,
  LayoutError,
  ledger,
} from "../../mod.ts";
import { Python, PythonError, PythonObject } from "../../src/python/mod.ts";
import { until } from "../conformance/bytes.ts";
import { lacking, made, test } from "./help.ts";

const HOST = { contexts: [host] };

const take = (array: PythonObject | bigint): HostTensor => Python.open().fromArray(array, HOST) as HostTensor;

/** An array of Python's, and what becomes of it: a dtype and a shape, or the error by its name. */
type Row = readonly [
  code: string,
  becomes: readonly [dtype: string, shape: readonly number[], access?: string] | RegExp,
];

const NUMPY: Readonly<Record<string, Row>> = {
  "f32": ["numpy.ones((2, 3), 'f4')", ["f32", [2, 3]]],
  ...Object.fromEntries(
    ["u1", "i1", "u2", "i2", "f2", "u4", "i4", "u8", "i8", "f8"].map((code) => [
      code,
      [`numpy.ones(3, '${code}')`, [`${code[0]}${8 * Number(code[1])}`, [3]]] as Row,
    ]),
  ),
  "bool": ["numpy.ones(3, bool)", ["u8", [3]]],
  "complex64": ["numpy.ones(3, 'c8')", ["f32", [3, 2]]],
  "complex128": ["numpy.ones(3, 'c16')", ["f64", [3, 2]]],
  "0-d": ["numpy.array(1.5)", ["f64", []]],
  "read-only": ["(a := numpy.ones(3), a.setflags(write=False))[0]", ["f64", [3], "read"]],
  "a part with gaps": ["numpy.ones((4, 6), 'f4')[::2, 1:4]", ["f32", [2, 3]]],
  "transposed": ["numpy.ones((2, 3), 'u1').T", ["u8", [3, 2]]],
  "negative strides": ["numpy.ones(4)[::-1]", /strides\[0\]: expected a step forwards, got -1: it is negative/],
  "empty": ["numpy.ones((0, 3))", /there are no elements/],
  "objects": ["numpy.array([None])", /BufferError/],
  "texts": ["numpy.array(['a'])", /BufferError/],
  "the other order of bytes": ["numpy.ones(3, '>f4')", /BufferError/],
  "broadcast": [
    "numpy.broadcast_to(numpy.ones(1), (3,))",
    /strides\[0\]: expected a step forwards, got 0: .*\(a broadcast\)\. Copy the array first/,
  ],
};

const TORCH: Readonly<Record<string, Row>> = {
  "f32": ["torch.ones(2, 3)", ["f32", [2, 3]]],
  "f16": ["torch.ones(3, dtype=torch.float16)", ["f16", [3]]],
  "bfloat16": ["torch.ones(3, dtype=torch.bfloat16)", /no dtype for 16 bits of kDLBfloat/],
  "bool": ["torch.ones(3, dtype=torch.bool)", ["u8", [3]]],
  "complex64": ["torch.ones(3, dtype=torch.complex64)", ["f32", [3, 2]]],
  "i64, 0-d": ["torch.tensor(3)", ["i64", []]],
  "empty": ["torch.ones(0)", /there are no elements/],
  "with a gradient": ["torch.ones(3, requires_grad=True)", /BufferError/],
  "channels last": ["torch.ones(1, 3, 4, 4).to(memory_format=torch.channels_last)", ["f32", [1, 3, 4, 4]]],
};

const BUFFERS: Readonly<Record<string, Row>> = {
  "bytes": ["memoryview(b'abc')", ["u8", [3], "read"]],
  "bytearray": ["bytearray(b'abc')", ["u8", [3]]],
  "array of f": ["__import__('array').array('f', [1, 2])", ["f32", [2]]],
  "array of l": ["__import__('array').array('l', [1, 2])", ["i64", [2]]],
  "array of Q": ["__import__('array').array('Q', [1, 2])", ["u64", [2]]],
  "a memoryview of two dimensions": ["memoryview(bytearray(12)).cast('H', (2, 3))", ["u16", [2, 3]]],
  "a memoryview with gaps": ["memoryview(bytearray(12))[::3]", ["u8", [4]]],
  "a memoryview backwards": ["memoryview(bytearray(12))[::-1]", /strides/],
  "characters": ["__import__('array').array('u', 'ab')", /format "w"|format "u"/],
  "empty": ["bytearray()", /shape|null/],
  "an int": ["[1].__iter__()", /TypeError/],
};

function tests(library: string, rows: Readonly<Record<string, Row>>, modules: readonly string[]): void {
  for (const [name, [code, becomes]] of Object.entries(rows)) {
    test(`fromArray() of ${library}: ${name}`, modules, () => {
      using array = made(`${modules.map((module) => `import ${module}\n`).join("")}${code}`);
      if (becomes instanceof RegExp) {
        const error = assertThrows(() => take(array), InteropError);
        assert(becomes.test(`${(error as PythonError).type} ${error.message}`), error.message);
        return;
      }
      const [dtype, shape, access = "read-write"] = becomes;
      using tensor = take(array);
      assertEquals([tensor.dtype, tensor.shape, tensor.access], [dtype, shape, access]);
    });
  }
}

tests("NumPy", NUMPY, ["numpy"]);
tests("PyTorch", TORCH, ["torch"]);
tests("buffers", BUFFERS, []);

for (const [library, modules] of [["cupy", "cupy"], ["jax", "jax"]] as const) {
  const missing = lacking(modules);
  test(`toArray() and fromArray() of ${library}`, missing === undefined ? [modules, "numpy"] : [modules], () => {
    using tensor = host.allocate({ shape: [64], dtype: "f32", align: 64 });
    if (library === "cupy") return void assertThrows(() => Python.open().toArray(tensor, library), InteropError);
    using array = Python.open().toArray(tensor, library);
    assertEquals(Python.open().run("float(array.sum())", { array }), 0);
  });
}

test("fromArray() releases a buffer that it refuses to write", [], () => {
  const python = Python.open();
  python.run("kept = bytearray(8)");
  using array = python.run<PythonObject>("memoryview(kept).toreadonly()");
  assertThrows(() => python.fromArray(array, { contexts: [host], access: "read-write" }), AccessError, "reading only");
  array[Symbol.dispose]();
  python.run("kept.extend(b'more')"); // Python refuses that while anybody has its buffer
});

test("both see what the other writes, in one place", ["numpy"], () => {
  const python = Python.open();
  using tensor = host.allocate({ shape: [2, 3], dtype: "f32" });
  tensor.view().set([1, 2, 3, 4, 5, 6]);
  {
    using array = python.toArray(tensor, "numpy");
    assertEquals(python.run("array[1] *= 2\narray.__array_interface__['data'][0]", { array }), Number(tensor.address));
    assertThrows(() => tensor.view(), AccessError);
    using same = take(array);
    assertEquals(same.address, tensor.address);
  }
  assertEquals([...tensor.view()], [1, 2, 3, 8, 10, 12]);
});

test("NaNs, infinities and zeros with a sign keep all their bits, both ways", ["numpy"], () => {
  const python = Python.open();
  const bits = Uint32Array.of(0x7fc0_0001, 0xffc1_2345, 0x7f80_0001, 0x7f80_0000, 0x8000_0000, 0x0000_0001);
  using tensor = host.allocate({ shape: [6], dtype: "f32" });
  new Uint32Array(tensor.view().buffer, tensor.view().byteOffset, 6).set(bits);
  using array = python.toArray(tensor, "numpy", { access: "read" });
  assertEquals(python.run("import numpy; numpy.isnan(array).tolist()", { array }), [
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
  using copy = python.run<PythonObject>("array.copy()", { array });
  using back = take(copy) as HostTensor<"f32">;
  const view = back.view();
  assertEquals(new Uint32Array(view.buffer, view.byteOffset, 6), bits);
});

test("fromArray() of an array over a tensor of ours borrows beside it, and may write", ["numpy"], async () => {
  const python = Python.open();
  const owned = host.allocate({ shape: [4], dtype: "f32" });
  using theirs = made("import numpy; numpy.zeros(4, 'f4')");
  const attached = take(theirs);
  for (const tensor of [owned, attached]) {
    const array = python.toArray(tensor, "numpy");
    const back = take(array) as HostTensor<"f32">;
    array[Symbol.dispose]();
    back.view().fill(3);
    await back.finished();
    assertThrows(() => tensor.view(), AccessError, "lent to");
    {
      using again = python.toArray(back, "numpy");
      using third = take(again);
      third.view()[0] = 5;
      assertThrows(() => back.view(), AccessError, "lent to");
    }
    back[Symbol.dispose]();
    assertEquals([...tensor.view()], [5, 3, 3, 3]);
    await tensor[Symbol.asyncDispose]();
  }
});

test(
  "finished() does not wait for an array that a tensor here keeps, and waits for Python otherwise",
  ["numpy"],
  async () => {
    const python = Python.open();
    using tensor = host.allocate({ shape: [4], dtype: "f32" });
    for (const view of ["array[1:]", "memoryview(array)"]) {
      const array = python.toArray(tensor, "numpy");
      using part = python.run<PythonObject>(view, { array });
      array[Symbol.dispose]();
      using back = take(part) as HostTensor<"f32">;
      part[Symbol.dispose]();
      await tensor.finished();
      const error = assertThrows(() => tensor.view(), AccessError, "lent to host tensor");
      assertEquals(error.hint, `Dispose ${back.name} first.`);
      back.view().fill(7);
      back[Symbol.dispose]();
      await tensor.finished();
      assertEquals(tensor.view().at(-1), 7);
    }
  },
);

test("a tensor's end ends what came back of it, and lets the array go", ["numpy"], () => {
  const tensor = host.allocate({ shape: [4], dtype: "f32" });
  let back: HostTensor;
  {
    using array = Python.open().toArray(tensor, "numpy");
    back = take(array);
  }
  tensor[Symbol.dispose]();
  assertThrows(() => back.view(), DisposedError, "with host tensor");
});

test("a blocking end that Python would have to act for is refused, and goes on", ["numpy"], async () => {
  const tensor = host.allocate({ shape: [4], dtype: "f32" });
  const array = Python.open().toArray(tensor, "numpy");
  assertThrows(() => tensor[Symbol.dispose](), AccessError, "could never end");
  array[Symbol.dispose]();
  await until(() => tensor.resource.state === "freed");
});

test("a blocking end waits while a thread of Python's may let go", ["numpy"], () => {
  const python = Python.open();
  const tensor = host.allocate({ shape: [4], dtype: "f32" });
  {
    using array = python.toArray(tensor, "numpy");
    python.run(
      "import threading, time\ndef keep(array):\n    time.sleep(0.1)\nthreading.Thread(target=keep, args=(array,)).start()",
      { array },
    );
  }
  tensor[Symbol.dispose]();
  assertEquals(tensor.resource.state, "freed");
});

test("toArray() of a part with gaps has its strides", ["numpy"], () => {
  const python = Python.open();
  using tensor = host.allocate({ shape: [4, 6], dtype: "u16" });
  tensor.view().set(Array.from({ length: 24 }, (_, i) => i));
  using part = tensor.slice({ shape: [2, 3], dtype: "u16", strides: [24, 2], byteOffset: 2 });
  using array = python.toArray(part, "numpy");
  assertEquals(python.run("array.tolist(), array.strides", { array }), [[[1, 2, 3], [13, 14, 15]], [24, 2]]);
});

for (const [library, isWritable] of [["numpy", "array.flags.writeable"], ["torch", "None"]] as const) {
  test(`toArray() for ${library} of every dtype`, [library], () => {
    const python = Python.open();
    for (const dtype of ["u8", "i8", "u16", "i16", "f16", "u32", "i32", "f32", "u64", "i64", "f64"] as const) {
      using tensor = host.allocate({ shape: [3], dtype });
      using array = python.toArray(tensor, library);
      const name = { u: "uint", i: "int", f: "float" }[dtype[0]]! + dtype.slice(1);
      assertEquals(python.run("str(array.dtype).split('.')[-1]", { array }), name);
    }
    using tensor = host.allocate({ shape: [], dtype: "f32" });
    using array = python.toArray(tensor, library, { access: "read" });
    assertEquals(python.run(`array.ndim, ${isWritable}`, { array }), [0, library === "numpy" ? false : null]);
    tensor.view({ access: "read" });
  });
}

test("toArray() lends the bytes until Python has no reference left, also to a view", ["numpy"], async () => {
  const python = Python.open();
  using tensor = host.allocate({ shape: [8], dtype: "f32" });
  const array = python.toArray(tensor, "numpy");
  python.run("part = array[2:]", { array });
  array[Symbol.dispose]();
  assertThrows(() => tensor.view(), AccessError);
  python.run("del part");
  tensor.view()[0] = 1;
  assert(await until(() => ledger.alive["native.flag"] === undefined), "a flag stays");
});

test(
  "toArray() gives the bytes back where the library does not take them, and where no library does",
  ["numpy"],
  () => {
    const python = Python.open();
    using tensor = host.allocate({ shape: [8], dtype: "f32" });
    python.run(`
import numpy, sys, types
kept = []
sys.modules['cupy'] = types.SimpleNamespace(from_dlpack=lambda lent: consume(lent))`);
    for (const consume of ["lambda lent: None", "lambda lent: 1 / 0", "lambda lent: kept.append(lent) or 1"]) {
      python.run(`consume = ${consume}`);
      const result = attempt(() => python.toArray(tensor, "cupy"));
      if (result instanceof PythonObject) result[Symbol.dispose]();
      tensor.view()[0] = 1;
    }
    const late = assertThrows(() => python.run("numpy.from_dlpack(kept[0])"), PythonError);
    assertEquals(late.type, "BufferError");
    python.run("del kept");
    assertEquals(ledger.alive["python.PyObject"], undefined);
  },
);

function attempt(use: () => unknown): unknown {
  try {
    return use();
  } catch (error) {
    return error;
  }
}

test("fromArray() holds the array until its tensor ends", ["numpy"], () => {
  const python = Python.open();
  const array = made("import numpy, sys; held = numpy.ones(4); held");
  const count = () => python.run<number>("sys.getrefcount(held)");
  const tensor = take(array);
  array[Symbol.dispose]();
  const during = count();
  tensor[Symbol.dispose]();
  assertEquals(count(), during - 1);
});

test("fromArray() takes the address of an object that other code holds", ["numpy"], () => {
  using array = made("numpy.arange(4, dtype='u1')");
  using tensor = take(array.address);
  assertEquals([...tensor.view()], [0, 1, 2, 3]);
  assertThrows(() => take(1n), ArgumentError);
});

test("fromArray() for writing of what may only be read is refused", ["numpy"], () => {
  const python = Python.open();
  for (const code of ["memoryview(b'abc')", "(a := numpy.ones(3), a.setflags(write=False))[0]"]) {
    using array = made(code);
    assertThrows(() => python.fromArray(array, { ...HOST, access: "read-write" }), AccessError);
  }
  using writable = made("bytearray(3)");
  using tensor = python.fromArray(writable, { ...HOST, access: "read" });
  assertEquals(tensor.access, "read");
});

test("fromArray() takes producers of before DLPack 1.0, and none without the host", [], () => {
  const python = Python.open();
  using nothing = made("bytearray(3)");
  assertThrows(() => python.fromArray(nothing, { contexts: [] }), ArgumentError, "host");
  using strange = made(
    "type('Strange', (), {'__dlpack__': lambda self: 5, '__dlpack_device__': lambda self: (1, 0)})()",
  );
  assertThrows(() => take(strange), PythonError, "PyCapsule");
});

test("fromArray() takes an unversioned capsule", ["numpy"], () => {
  using old = made(`
import numpy
class Old:
    def __init__(self): self.array = numpy.arange(3, dtype='i4')
    def __dlpack__(self, stream=None): return self.array.__dlpack__(max_version=(0, 8))
    def __dlpack_device__(self): return (1, 0)
Old()`);
  using tensor = take(old);
  assertEquals([...tensor.view()], [0, 1, 2]);
});

test("toArray() lends an unversioned struct to a consumer that knows no other", ["numpy"], () => {
  const python = Python.open();
  using tensor = host.allocate({ shape: [3], dtype: "i32" });
  python.run(`
import numpy
class Old:
    def __init__(self, lent): self.lent = lent
    def __dlpack__(self, **options): return self.lent.__dlpack__()
    def __dlpack_device__(self): return self.lent.__dlpack_device__()
import types, sys
sys.modules['jax'] = types.ModuleType('jax')
sys.modules['jax.dlpack'] = types.SimpleNamespace(from_dlpack=lambda lent: numpy.from_dlpack(Old(lent)))`);
  {
    using array = python.toArray(tensor, "jax");
    assertEquals(python.run("array.tolist()", { array }), [0, 0, 0]);
  }
  assertThrows(() => python.toArray(tensor, "jax", { access: "read" }), ArgumentError, "this version of jax");
});

test("10,000 rounds of lending and taking leave no references and no memory", ["numpy"], async () => {
  const python = Python.open();
  using array = made("import numpy, sys, tracemalloc; held = numpy.ones(64); held");
  using empty = made("numpy.ones(0)");
  using bytes = made("bytearray(8)");
  using tensor = host.allocate({ shape: [64], dtype: "f32" });
  const round = () => {
    take(array)[Symbol.dispose]();
    take(bytes)[Symbol.dispose]();
    assertThrows(() => take(empty), LayoutError);
    python.toArray(tensor, "numpy")[Symbol.dispose]();
    python.toArray(tensor, "numpy", { access: "read" })[Symbol.dispose]();
  };
  const rounds = 10_000; // a second
  for (let i = 0; i < 50; i++) round();
  const before = python.run("tracemalloc.start(); [sys.getrefcount(held), sys.getrefcount(bytes)]", { bytes });
  const size = python.run<number>("tracemalloc.get_traced_memory()[0]");
  for (let i = 0; i < rounds; i++) round();
  assertEquals(python.run("[sys.getrefcount(held), sys.getrefcount(bytes)]", { bytes }), before);
  const grown = python.run<number>("tracemalloc.get_traced_memory()[0]") - size;
  python.run("tracemalloc.stop()");
  assert(grown < 20_000, `${grown} bytes more after ${rounds} rounds`);
  tensor.view();
  assert(await until(() => ledger.alive["native.flag"] === undefined), "a flag stays");
});
