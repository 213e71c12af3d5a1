/** Arrays of PyTorch and CuPy on a second GPU, in place, both ways. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host } from "@samepage/interop";
import { CudaContext, type CudaTensor } from "@samepage/interop/cuda";
import { Python, type PythonObject } from "@samepage/interop/python";
import { devices, gpuTest } from "../cuda/help.ts";
import { lacking, made } from "./help.ts";

const SHAPE = { shape: [2, 3], dtype: "f32" } as const;

const LIBRARIES = {
  torch: { make: "import torch\ntorch.ones(2, 3, device='cuda:1')", deviceOf: "array.device.index" },
  cupy: {
    make: "import cupy\nwith cupy.cuda.Device(1):\n  ones = cupy.ones((2, 3), 'f4')\nones",
    deviceOf: "array.device.id",
  },
} as const;

for (const [library, { make, deviceOf }] of Object.entries(LIBRARIES)) {
  const missing = devices.length < 2 ? undefined : lacking(library); // Python starts only where there is a test for it
  const lacks = missing === undefined ? undefined : `needs Python with ${missing}`;

  gpuTest(
    `two GPUs: a tensor of the second is ${library}'s array on that device, and its own bytes`,
    async () => {
      await using second = CudaContext.open({ ordinal: 1 });
      using tensor = second.allocate(SHAPE);
      second.stream.fill(tensor, 2);
      {
        using array = Python.open().toArray(tensor, library as "torch");
        assertEquals(Python.open().run(`array += 3\n${deviceOf}`, { array }), 1);
      }
      await tensor.finished();
      const seen = new Float32Array(6);
      second.stream.read(tensor, seen);
      assert(seen.every((value) => value === 5), String(seen));
    },
    2,
    lacks,
  );

  gpuTest(
    `two GPUs: ${library}'s array on the second becomes a tensor of that context, and of no other`,
    async () => {
      await using first = CudaContext.open({ ordinal: 0 });
      await using second = CudaContext.open({ ordinal: 1 });
      using array: PythonObject = made(make);
      const python = Python.open();
      assertThrows(() => python.fromArray(array, { contexts: [host, first] }), ArgumentError, "number 1");
      using tensor = python.fromArray(array, { contexts: [host, first, second] }) as CudaTensor;
      assertEquals(tensor.target, second);
      const seen = new Float32Array(6);
      second.stream.read(tensor, seen);
      assert(seen.every((value) => value === 1), String(seen));
    },
    2,
    lacks,
  );
}
