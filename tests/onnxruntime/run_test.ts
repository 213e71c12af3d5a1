import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { DisposedError, type DType, host, InteropError, ledger, MapperGraph, NativeCallError } from "@samepage/interop";
import type { OnnxRuntimeContext, OnnxRuntimeSession } from "@samepage/interop/onnxruntime";
import { ort as native } from "../../src/onnxruntime/library.ts";
import { assertAlive } from "../alive.ts";
import { until } from "../conformance/bytes.ts";
import { placesOf, randomize } from "../inference/copies.ts";
import { ONNX_TYPES, onnxModel, type OnnxValue, unary } from "../inference/onnx.ts";
import { DETECTOR, openOnnxRuntime, test } from "./open.ts";

interface There {
  readonly ort: OnnxRuntimeContext;
  readonly graph: MapperGraph;
  readonly session: OnnxRuntimeSession;
}

/** A test with a session of one model, after which no native object is left. */
function testOf(name: string, model: Uint8Array<ArrayBuffer>, use: (there: There) => unknown, threads = 2): void {
  test(name, async () => {
    const before = ledger.alive;
    {
      using ort = openOnnxRuntime();
      using graph = new MapperGraph([host, ort]);
      using session = ort.compileSync(model, { threads });
      await use({ ort, graph, session });
    }
    await assertAlive(before, "what the test has left");
  });
}

const SIGMOID = unary("Sigmoid", "f32", [64]);

/** Its shape is right for some inputs alone. */
const RESHAPE = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: ["n"] }],
  outputs: [{ name: "y", type: "f32", shape: ["m", 4] }],
  constants: [{ name: "shape", values: [-1, 4] }],
  nodes: [{ op: "Reshape", inputs: ["x", "shape"], outputs: ["y"] }],
});

test("compile() reads names, shapes and dtypes of a model", async () => {
  using ort = openOnnxRuntime();
  assertMatch(ort.name, /^ONNX Runtime 1\.\d+\.\d+$/);
  assert(ort.providers.includes("CPUExecutionProvider"));
  using session = await ort.compile(DETECTOR);
  assertEquals(session.inputs, [{ name: "x", shape: [-1, 3, -1, -1], dtype: "f32" }]);
  assertEquals(session.outputs, [{ name: "sigmoid_0.tmp_0", shape: [-1, 1, -1, -1], dtype: "f32" }]);
});

test("compile() takes a path, a file: URL and bytes", async () => {
  using ort = openOnnxRuntime();
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, SIGMOID);
    for (const model of [path, new URL(`file://${path}`), SIGMOID]) {
      using session = await ort.compile(model);
      assertEquals(session.inputs[0].name, "x");
    }
  } finally {
    await Deno.remove(path);
  }
});

const DTYPES: readonly DType[] = ["u8", "i8", "u16", "i16", "f16", "u32", "i32", "f32", "u64", "i64", "f64"];

for (const dtype of DTYPES) {
  testOf(
    `run() uses ${dtype} in place: there is no other copy of its bytes in the process`,
    unary("Identity", dtype, [4096]),
    ({ ort, graph, session }) => {
      using read = host.allocate({ shape: [4096], dtype });
      using written = host.allocate({ shape: [4096], dtype });
      randomize(read);
      {
        using x = graph.map(read, ort, { access: "read" });
        using y = graph.map(written, ort, { access: "write" });
        assertEquals([x, y].map((tensor) => ort.values.infoOf(tensor.handle).address), [read.address, written.address]);
        assertEquals(session.run({ x }, { y }).y, y);
      }
      const places = placesOf(read);
      assertEquals(places.toSorted(), [read.address, written.address].toSorted());
      assertEquals(ort.bytesCopied, 0);
    },
  );
}

testOf(
  "run() makes the memory of an output that is left out, which maps to the host in place",
  SIGMOID,
  ({ ort, graph, session }) => {
    using x = ort.allocate({ shape: [64], dtype: "f32" });
    const { y } = session.run({ x });
    {
      using made = y;
      using seen = graph.map(made, host);
      assertEquals([seen.address, seen.view()[0], made.route!.bytesMoved], [made.address, 0.5, 0]);
    }
    assertThrows(() => y.handle, DisposedError);
  },
);

