// A run is a command: what else uses its tensors waits for it, and it for them.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, host, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import type { OpenVINOTensor } from "@samepage/interop/openvino";
import { create, freshPath, INFO, open, publish } from "../channel/ring_help.ts";
import { until } from "../conformance/bytes.ts";
import { irModel, parameter, unary } from "./models.ts";
import { test } from "./help.ts";
import { openOpenVINO } from "./open.ts";

const N = 1 << 20;

/** Some milliseconds of work: `y = exp(exp(… x))`, clamped between. */
function slow(steps: number) {
  const shape = [N];
  const layers = [parameter("x", "f32", shape)];
  for (let i = 0; i < steps; i++) {
    const name = i === steps - 1 ? "y" : `t${i}`;
    layers.push({ type: i % 2 === 0 ? "Sin" : "Cos", inputs: [i], output: { name, type: "f32", shape } });
  }
  return irModel(layers, [steps]);
}

const SLOW = slow(24);

function expected(x: number, steps = 24): number {
  let value = x;
  for (let i = 0; i < steps; i++) value = Math.fround(i % 2 === 0 ? Math.sin(value) : Math.cos(value));
  return value;
}

function near(got: number, wanted: number): void {
  assert(Math.abs(got - wanted) < 1e-4, `${got} is not ${wanted}`);
}

test("a kernel that writes the input of a run in flight waits for it", async () => {
  using cl = OpenCLContext.open();
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, cl, ov]);
  using session = ov.compileSync(SLOW);
  using program = cl.program("kernel void set(global float *x, float value) { x[get_global_id(0)] = value; }");
  using set = program.kernel("set");
  using pixels = host.allocate({ shape: [N], dtype: "f32" });
  using result = host.allocate({ shape: [N], dtype: "f32" });
  pixels.view().fill(0.5);
  using y = graph.map(result, ov, { access: "write" });
  {
    using x = graph.map(pixels, ov, { access: "read" });
    const run = session.runAsync({ x }, { y });
    assertEquals([x.work.length, y.work.length], [1, 1]);
    x.disposeAfter(x.work[0]);
    {
      using onDevice = graph.map(pixels, cl);
      set.run({ items: [N] }, [onDevice, 7]);
    }
    await run;
  }
  y[Symbol.dispose]();
  assertEquals(pixels.view()[N - 1], 7);
  near(result.view()[N - 1], expected(0.5));
});

test("a run waits for the kernel that writes its input", async () => {
  using cl = OpenCLContext.open();
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, cl, ov]);
  using session = ov.compileSync(SLOW);
  using program = cl.program(`kernel void slow(global float *x) {
    float v = 0; for (int i = 0; i < 300; i++) v = sin(v) + 0.001f; x[get_global_id(0)] = v * 0 + 0.25f;
  }`);
  using write = program.kernel("slow");
  using pixels = host.allocate({ shape: [N], dtype: "f32" });
  const onDevice = graph.map(pixels, cl);
  write.run({ items: [4096] }, [onDevice]);
  onDevice.disposeAfter(cl.queue.fence());
  using x = graph.map(pixels, ov, { access: "read" });
  using y = (await session.runAsync({ x })).y;
  using seen = graph.map(y, host, { access: "read" });
  near(Number(seen.view()[4095]), expected(0.25));
});

test("an output in flight refuses views, and its map to the host waits", async () => {
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, ov]);
  using session = ov.compileSync(SLOW);
  using x = ov.allocate({ shape: [N], dtype: "f32" });
  using y = ov.allocate({ shape: [N], dtype: "f32" });
  const run = session.runAsync({ x }, { y });
  {
    using seen = graph.map(y, host, { access: "read" });
    near(Number(seen.view()[N - 1]), expected(0));
  }
  await run;
});

test("two runs into one output follow one another", async () => {
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, ov]);
  using session = ov.compileSync(SLOW);
  using inputs = new DisposableStack();
  using y = ov.allocate({ shape: [N], dtype: "f32" });
  const runs = [0.1, 0.2, 0.3].map((value) => {
    const x = inputs.use(ov.allocate({ shape: [N], dtype: "f32" }));
    {
      using seen = graph.map(x, host);
      (seen.view() as Float32Array).fill(value);
    }
    return session.runAsync({ x }, { y });
  });
  await Promise.all(runs);
  using seen = graph.map(y, host, { access: "read" });
  near(Number(seen.view()[N - 1]), expected(Math.fround(0.3)));
});

