/** A program of both_test.ts: opens APIs in the order of its arguments, and runs one input through all of them. */
import { assertEquals } from "@std/assert";
import { type Context, host, ledger, MapperGraph } from "../../mod.ts";
import { OpenCLContext } from "../../src/opencl/mod.ts";
import { OpenCVContext } from "../../src/opencv/mod.ts";
import type { OnnxRuntimeContext } from "../../src/onnxruntime/mod.ts";
import type { OpenVINOContext } from "../../src/openvino/mod.ts";
import { openOnnxRuntime } from "../onnxruntime/open.ts";
import { openOpenVINO } from "../openvino/open.ts";
import { unary } from "./onnx.ts";

const OPEN: Readonly<Record<string, () => Context>> = {
  opencl: () => OpenCLContext.open(),
  opencv: () => OpenCVContext.open(),
  onnxruntime: openOnnxRuntime,
  openvino: openOpenVINO,
};

const SIGMOID = unary("Sigmoid", "f32", [64, 64]);

{
  using contexts = new DisposableStack();
  const opened = Object.fromEntries(Deno.args.map((name) => [name, contexts.use(OPEN[name]())]));
  const ort = opened.onnxruntime as OnnxRuntimeContext;
  const ov = opened.openvino as OpenVINOContext;
  const cv = opened.opencv as OpenCVContext;
  const cl = opened.opencl as OpenCLContext;
  using graph = new MapperGraph([host, ...Object.values(opened)]);
  using input = host.allocate({ shape: [64, 64], dtype: "f32" });
  const outputs = [0, 1].map(() => contexts.use(host.allocate({ shape: [64, 64], dtype: "f32" })));
  {
    using program = cl.program("kernel void fill(global float *x) { x[get_global_id(0)] = 0.5f; }");
    using fill = program.kernel("fill");
    using x = graph.map(input, cl);
    fill.run({ items: [64 * 64] }, [x]);
  }
  {
    using mat = graph.map(input, cv.mat);
    cv.GaussianBlur(mat, mat, [5, 5], { sigmaX: 1 });
  }
  using one = ort.compileSync(SIGMOID, { threads: 2 });
  using other = await ov.compile(SIGMOID);
  {
    using x = graph.map(input, ort, { access: "read" });
    using same = graph.map(input, ov, { access: "read" }); // two readers of one block
    using y = graph.map(outputs[0], ort, { access: "write" });
    using z = graph.map(outputs[1], ov, { access: "write" });
    await Promise.all([one.runAsync({ x }, { y }), other.runAsync({ x: same }, { y: z })]);
  }
  const expected = 1 / (1 + Math.exp(-0.5));
  for (const output of outputs) {
    const off = (output.view() as Float32Array).map((value) => Math.abs(value - expected));
    assertEquals(off.every((by) => by < 0.005), true);
  }
  assertEquals([ort, ov, cv, cl].map(({ bytesCopied }) => bytesCopied), [0, 0, 0, 0]);
}
console.log(JSON.stringify(ledger.alive));
