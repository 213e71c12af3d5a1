/**
 * A run is a command: what else uses its tensors waits for it, or is refused, and it waits for them. Each test fails where
 * that wait, or that refusal, is taken out: runs take some fifty milliseconds, and memory is read past samepage.
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  AccessError,
  DisposedError,
  type Fence,
  type Frame,
  host,
  type HostTensor,
  imageInfo,
  MapperGraph,
} from "@samepage/interop";
import { FrameRing } from "@samepage/interop/channel";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import type { InferenceContext } from "../../src/inference/context.ts";
import type { InferenceTensor } from "../../src/inference/tensor.ts";
import { separateFrame, until } from "../conformance/bytes.ts";
import { HERE, open as openCL } from "../opencl/help.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
import { warningsOf } from "../warnings.ts";
import { ONNX_TYPES, onnxModel, power, SIDE, unary } from "./onnx.ts";
import { forEachRuntime, rawNumber, type There } from "./runtimes.ts";

const LAST = SIDE * SIDE - 1;

const MATRIX = { type: "f32", shape: [SIDE, SIDE] } as const;

const SLOW = onnxModel({
  inputs: [{ ...MATRIX, name: "x" }],
  outputs: [{ ...MATRIX, name: "y" }],
  nodes: power("x", "y"),
});

/** The same on the first plane of a picture. */
const PLANES = onnxModel({
  inputs: [{ name: "luma", type: "u8", shape: [SIDE, SIDE] }, {
    name: "chroma",
    type: "u8",
    shape: [SIDE / 2, SIDE / 2, 2],
  }],
  outputs: [{ ...MATRIX, name: "y" }, { name: "uv", type: "u8", shape: [SIDE / 2, SIDE / 2, 2] }],
  nodes: [
    { op: "Cast", inputs: ["luma"], outputs: ["x"], attributes: { to: ONNX_TYPES.f32 } },
    ...power("x", "y"),
    { op: "Identity", inputs: ["chroma"], outputs: ["uv"] },
  ],
});

interface Pair extends There {
  /** The unit matrix. */
  readonly read: HostTensor;
  /** Memory for the result, full of nines. */
  readonly written: HostTensor;
}

/** A test of a session whose runs take long. */
function pairTest(name: string, use: (there: Pair) => unknown, model = SLOW, lacks?: string): void {
  forEachRuntime(name, model, async (there) => {
    using read = host.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
    using written = host.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
    for (let i = 0; i < SIDE; i++) read.view()[i * (SIDE + 1)] = 1;
    written.view().fill(9 as never);
    await use({ ...there, read, written });
  }, lacks);
}

const noPoCL = HERE.includes("pocl") ? undefined : "PoCL";

/** Is the run over that writes the unit matrix here? */
function isWritten(tensor: HostTensor): boolean {
  return rawNumber(tensor, LAST) === 1 && rawNumber(tensor, LAST - 1) === 0;
}

/** Both as the runtime's. */
function mapped({ context, graph, read, written }: Pair): [InferenceTensor, InferenceTensor] {
  return [graph.map(read, context, { access: "read" }), graph.map(written, context, { access: "write" })];
}

/** A kernel `change` of OpenCL's on the CPU, once proofs and compilers are through: `start` returns the map it works on. */
async function withKernel(
  { context, read, written }: Pair,
  source: string,
  use: (graph: MapperGraph, start: (tensor: HostTensor) => OpenCLTensor, fence: () => Fence) => Promise<void>,
): Promise<void> {
  using cl = openCL("pocl");
  using graph = new MapperGraph([host, context, cl]);
  using program = cl.program(source);
  using kernel = program.kernel("change");
  const start = (tensor: HostTensor) => {
    const buffer = graph.map(tensor, cl);
    kernel.run({ items: [SIDE * SIDE] }, [buffer]);
    return buffer;
  };
  using other = host.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
  start(other)[Symbol.dispose]();
  for (const tensor of [read, written]) graph.map(tensor, cl, { access: "read" })[Symbol.dispose]();
  await use(graph, start, () => cl.queue.fence());
}

pairTest(
  "a kernel writes an input once the run that reads it is over",
  async (there) => {
    const { session, read, written } = there;
    await withKernel(there, `kernel void change(global float *x) { x[get_global_id(0)] = 0; }`, async (_, start) => {
      const [x, y] = mapped(there);
      const run = session.runAsync({ x }, { y });
      const ended = x[Symbol.asyncDispose]();
      start(read)[Symbol.dispose](); // its map waits for the run
      await Promise.all([run, ended]);
      y[Symbol.dispose]();
      assert(isWritten(written), "the run has read what the kernel wrote");
      assertEquals(read.view()[0], 0);
    });
  },
  SLOW,
  noPoCL,
);

