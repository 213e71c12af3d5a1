/** A program of broken_test.ts: models with wrong bytes, from one seed to another. It prints what came of each. */
import { runBroken } from "../inference/broken.ts";
import { mutated } from "../inference/mutated.ts";
import { onnxModel } from "../inference/onnx.ts";
import { openOnnxRuntime } from "./open.ts";

const MODEL = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: ["n", 4] }, { name: "w", type: "f32", shape: [4, 4] }],
  outputs: [{ name: "y", type: "f32", shape: ["m", 2] }],
  constants: [{ name: "shape", values: [-1, 2] }],
  nodes: [
    { op: "MatMul", inputs: ["x", "w"], outputs: ["p"] },
    { op: "Sigmoid", inputs: ["p"], outputs: ["s"] },
    { op: "Reshape", inputs: ["s", "shape"], outputs: ["y"], attributes: { allowzero: 0 } },
  ],
});

runBroken(openOnnxRuntime, (ort, seed) => ort.compileSync(mutated(MODEL, seed), { threads: 2 }));
