/** Runs in flight beside other APIs: what uses their memory next waits for them. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, type Frame, host, type HostTensor, imageInfo, MapperGraph } from "@samepage/interop";
import { FrameRing } from "@samepage/interop/channel";
import { OpenCVContext } from "@samepage/interop/opencv";
import type { OnnxRuntimeContext, OnnxRuntimeSession, OnnxRuntimeTensor } from "@samepage/interop/onnxruntime";
import { onnxModel } from "../inference/onnx.ts";
import { HERE, open as openCL } from "../opencl/help.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
import { openOnnxRuntime, test } from "./open.ts";

/** Elements along each side of a product that takes a second core some 50 ms. */
const SIDE = 512;

/** y = x · x · … · x: a run that is still in flight when the next line of a program runs. */
const SLOW = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: [SIDE, SIDE] }],
  outputs: [{ name: "y", type: "f32", shape: [SIDE, SIDE] }],
  nodes: Array.from({ length: 12 }, (_, i) => ({
    op: "MatMul",
    inputs: [i === 0 ? "x" : `x${i}`, "x"],
    outputs: [i === 11 ? "y" : `x${i + 1}`],
  })),
});

interface There {
  readonly ort: OnnxRuntimeContext;
  readonly session: OnnxRuntimeSession;
  /** The unit matrix, and memory for a result. */
  readonly read: HostTensor;
  readonly written: HostTensor;
}

/** A test of a session whose runs take long. */
function pairTest(name: string, use: (there: There) => Promise<void>): void {
  test(name, async () => {
    using ort = openOnnxRuntime();
    using session = ort.compileSync(SLOW, { threads: 2 });
    using read = host.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
    using written = host.allocate({ shape: [SIDE, SIDE], dtype: "f32" });
    for (let i = 0; i < SIDE; i++) read.view()[i * (SIDE + 1)] = 1;
    await use({ ort, session, read, written });
  });
}

/** True for the unit matrix, which any power of it is. */
function isUnit(tensor: HostTensor): boolean {
  return (tensor.view() as Float32Array).every((value, i) => value === (i % (SIDE + 1) === 0 ? 1 : 0));
}

if (HERE.includes("pocl")) {
  pairTest("a kernel writes an input once the run that reads it is over", async ({ ort, session, read, written }) => {
    using cl = openCL("pocl");
    using graph = new MapperGraph([host, ort, cl]);
    using program = cl.program(`kernel void clear(global float *x) { x[get_global_id(0)] = 0; }`);
    using clear = program.kernel("clear");
    {
      using buffer = graph.map(written, cl); // so that proofs and compilers are through
      clear.run({ items: [1] }, [buffer]);
    }
    const x = graph.map(read, ort, { access: "read" });
    const y = graph.map(written, ort, { access: "write" });
    const run = session.runAsync({ x }, { y });
    const ended = x[Symbol.asyncDispose]();
    {
      using buffer = graph.map(read, cl); // waits for the run
      clear.run({ items: [SIDE * SIDE] }, [buffer]);
    }
    await Promise.all([run, ended]);
    y[Symbol.dispose]();
    assert(isUnit(written), "the run has read what the kernel wrote");
    assertEquals(read.view()[0], 0);
  });

  pairTest("a kernel reads an output once the run that writes it is over", async ({ ort, session, read, written }) => {
    using cl = openCL("pocl");
    using graph = new MapperGraph([host, ort, cl]);
    using program = cl.program(`kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }`);
    using twice = program.kernel("twice");
    {
      using buffer = graph.map(written, cl); // so that proofs and compilers are through
      twice.run({ items: [1] }, [buffer]);
    }
    using x = graph.map(read, ort, { access: "read" });
    const y = graph.map(written, ort, { access: "write" });
    const run = session.runAsync({ x }, { y });
    y[Symbol.dispose]();
    {
      using buffer = graph.map(written, cl);
      twice.run({ items: [SIDE * SIDE] }, [buffer]);
    }
    assertEquals([written.view()[0], written.view()[1]], [2, 0]);
    await run;
  });

  pairTest("a run waits for the kernel that writes its input", async ({ ort, session, read, written }) => {
    using cl = openCL("pocl");
    using graph = new MapperGraph([host, ort, cl]);
    using program = cl.program(`kernel void unit(global float *x) {
      size_t i = get_global_id(0);
      for (int n = 0; n < 200; n++) x[i] = n < 199 ? 9 : i % ${SIDE + 1} == 0;
    }`);
    using unit = program.kernel("unit");
    read.view().fill(5 as never);
    {
      using buffer = graph.map(read, cl);
      unit.run({ items: [SIDE * SIDE] }, [buffer]);
    }
    {
      using x = graph.map(read, ort, { access: "read" });
      using y = graph.map(written, ort, { access: "write" });
      await session.runAsync({ x }, { y });
    }
    assert(isUnit(written));
  });
}

pairTest("the host waits for a run: a view of its output shows the result", async ({ ort, session, read, written }) => {
  using graph = new MapperGraph([host, ort]);
  using x = graph.map(read, ort, { access: "read" });
  const y = graph.map(written, ort, { access: "write" });
  const run = session.runAsync({ x }, { y });
  assertThrows(() => written.view(), AccessError); // it is lent
  await y[Symbol.asyncDispose]();
  assert(isUnit(written));
  await run;
});

