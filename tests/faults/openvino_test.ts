/** Every native call for OpenVINO's sessions fails once: what comes of it is typed, and nothing stays alive. */
import { assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import type { OpenVINOContext, OpenVINOSession, OpenVINOTensor, Preprocess } from "../../src/openvino/mod.ts";
import { irModel, parameter, unary } from "../openvino/models.ts";
import { test as openvinoTest } from "../openvino/help.ts";
import { LIBRARY, openOpenVINO } from "../openvino/open.ts";
import { FAILURES } from "./failures.ts";
import { stopping } from "../inference/stopped.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();

const SHAPE = [1, 3, 4, 4];

/** Two outputs, so that one is made before the other; the second is a constant's sum. */
const TWO = irModel([
  parameter("x", "f32", SHAPE),
  { type: "Sigmoid", inputs: [0], output: { name: "y", type: "f32", shape: SHAPE } },
  {
    type: "Const",
    data: 'element_type="f32" shape="1" offset="0" size="4"',
    inputs: [],
    output: { name: "c", type: "f32", shape: [1] },
  },
  { type: "Add", data: 'auto_broadcast="numpy"', inputs: [0, 2], output: { name: "z", type: "f32", shape: SHAPE } },
], [1, 3]);

const ONE = unary("Sigmoid", "f32", [4]);

const weights = new Float32Array([1]);

/** All that preprocessing has. */
const PREPROCESS = {
  x: {
    ...{ dtype: "u8", format: "NV12", layout: "NHWC", modelLayout: "NCHW" },
    ...{ size: [8, 8], mean: [1, 2, 3], scale: [1, 2, 3] },
  },
} satisfies Record<string, Preprocess>;

interface There {
  readonly ov: OpenVINOContext;
  readonly session: OpenVINOSession;
  readonly x: OpenVINOTensor;
}

/** With one core, a thread of OpenVINO's runs what `run()` would. */
const [ONE_CORE, RUN_HERE] = [navigator.hardwareConcurrency === 1, "ov_infer_request_infer"];

/** The calls that were made to fail, over all tests. */
const seen = new Set<string>();

function test(name: string, operation: (there: There) => unknown, silent: readonly string[] = []): void {
  openvinoTest(`faults: ${name}`, async () => {
    using ov = openOpenVINO();
    using session = ov.compileSync(TWO, { weights });
    using x = ov.allocate({ shape: SHAPE, dtype: "f32" });
    const there = { ov, session, x };
    await operation(there);
    const intact = () => dispose(session.run({ x }));
    for (const { call } of await sweep(() => operation(there), intact, silent)) seen.add(call);
  });
}

function dispose(made: Readonly<Record<string, OpenVINOTensor>>): void {
  for (const tensor of Object.values(made)) tensor[Symbol.dispose]();
}

test("opening with a property", ({ ov }) => {
  const { open } = ov.constructor as typeof OpenVINOContext;
  open({ library: LIBRARY!, properties: { INFERENCE_NUM_THREADS: "1" } })[Symbol.dispose]();
});

test("asking for devices", ({ ov }) => ov.devices);

/** What only a context on a GPU calls. */
const GPU = /create_context|with_context|remote_context_create|set_memory_type/;

/** Its answer here is an error, which is the reason: nothing else hears of it. */
const REMOTE = ["openvino.ov_core_get_default_context"];

test("asking why memory of a GPU's is closed", ({ ov }) => ov.closedRemote, REMOTE);

test("compiling on this thread, with preprocessing", ({ ov }) => {
  ov.compileSync(TWO, { weights, preprocess: PREPROCESS })[Symbol.dispose]();
});

test("compiling on another thread, and the first runs", async ({ ov }) => {
  using session = await ov.compile(ONE);
  using x = ov.allocate({ shape: [4], dtype: "f32" });
  dispose(session.run({ x }));
  dispose(await session.runAsync({ x }));
});

test("a run into memory of the host's", ({ ov, session }) => {
  using graph = new MapperGraph([host, ov]);
  using tensors = new DisposableStack();
  const [x, y, z] = [0, 1, 2].map(() => {
    const tensor = tensors.use(host.allocate({ shape: SHAPE, dtype: "f32" }));
    return tensors.use(graph.map(tensor, ov));
  });
  session.run({ x }, { y, z });
});

test("a run that is stopped, and one after it", async ({ session, x }) => {
  const signal = stopping();
  await session.runAsync({ x }, {}, { signal }).catch((error) => {
    if (error !== signal.reason) throw error;
  });
  dispose(await session.runAsync({ x }));
}, ["openvino.ov_infer_request_wait"]); // how a stopped run ended is not asked

Deno.test({
  name: `faults: openvino: every function that can fail was made to${LIBRARY === undefined ? " (skipped)" : ""}`,
  ignore: LIBRARY === undefined,
  fn() {
    const failing = Object.entries(FAILURES.openvino).filter(([, failure]) => failure !== undefined);
    const here = failing.map(([name]) => name).filter((name) => !GPU.test(name)); // openvino_gpu_test.ts, openvino_surfaces_test.ts
    const missing = here.filter((name) => !seen.has(`openvino.${name}`) && !(ONE_CORE && name === RUN_HERE));
    assertEquals(missing, []);
  },
});
