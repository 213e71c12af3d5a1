/** A program of broken_test.ts: models with wrong bytes, from one seed to another. It prints what came of each. */
import { InteropError } from "../../mod.ts";
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

/** The most elements of an input along a dimension: a model may ask for any number. */
const MOST = 64;

function outcomeOf(seed: number): string {
  try {
    using ort = openOnnxRuntime();
    using session = ort.compileSync(mutated(MODEL, seed), { threads: 2 });
    using inputs = new DisposableStack();
    const given = session.inputs.map(({ name, shape, dtype }) => {
      const sizes = shape.map((n) => n === -1 ? 2 : Math.min(n, MOST));
      return [name, inputs.use(ort.allocate({ shape: sizes, dtype }))] as const;
    });
    for (const tensor of Object.values(session.run(Object.fromEntries(given)))) inputs.use(tensor);
    return "ran";
  } catch (error) {
    if (error instanceof InteropError) return error.constructor.name;
    throw error;
  }
}

const [from, to] = Deno.args.map(Number);
for (let seed = from; seed < to; seed++) {
  console.log(`${seed} begins`);
  console.log(`${seed} ${outcomeOf(seed)}`);
}