testOf(
  "runAsync() has several runs in flight, each with an output of its own",
  SIGMOID,
  async ({ ort, graph, session }) => {
    const inputs = [-2, 0, 2].map((value) => {
      const x = ort.allocate({ shape: [64], dtype: "f32" });
      using seen = graph.map(x, host);
      (seen.view() as Float32Array).fill(value);
      return x;
    });
    const results = await Promise.all(inputs.map((x) => session.runAsync({ x })));
    const means = results.map(({ y }) => {
      using seen = graph.map(y, host, { access: "read" });
      return Math.round(1000 * Number(seen.view()[63]));
    });
    assertEquals(means, [119, 500, 881]);
    for (const tensor of [...inputs, ...results.map(({ y }) => y)]) tensor[Symbol.dispose]();
  },
);

testOf("run() fails as the model does, and the session goes on", RESHAPE, ({ ort, session }) => {
  using odd = ort.allocate({ shape: [7], dtype: "f32" });
  using even = ort.allocate({ shape: [8], dtype: "f32" });
  const error = assertThrows(() => session.run({ x: odd }), NativeCallError, "The input tensor cannot be reshaped");
  assertEquals([error.api, error.fn, error.code], ["onnxruntime", "Run", 1]);
  using y = session.run({ x: even }).y;
  assertEquals(y.shape, [2, 4]);
});

testOf("runAsync() fails as the model does, and the session goes on", RESHAPE, async ({ ort, session }) => {
  using odd = ort.allocate({ shape: [7], dtype: "f32" });
  using even = ort.allocate({ shape: [8], dtype: "f32" });
  const runs = [odd, even, odd].map((x) => session.runAsync({ x }));
  const settled = await Promise.allSettled(runs);
  assertEquals(settled.map(({ status }) => status), ["rejected", "fulfilled", "rejected"]);
  const [first] = settled as [PromiseRejectedResult];
  assertMatch(String(first.reason), /RunAsync failed with ORT_FAIL \(1\): .* cannot be reshaped/);
  (await runs[1]).y[Symbol.dispose]();
  using y = (await session.runAsync({ x: even })).y;
  assertEquals(y.shape, [2, 4]);
});

testOf("run() refuses a dynamic output of another shape than the result", RESHAPE, ({ ort, session }) => {
  using x = ort.allocate({ shape: [8], dtype: "f32" });
  using small = ort.allocate({ shape: [1, 4], dtype: "f32" });
  assertThrows(() => session.run({ x }, { y: small }), NativeCallError, "shape");
  using fit = ort.allocate({ shape: [2, 4], dtype: "f32" });
  assertEquals(session.run({ x }, { y: fit }).y, fit);
});

const NOT = unary("Not", "bool", [4]);

testOf("run() uses booleans in place, as bytes", NOT, ({ ort, graph, session }) => {
  assertEquals(session.inputs, [{ name: "x", shape: [4], dtype: "u8", elements: "bool" }]);
  using read = host.allocate({ shape: [4], dtype: "u8" });
  read.view().set([0, 1, 1, 0]);
  using x = graph.map(read, ort, { access: "read" });
  const { y } = session.run({ x });
  using made = y;
  using seen = graph.map(made, host);
  assertEquals([...seen.view()], [1, 0, 0, 1]);
});

const TO_BF16 = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: [2] }],
  outputs: [{ name: "y", type: "bf16", shape: [2] }],
  nodes: [{ op: "Cast", inputs: ["x"], outputs: ["y"], attributes: { to: ONNX_TYPES.bf16 } }],
});

testOf("run() writes a bfloat16 as u16, in place", TO_BF16, ({ ort, graph, session }) => {
  using read = host.allocate({ shape: [2], dtype: "f32" });
  using written = host.allocate({ shape: [2], dtype: "u16" });
  read.view().set([1, -2]);
  {
    using x = graph.map(read, ort, { access: "read" });
    using y = graph.map(written, ort, { access: "write" });
    session.run({ x }, { y });
  }
  assertEquals([...written.view()], [0x3f80, 0xc000]);
});