pairTest(
  "a kernel reads an output once the run that writes it is over",
  async (there) => {
    const { session, written } = there;
    await withKernel(there, `kernel void change(global float *x) { x[get_global_id(0)] *= 2; }`, async (_, start) => {
      const [x, y] = mapped(there);
      using _x = x;
      const run = session.runAsync({ x }, { y });
      y[Symbol.dispose]();
      start(written)[Symbol.dispose]();
      assertEquals([written.view()[0], written.view()[1]], [2, 0]);
      await run;
    });
  },
  SLOW,
  noPoCL,
);

pairTest(
  "a run waits for a kernel in flight, and reads what it has written",
  async (there) => {
    const { context, session, read, written } = there;
    const source = `kernel void change(global float *x) {
    size_t i = get_global_id(0);
    for (int n = 0; n < 400; n++) ((volatile global float *)x)[i] = n < 399 ? 9 : i % ${SIDE + 1} == 0;
  }`;
    await withKernel(there, source, async (graph, start, fence) => {
      read.view().fill(5 as never);
      start(read).disposeAfter(fence());
      {
        using x = graph.map(read, context, { access: "read" }); // it waits: the bytes are on their way back
        using y = graph.map(written, context, { access: "write" });
        await session.runAsync({ x }, { y });
      }
      assert(isWritten(written));
    });
  },
  SLOW,
  noPoCL,
);

pairTest("the host waits for a run: a view of its output shows the result", async (there) => {
  const [x, y] = mapped(there);
  using _x = x;
  const run = there.session.runAsync({ x }, { y });
  assertThrows(() => there.written.view(), AccessError); // it is lent
  await y[Symbol.asyncDispose]();
  assert(isWritten(there.written));
  await run;
});

pairTest("an output in flight is lent to a promise once the run is over", async (there) => {
  const { session, written } = there;
  const [x, y] = mapped(there);
  using _x = x;
  const run = session.runAsync({ x }, { y });
  const ended = y[Symbol.asyncDispose]();
  await written.lend(() => Promise.resolve(assert(isWritten(written))));
  await Promise.all([run, ended]);
});

pairTest("run() and runAsync() refuse a tensor that is lent to a promise", async ({ context, graph, session }) => {
  using x = context.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
  using y = context.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
  using seen = graph.map(y, host);
  const { promise, resolve } = Promise.withResolvers<void>();
  const lent = seen.lend(() => promise);
  assertThrows(() => session.run({ x }, { y }), AccessError, "outputs.y");
  await assertRejects(() => session.runAsync({ x }, { y }), AccessError, "outputs.y");
  assertThrows(() => session.run({ x: y }), AccessError, "inputs.x");
  resolve();
  await lent;
});

for (const end of ["session", "context", "tensor"] as const) {
  pairTest(`the end of a ${end} waits for the run in flight`, async (there) => {
    const { runtime, read, written } = there;
    const context = runtime.open();
    const session = runtime.compile(context, SLOW);
    using graph = new MapperGraph([host, context]);
    const [x, y] = mapped({ ...there, context, graph });
    const run = session.runAsync({ x }, { y });
    const settled = run.then(() => undefined, (error) => error.constructor);
    ({ session, context, tensor: x })[end][Symbol.dispose]();
    assert(isWritten(written), "the run goes on");
    assertEquals(await settled, end === "tensor" ? undefined : DisposedError);
    for (const object of [x, y, session, context]) object[Symbol.dispose]();
    assertEquals(read.view()[0], 1);
  });
}

pairTest("a run waits for the run of another session that writes its input", async (there) => {
  const { runtime, context, graph, read } = there;
  using other = runtime.compile(context, SLOW);
  using x = graph.map(read, context, { access: "read" });
  using between = context.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
  using y = context.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
  const first = there.session.runAsync({ x }, { y: between });
  const second = other.runAsync({ x: between }, { y });
  await Promise.all([first, second]);
  using seen = graph.map(y, host, { access: "read" });
  assertEquals([seen.view()[LAST], seen.view()[LAST - 1]], [1, 0]);
});

pairTest("a run that writes the output of another run waits for that", async (there) => {
  const { runtime, context, graph, session, read } = there;
  using fast = runtime.compile(context, unary("Identity", "f32", [SIDE, SIDE]));
  using zero = context.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
  using x = graph.map(read, context, { access: "read" });
  using y = context.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
  await Promise.all([session.runAsync({ x: zero }, { y }), fast.runAsync({ x }, { y })]);
  using seen = graph.map(y, host, { access: "read" });
  assertEquals([seen.view()[LAST], seen.view()[LAST - 1]], [1, 0]);
});

