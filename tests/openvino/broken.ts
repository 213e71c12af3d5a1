/** A program of broken_test.ts: models with wrong bytes, from one seed to another. It prints what came of each. */
import { InteropError } from "../../mod.ts";
import { mutated } from "../inference/mutated.ts";
import { irModel, parameter } from "./models.ts";
import { openOpenVINO } from "./open.ts";

const SHAPE = [2, 4];

const MODEL = irModel([
  parameter("x", "f32", SHAPE),
  parameter("w", "f32", SHAPE),
  {
    type: "Multiply",
    data: 'auto_broadcast="numpy"',
    inputs: [0, 1],
    output: { name: "p", type: "f32", shape: SHAPE },
  },
  { type: "Sigmoid", inputs: [2], output: { name: "y", type: "f32", shape: SHAPE } },
], [3]);

/** The most elements of an input along a dimension: a model may ask for any number. */
const MOST = 64;

function outcomeOf(seed: number): string {
  try {
    using ov = openOpenVINO();
    using session = ov.compileSync(mutated(MODEL, seed), { copy: "allow" });
    using inputs = new DisposableStack();
    const given = session.inputs.map(({ name, shape, dtype }) => {
      const sizes = shape.map((n) => n === -1 ? 2 : Math.min(n, MOST));
      return [name, inputs.use(ov.allocate({ shape: sizes, dtype }))] as const;
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