const NON_ZERO = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: ["n"] }],
  outputs: [{ name: "y", type: "i64", shape: [1, "m"] }],
  nodes: [{ op: "NonZero", inputs: ["x"], outputs: ["y"] }],
});

testOf("run() leaves out an output without elements", NON_ZERO, async ({ ort, session }) => {
  using x = ort.allocate({ shape: [8], dtype: "f32" });
  assertEquals(session.run({ x }), {});
  assertEquals(await session.runAsync({ x }), {});
});

test("runAsync() stops at a signal, and rejects with its reason", async () => {
  using ort = openOnnxRuntime();
  using graph = new MapperGraph([host, ort]);
  using session = await ort.compile(DETECTOR, { threads: 2 });
  const name = session.outputs[0].name;
  using x = ort.allocate({ shape: [1, 3, 960, 960], dtype: "f32" });
  using written = host.allocate({ shape: [1, 1, 960, 960], dtype: "f32" });
  const reason = new Error("enough");
  /** False where the run was over before the signal came, as on a busy machine. */
  const isStopped = async () => {
    const abort = new AbortController();
    written.view().fill(7);
    {
      using y = graph.map(written, ort);
      const run = session.runAsync({ x }, { [name]: y }, { signal: abort.signal });
      setTimeout(() => abort.abort(reason), 5);
      const error = await run.then(() => undefined, (error) => error);
      if (error === undefined) return false;
      assertEquals(error, reason);
    }
    return written.view()[0] === 7;
  };
  assert(await until(isStopped), "every run went on to its end");
  using small = ort.allocate({ shape: [1, 3, 32, 32], dtype: "f32" });
  using y = (await session.runAsync({ x: small }))[name]; // the same request
  assertEquals(y.shape, [1, 1, 32, 32]);
});

testOf("runAsync() needs a second thread", SIGMOID, async ({ ort, session }) => {
  using x = ort.allocate({ shape: [64], dtype: "f32" });
  await assertRejects(() => session.runAsync({ x }), NativeCallError, "thread");
  session.run({ x }).y[Symbol.dispose]();
}, 1);

const STRINGS: OnnxValue = { name: "x", type: "string", shape: [2] };

for (
  const [what, value, says] of [
    ["texts", STRINGS, "inputs.x has elements that no tensor has: STRING."],
    ["a sequence", { ...STRINGS, type: "f32", isSequence: true }, "inputs.x is no tensor (ONNXType 2)."],
  ] as const
) {
  test(`compile() refuses ${what}, by name`, async () => {
    const before = ledger.alive;
    {
      using ort = openOnnxRuntime();
      const model = onnxModel({
        inputs: [value],
        outputs: [{ ...value, name: "y" }],
        nodes: [{ op: "Identity", inputs: ["x"], outputs: ["y"] }],
      });
      const error = await assertRejects(() => ort.compile(model), InteropError);
      assertEquals(error.message.split(" Convert")[0], says);
    }
    await assertAlive(before, "what the test has left");
  });
}

test("compile() of what is no model fails with the runtime's words", async () => {
  using ort = openOnnxRuntime();
  await assertRejects(() => ort.compile(new Uint8Array(100).fill(7)), NativeCallError, "ORT_INVALID_PROTOBUF");
});

testOf("map() refuses memory with gaps", SIGMOID, ({ ort, graph }) => {
  using padded = host.allocate({ shape: [4, 4], dtype: "f32", strides: [32, 4] });
  assertThrows(() => graph.map(padded, ort), InteropError, "there may be no gaps");
});

testOf(
  "a session outlives nothing: its context ends it, and runs in flight are waited for",
  SIGMOID,
  async ({ ort }) => {
    const other = openOnnxRuntime();
    const session = other.compileSync(SIGMOID, { threads: 2 });
    using x = other.allocate({ shape: [64], dtype: "f32" });
    const run = session.runAsync({ x });
    other[Symbol.dispose]();
    await assertRejects(() => run, InteropError, "disposed");
    assertThrows(() => session.run({ x }), InteropError, "disposed");
    assert(native() !== undefined && ort.resource.isLive);
  },
);
