/** A program of broken_test.ts: models with wrong bytes, from one seed to another. It prints what came of each. */
import { runBroken } from "../inference/broken.ts";
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

runBroken(openOpenVINO, (ov, seed) => ov.compileSync(mutated(MODEL, seed), { copy: "allow" }));
