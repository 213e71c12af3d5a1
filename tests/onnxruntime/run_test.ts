import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { host, InteropError, ledger, MapperGraph, NativeCallError } from "@samepage/interop";
import type { OnnxRuntimeContext, OnnxRuntimeSession } from "@samepage/interop/onnxruntime";
import { unwind } from "../../src/core/life/undo.ts";
import { assertAlive } from "../alive.ts";
import { until } from "../conformance/bytes.ts";
import { ONNX_TYPES, onnxModel, power, SIDE, unary } from "../inference/onnx.ts";
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

test("compile() reads names, shapes and dtypes of a model", async () => {
  using ort = openOnnxRuntime();
  assertMatch(ort.name, /^ONNX Runtime 1\.\d+\.\d+$/);
  assert(ort.providers.includes("CPUExecutionProvider"));
  using session = await ort.compile(DETECTOR);
  assertEquals(session.inputs, [{ name: "x", shape: [-1, 3, -1, -1], dtype: "f32" }]);
  assertEquals(session.outputs, [{ name: "sigmoid_0.tmp_0", shape: [-1, 1, -1, -1], dtype: "f32" }]);
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

testOf("runAsync() runs a session of one thread", SIGMOID, async ({ ort, session }) => {
  using x = ort.allocate({ shape: [64], dtype: "f32" });
  using y = (await session.runAsync({ x })).y;
  assertEquals(y.shape, [64]);
}, 1);

/** It fails at the end: seven do not divide the number of elements. */
const FAILS = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: ["n", "n"] }],
  outputs: [{ name: "y", type: "f32", shape: ["m", 7] }],
  constants: [{ name: "shape", values: [-1, 7] }],
  nodes: [...power("x", "p"), { op: "Reshape", inputs: ["p", "shape"], outputs: ["y"] }],
});

testOf("a map of an output waits for the run, and throws its error", FAILS, async ({ ort, graph, session }) => {
  using x = ort.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
  using y = ort.allocate({ shape: [SIDE * SIDE / 4, 7], dtype: "f32" });
  /** False where the run was over before it was mapped, as on a busy machine: its promise alone says so then. */
  const isThrown = async () => {
    const run = session.runAsync({ x }, { y });
    const failed = assertRejects(() => run, NativeCallError);
    const [error] = unwind([() => graph.map(y, host)[Symbol.dispose]()]);
    const ofRun = await failed;
    if (error !== undefined) assertEquals(error, ofRun);
    return error !== undefined;
  };
  assert(await until(isThrown), "no map throws the error of its run");
  graph.map(y, host)[Symbol.dispose](); // it is thrown once
});

for (const [other, type] of [["sequence", 2], ["sparse", 5]] as const) {
  test(`compile() refuses an input that is not a tensor, by name: ${other}`, async () => {
    using ort = openOnnxRuntime();
    const value = { type: "f32", shape: [2] } as const;
    const model = onnxModel({
      inputs: [{ ...value, name: "x" }, { ...value, name: "z", other }],
      outputs: [{ ...value, name: "y" }],
      nodes: [{ op: "Identity", inputs: ["x"], outputs: ["y"] }],
    });
    await assertRejects(() => ort.compile(model), InteropError, `inputs.z is not a tensor (ONNXType ${type}).`);
  });
}