pairTest("runAsync() stops at a signal, and rejects with its reason", async (there) => {
  const reason = new Error("enough");
  /** False where the run was over before the signal came, as on a busy machine. */
  const isStopped = async () => {
    there.written.view().fill(9 as never);
    const [x, y] = mapped(there);
    using _x = x;
    using _y = y;
    const abort = new AbortController();
    const run = there.session.runAsync({ x }, { y }, { signal: abort.signal });
    abort.abort(reason);
    const error = await run.then(() => undefined, (error) => error);
    if (error !== undefined) assertEquals(error, reason);
    return error !== undefined && !isWritten(there.written);
  };
  assert(await until(isStopped), "every run went on to its end");
  const [x, y] = mapped(there);
  using _x = x;
  using _y = y;
  await there.session.runAsync({ x }, { y });
  assert(isWritten(there.written));
});

pairTest("a signal that comes after the end of the session stops nothing", async (there) => {
  const { runtime, context, written } = there;
  const reason = new Error("late");
  for (let time = 0; time < 5; time++) { // memory that was freed may look as it did for a while
    const session = runtime.compile(context, SLOW);
    const [x, y] = mapped(there);
    using _x = x;
    const abort = new AbortController();
    const settled = session.runAsync({ x }, { y }, { signal: abort.signal }).then(() => undefined, (error) => error);
    session[Symbol.dispose]();
    const warnings = await warningsOf(() => abort.abort(reason));
    assertEquals([await settled, warnings], [reason, []]);
    y[Symbol.dispose]();
    assert(isWritten(written));
  }
});

pairTest("the planes of a frame are inputs in place, and each waits for the run", async (there) => {
  const { context, graph, session, written } = there;
  const info = imageInfo({ format: "NV12", width: SIDE, height: SIDE });
  using frame = separateFrame((init) => host.allocate(init), info) as Frame<HostTensor>;
  using uv = context.allocate({ shape: [SIDE / 2, SIDE / 2, 2], dtype: "u8" });
  const [luma, chroma] = frame.planes;
  for (let i = 0; i < SIDE; i++) luma.view()[i * (SIDE + 1)] = 1;
  chroma.view().fill(8 as never);
  for (const which of [0, 1]) {
    written.view().fill(9 as never);
    {
      using x = graph.map(frame, context, { access: "read" }) as Frame<InferenceTensor>;
      using y = graph.map(written, context, { access: "write" });
      assertEquals(x.planes.map(({ address }) => address), frame.planes.map(({ address }) => address));
      const run = session.runAsync({ luma: x.planes[0], chroma: x.planes[1] }, { y, uv });
      await x.planes[which].finished();
      assert(isWritten(written), `plane ${which} does not wait for the run`);
      await run;
    }
  }
  using seen = graph.map(uv, host, { access: "read" });
  assertEquals(seen.view()[5], 8);
}, PLANES);

pairTest("a frame of a ring goes to its writer once the run is over", async (there) => {
  const { context, graph, session, read, written } = there;
  const folder = await Deno.makeTempDir();
  try {
    const slots = [0, 1].map(() => host.allocate({ shape: [SIDE, SIDE], dtype: "f32", sharable: true }));
    await using writer = FrameRing.create(`${folder}/ring`, { frames: slots });
    await using reader = await FrameRing.open<HostTensor>(`${folder}/ring`, { contexts: [host] });
    await writer.joined();
    const slot = await writer.next();
    slot.view().set(read.view() as never);
    await writer.publish(slot);
    const frame = (await reader.next())!;
    const x = graph.map(frame, context, { access: "read" });
    using y = graph.map(written, context, { access: "write" });
    assertEquals(x.route!.bytesMoved, 0);
    const run = session.runAsync({ x }, { y });
    await frame[Symbol.asyncDispose](); // the writer has it back, and may write it
    assert(isWritten(written), "the writer has the frame while the run reads it");
    await run;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

pairTest(
  "OpenCV may not write a Mat that a run reads, and waits for the run once the Mat is on its way back",
  async (there) => {
    const { context, session, read, written } = there;
    using cv = OpenCVContext.open();
    using graph = new MapperGraph([host, cv, context]);
    using mat = cv.mat.create({ shape: [SIDE, SIDE], dtype: "f32" });
    using zero = cv.mat.create({ shape: [SIDE, SIDE], dtype: "f32" });
    {
      using bytes = graph.map(mat, host);
      bytes.view().set(read.view() as never);
    }
    const x = graph.map(mat, context as InferenceContext, { access: "read" });
    const y = graph.map(written, context as InferenceContext, { access: "write" });
    assertEquals([x.address, x.route!.bytesMoved], [mat.address, 0]);
    const run = session.runAsync({ x }, { y });
    assertThrows(() => cv.copyTo(zero, mat), AccessError); // it is lent to the run
    const ended = x[Symbol.asyncDispose]();
    cv.copyTo(zero, mat); // it is on its way back: that waits for the run
    await ended;
    await run;
    y[Symbol.dispose]();
    assert(isWritten(written), "the run has read what OpenCV wrote over");
  },
  SLOW,
  hasOpenCV ? undefined : "OpenCV",
);
