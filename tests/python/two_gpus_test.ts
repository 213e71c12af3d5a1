/** Arrays of CuPy on a second GPU, in place, both ways. PyTorch's are in gpu/arrays_gpu_test.ts. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host } from "@samepage/interop";
import { CudaContext, type CudaTensor } from "@samepage/interop/cuda";
import { Python } from "@samepage/interop/python";
import { devices, gpuTest } from "../cuda/help.ts";
import { lacking, made } from "./help.ts";

const missing = devices.length < 2 ? undefined : lacking("cupy"); // Python starts only where there is a test for it
const lacks = missing === undefined ? undefined : `needs Python with ${missing}`;

function assertAll(cuda: CudaContext, tensor: CudaTensor, value: number): void {
  const seen = new Float32Array(6);
  cuda.stream.read(tensor, seen);
  assert(seen.every((each) => each === value), String(seen));
}

gpuTest(
  "two GPUs: a tensor of the second is CuPy's array on that device, and its own bytes",
  async () => {
    await using second = CudaContext.open({ ordinal: 1 });
    using tensor = second.allocate({ shape: [2, 3], dtype: "f32" });
    second.stream.fill(tensor, 2);
    {
      using array = Python.open().toArray(tensor, "cupy");
      assertEquals(Python.open().run("array += 3\narray.device.id", { array }), 1);
    }
    await tensor.finished();
    assertAll(second, tensor, 5);
  },
  2,
  lacks,
);

gpuTest(
  "two GPUs: CuPy's array on the second becomes a tensor of that context, and of no other",
  async () => {
    await using first = CudaContext.open({ ordinal: 0 });
    await using second = CudaContext.open({ ordinal: 1 });
    using array = made("import cupy\nwith cupy.cuda.Device(1):\n  ones = cupy.ones((2, 3), 'f4')\nones");
    const python = Python.open();
    assertThrows(() => python.fromArray(array, { contexts: [host, first] }), ArgumentError, "number 1");
    using tensor = python.fromArray(array, { contexts: [host, first, second] }) as CudaTensor;
    assertEquals(tensor.target, second);
    assertAll(second, tensor, 1);
  },
  2,
  lacks,
);
