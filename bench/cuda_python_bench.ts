// A CUDA tensor as a torch tensor and back, of 256 floats, each released again; and a lap of a ring in which a kernel and
// PyTorch take turns on the same words, each on a stream of its own. Python's own programs do both with CuPy.

import { CudaContext } from "@samepage/interop/cuda";
import { Python, type PythonObject } from "@samepage/interop/python";
import { lackingOnGpu } from "../tests/python/gpu/gpu.ts";
import { COUNT, inOrder, ourTurn, ringOfPyTorch } from "../tests/python/gpu/ring.ts";
import { type Figure, figure } from "./harness/figure.ts";
import { atMost, faster } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { forGood } from "./harness/sharing.ts";
import { here, program, PYTHON, side } from "./harness/way.ts";

const SIZE = { shape: [256], dtype: "f32" } as const;

const cupy = (operation: string) =>
  program("CuPy, PyTorch", () => ({ path: PYTHON, args: [side("sides/cuda_array_side.py")] }), operation);

let opened: CudaContext | undefined;
const gpu = () => opened ??= CudaContext.open();

function toTorch(): Operation {
  const [cuda, python] = [gpu(), Python.open()];
  const tensor = cuda.allocate(SIZE);
  return {
    run(count) {
      for (let i = 0; i < count; i++) python.toArray(tensor, "torch")[Symbol.dispose]();
    },
  };
}

function fromTorch(): Operation {
  const [contexts, python] = [[gpu()], Python.open()];
  const array = python.run<PythonObject>("import torch; torch.zeros(256, device='cuda')");
  return {
    run(count) {
      for (let i = 0; i < count; i++) python.fromArray(array, { contexts })[Symbol.dispose]();
    },
  };
}

function laps(): Operation {
  const [cuda, python, made] = [gpu(), Python.open(), forGood()];
  const ring = made.use(ringOfPyTorch(python));
  const ours = ourTurn(cuda, made);
  const theirs = inOrder(python, ring);
  const words = made.use(cuda.allocate({ shape: [COUNT], dtype: "i32" }));
  cuda.stream.fill(words, 0);
  ring.call("start", COUNT);
  let number = 0;
  return {
    run(count) {
      for (let i = 0; i < count; i++) {
        ours.turn(words, number++);
        theirs(words, number++);
      }
      ring.call("finish");
      cuda.stream.finish();
    },
    settle() {
      if (ours.wrong() + ring.call<number>("found") > 0) throw new Error("words were wrong");
    },
  };
}

const FIGURES: readonly Figure[] = [
  {
    id: "python-cuda-to-torch",
    title: "a CUDA tensor as a torch tensor, and its release",
    goal: atMost(1.5),
    on: "cuda",
    ways: [cupy("to_torch"), here("samepage", toTorch)],
  },
  {
    id: "python-cuda-from-torch",
    title: "a torch tensor as a CUDA tensor, and its release",
    goal: atMost(1.5),
    on: "cuda",
    ways: [cupy("from_torch"), here("samepage", fromTorch)],
  },
  {
    id: "python-cuda-ring",
    title: "a lap of a kernel and PyTorch on the same words, in turn",
    goal: faster(1),
    on: "cuda",
    ways: [cupy("lap"), here("samepage", laps)],
  },
];

// They need what no other bench of CUDA's does: without, they are left out.
if (lackingOnGpu("torch", "cupy") === undefined) FIGURES.forEach(figure);