test("the end of a tensor, a session or a context waits for the run in flight", async () => {
  for (const end of ["tensor", "session", "context"] as const) {
    const ov = openOpenVINO();
    const session = ov.compileSync(SLOW);
    const x = ov.allocate({ shape: [N], dtype: "f32" });
    const y = ov.allocate({ shape: [N], dtype: "f32" });
    const run = session.runAsync({ x }, { y });
    const settled = run.then(() => "over", (error) => error instanceof DisposedError ? "disposed" : String(error));
    ({ tensor: x, session, context: ov })[end][Symbol.dispose]();
    assertEquals(y.resource.isLive ? y.work.length : 0, 0);
    assertEquals(await settled, end === "tensor" ? "over" : "disposed");
    for (const object of [x, y, session, ov]) object[Symbol.dispose]();
  }
});

test("a tensor that is lent to a promise is refused, and so are outputs that are inputs, or only to be read", async () => {
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, ov]);
  using session = ov.compileSync(SLOW);
  using pixels = host.allocate({ shape: [N], dtype: "f32" });
  using y = ov.allocate({ shape: [N], dtype: "f32" });
  const { promise, resolve } = Promise.withResolvers<void>();
  const lent = pixels.lend(() => promise);
  assertThrows(() => graph.map(pixels, ov), AccessError);
  resolve();
  await lent;
  using x = graph.map(pixels, ov, { access: "read" });
  using held = graph.map(x, host, { access: "read" });
  await session.runAsync({ x }, { y }); // two readers
  assertThrows(() => session.run({ x }, { y: x }), ArgumentError, "outputs.y: it shares bytes with inputs.x.");
  assertThrows(() => session.run({ x: y }, { y: x }), AccessError, "write");
  assert(held.resource.isLive);
});

test("runAsync() stops at a signal, and rejects with its reason", async () => {
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, ov]);
  using session = ov.compileSync(slow(200));
  using x = ov.allocate({ shape: [N], dtype: "f32" });
  const reason = new Error("enough");
  const last = (y: OpenVINOTensor): number => {
    using seen = graph.map(y, host, { access: "read" });
    return Number(seen.view()[N - 1]);
  };
  /** False where the run was over before the signal came, as on a busy machine. */
  const isStopped = async () => {
    const abort = new AbortController();
    using y = ov.allocate({ shape: [N], dtype: "f32" });
    const run = session.runAsync({ x }, { y }, { signal: abort.signal });
    setTimeout(() => abort.abort(reason), 5);
    const error = await run.then(() => undefined, (error) => error);
    if (error !== undefined) assertEquals(error, reason);
    return error !== undefined && last(y) === 0; // the last of many layers did not run
  };
  assert(await until(isStopped), "every run went on to its end");
  using y = ov.allocate({ shape: [N], dtype: "f32" });
  await session.runAsync({ x }, { y }); // the same request
  near(last(y), expected(0, 200));
});

test("a frame of a FrameRing is an input in place", async () => {
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, ov]);
  const { width, height } = INFO;
  using session = ov.compileSync(unary("Relu", "f32", [1, 3, height, width]), {
    preprocess: { x: { format: "NV12", dtype: "u8", modelLayout: "NCHW" } },
  });
  {
    const path = freshPath();
    await using ring = create(path);
    await using reader = await open(path);
    await publish(ring, 128);
    {
      using came = (await reader.next())!;
      using x = graph.map(came, ov, { access: "read" });
      assertEquals(x.planes.map(({ address }) => address), came.planes.map(({ address }) => address));
      using y = (await session.runAsync({ x })).y;
      using seen = graph.map(y, host, { access: "read" });
      assert(Math.abs(Number(seen.view()[0]) - 1.164 * 112) < 1.5, `${seen.view()[0]}`);
    }
  }
});
