/** Every native call for ONNX Runtime's sessions fails once: what comes of it is typed, and nothing stays alive. */
import { assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import type { OnnxRuntimeContext, OnnxRuntimeSession, OnnxRuntimeTensor } from "../../src/onnxruntime/mod.ts";
import { onnxModel, unary } from "../inference/onnx.ts";
import { LIBRARY, openOnnxRuntime, test as onnxTest } from "../onnxruntime/open.ts";
import { FAILURES } from "./failures.ts";
import { stopping } from "../inference/stopped.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();

const SIGMOID = unary("Sigmoid", "f32", [64]);

/** Two outputs, so that one is made before the other. */
const TWO = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: [64] }],
  outputs: ["y", "z"].map((name) => ({ name, type: "f32", shape: [64] })),
  nodes: ["y", "z"].map((name) => ({ op: "Sigmoid", inputs: ["x"], outputs: [name] })),
});

interface There {
  readonly ort: OnnxRuntimeContext;
  readonly session: OnnxRuntimeSession;
  readonly x: OnnxRuntimeTensor;
}

/** The calls that were made to fail, over all tests. */
const seen = new Set<string>();

function test(name: string, operation: (there: There) => unknown, silent: readonly string[] = []): void {
  onnxTest(`faults: ${name}`, async () => {
    using ort = openOnnxRuntime();
    using session = ort.compileSync(TWO, { threads: 2 });
    using x = ort.allocate({ shape: [64], dtype: "f32" });
    const there = { ort, session, x };
    await operation(there);
    const intact = () => {
      const { y, z } = session.run({ x });
      y[Symbol.dispose]();
      z[Symbol.dispose]();
    };
    for (const { call } of await sweep(() => operation(there), intact, silent)) seen.add(call);
  });
}

test("opening", () => void openOnnxRuntime()[Symbol.dispose]());

test("asking for providers", ({ ort }) => ort.providers);

test("compiling on this thread", ({ ort }) => ort.compileSync(TWO, { threads: 2 })[Symbol.dispose]());

test("compiling for a provider by its name", ({ ort }) => {
  ort.compileSync(TWO, { providers: ["AzureExecutionProvider"] })[Symbol.dispose]();
});

test("compiling on another thread", async ({ ort }) => {
  (await ort.compile(SIGMOID, { threads: 1 }))[Symbol.dispose]();
});

test("the first run of a session", ({ ort, x }) => {
  using session = ort.compileSync(SIGMOID);
  session.run({ x }).y[Symbol.dispose]();
});

test("the first run on another thread", async ({ ort, x }) => {
  using session = ort.compileSync(SIGMOID, { threads: 2 });
  (await session.runAsync({ x })).y[Symbol.dispose]();
});

test("a run into memory of the host's", ({ ort, session }) => {
  using graph = new MapperGraph([host, ort]);
  using tensors = new DisposableStack();
  const [x, y, z] = [0, 1, 2].map(() => {
    const tensor = tensors.use(host.allocate({ shape: [64], dtype: "f32" }));
    return tensors.use(graph.map(tensor, ort));
  });
  session.run({ x }, { y, z });
});

test("outputs that a run makes", ({ session, x }) => {
  using made = new DisposableStack();
  for (const tensor of Object.values(session.run({ x }))) made.use(tensor);
});

test("a run that is stopped, and one after it", async ({ session, x }) => {
  const signal = stopping();
  await session.runAsync({ x }, {}, { signal }).catch((error) => {
    if (error !== signal.reason) throw error;
  });
  dispose(await session.runAsync({ x }));
}, ["onnxruntime_run.RunElsewhere"]); // a run that is stopped fails

function dispose(made: Readonly<Record<string, OnnxRuntimeTensor>>): void {
  for (const tensor of Object.values(made)) tensor[Symbol.dispose]();
}

Deno.test({
  name: `faults: onnxruntime: every function that can fail was made to${LIBRARY === undefined ? " (skipped)" : ""}`,
  ignore: LIBRARY === undefined,
  fn() {
    const failing = Object.entries(FAILURES.onnxruntime_api).filter(([, failure]) => failure !== undefined);
    const here = failing.map(([name]) => name).filter((name) => !name.includes("CUDA")); // onnxruntime_cuda_test.ts
    const missing = here.filter((name) => !seen.has(`onnxruntime_api.${name}`));
    assertEquals(missing, []);
  },
});