pairTest("bytes that are lent to a promise are not given to a run", async ({ ort, session, read, written }) => {
  using graph = new MapperGraph([host, ort]);
  await written.lend(async () => {
    assertThrows(() => graph.map(written, ort, { access: "write" }), AccessError);
    await Promise.resolve();
  });
  using x = graph.map(read, ort, { access: "read" });
  using y = graph.map(written, ort, { access: "write" });
  await session.runAsync({ x }, { y });
});

pairTest("the end of a session waits for its runs", async ({ ort, session, read, written }) => {
  using graph = new MapperGraph([host, ort]);
  const x = graph.map(read, ort, { access: "read" });
  const y = graph.map(written, ort, { access: "write" });
  const run = session.runAsync({ x }, { y });
  const settled = run.then(() => "done", (error) => error.constructor.name);
  session[Symbol.dispose]();
  x[Symbol.dispose]();
  y[Symbol.dispose]();
  assert(isUnit(written), "the run goes on while its session is gone");
  assertEquals(await settled, "DisposedError");
});

pairTest("two sessions run at a time, in the memory of one input", async ({ ort, session, read }) => {
  using other = ort.compileSync(SLOW, { threads: 2 });
  using graph = new MapperGraph([host, ort]);
  using x = graph.map(read, ort, { access: "read" });
  const results = await Promise.all([session.runAsync({ x }), other.runAsync({ x }), session.runAsync({ x })]);
  for (const { y } of results) {
    using made = y;
    using seen = graph.map(made, host, { access: "read" });
    assert(isUnit(seen));
  }
});

pairTest("a frame of a ring goes to the next reader once the run is over", async ({ ort, session, read }) => {
  const folder = await Deno.makeTempDir();
  try {
    using graph = new MapperGraph([host, ort]);
    const slots = [0, 1].map(() => host.allocate({ shape: [SIDE, SIDE], dtype: "f32", sharable: true }));
    await using writer = FrameRing.create(`${folder}/ring`, { frames: slots });
    await using reader = await FrameRing.open<HostTensor>(`${folder}/ring`, { contexts: [host] });
    await writer.joined();
    const slot = await writer.next();
    slot.view().set(read.view() as never);
    await writer.publish(slot);
    const frame = (await reader.next())!;
    const x = graph.map(frame, ort, { access: "read" });
    assertEquals(x.route!.bytesMoved, 0);
    const run = session.runAsync({ x });
    await frame[Symbol.asyncDispose](); // the writer has it back, and may write it
    for (const _ of slots) {
      const next = await writer.next();
      next.view().fill(9 as never);
      await writer.publish(next);
      (await reader.next())![Symbol.dispose]();
    }
    const { y } = await run;
    using made = y;
    using seen = graph.map(made, host, { access: "read" });
    assert(isUnit(seen), "the run has read what the writer wrote next");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

if (hasOpenCV) {
  pairTest("a Mat of OpenCV's is an input in place", async ({ ort, session, read, written }) => {
    using cv = OpenCVContext.open();
    using graph = new MapperGraph([host, cv, ort]);
    using mat = cv.mat.create({ shape: [SIDE, SIDE], dtype: "f32" });
    {
      using bytes = graph.map(mat, host);
      bytes.view().set(read.view() as never);
    }
    {
      using x = graph.map(mat, ort, { access: "read" });
      using y = graph.map(written, ort, { access: "write" });
      assertEquals([x.address, x.route!.bytesMoved], [mat.address, 0]);
      await session.runAsync({ x }, { y });
    }
    assert(isUnit(written));
  });
}

test("the planes of a frame are inputs in place", async () => {
  using ort = openOnnxRuntime();
  using session = ort.compileSync(
    onnxModel({
      inputs: [{ name: "luma", type: "u8", shape: [48, 64] }, { name: "chroma", type: "u8", shape: [24, 32, 2] }],
      outputs: [{ name: "y", type: "u8", shape: [48, 64] }, { name: "uv", type: "u8", shape: [24, 32, 2] }],
      nodes: [{ op: "Identity", inputs: ["luma"], outputs: ["y"] }, {
        op: "Identity",
        inputs: ["chroma"],
        outputs: ["uv"],
      }],
    }),
    { threads: 2 },
  );
  using graph = new MapperGraph([host, ort]);
  const info = imageInfo({ format: "NV12", width: 64, height: 48 });
  using from = host.allocateFrame(info);
  using to = host.allocateFrame(info);
  from.planes.forEach((plane, i) => plane.view().fill((7 + i) as never));
  {
    using read = graph.map(from, ort, { access: "read" }) as Frame<OnnxRuntimeTensor>;
    using written = graph.map(to, ort, { access: "write" }) as Frame<OnnxRuntimeTensor>;
    const [luma, chroma] = read.planes;
    const [y, uv] = written.planes;
    await session.runAsync({ luma, chroma }, { y, uv });
  }
  assertEquals(to.planes.map((plane) => plane.view()[5]), [7, 8]);
});
