// A host tensor as a NumPy array, and a NumPy array as a host tensor, of 256 floats; each is released again.

import { host } from "@samepage/interop";
import { Python, type PythonObject } from "@samepage/interop/python";
import { lacking } from "../tests/python/help.ts";
import { figure } from "./harness/figure.ts";
import { below } from "./harness/goal.ts";
import { here, program, PYTHON, side } from "./harness/way.ts";

const missing = lacking("numpy");
const SIZE = { shape: [256], dtype: "f32" } as const;

const numpy = (operation: string) =>
  program(`numpy.${operation}`, () => ({ path: PYTHON, args: [side("sides/numpy_side.py")] }), operation);

figure({
  id: "python-to-array",
  title: "a host tensor as a NumPy array, and its release",
  goal: below(2500, "samepage"),
  ignore: missing !== undefined,
  ways: [
    numpy("frombuffer"),
    here("samepage", () => {
      const python = Python.open();
      const tensor = host.allocate(SIZE);
      return {
        run(count) {
          for (let i = 0; i < count; i++) python.toArray(tensor, "numpy")[Symbol.dispose]();
        },
      };
    }),
  ],
});

figure({
  id: "python-from-array",
  title: "a NumPy array as a host tensor, and its release",
  goal: below(2500, "samepage"),
  ignore: missing !== undefined,
  ways: [
    numpy("from_dlpack"),
    here("samepage", () => {
      const python = Python.open();
      const array = python.run<PythonObject>("import numpy; numpy.zeros(256, 'f4')");
      const contexts = [host];
      return {
        run(count) {
          for (let i = 0; i < count; i++) python.fromArray(array, { contexts })[Symbol.dispose]();
        },
      };
    }),
  ],
});
