/**
 * Tests of Python's arrays on a GPU.
 *
 * @module
 */
import { host } from "@samepage/interop";
import type { CudaContext, CudaTensor } from "@samepage/interop/cuda";
import { Python, type PythonObject } from "@samepage/interop/python";
import { gpuTest, missing, withCuda } from "../../cuda/help.ts";
import { lacking } from "../help.ts";

/** A GPU and Python. */
export interface Both {
  readonly cuda: CudaContext;
  readonly python: Python;
}

/** Why a GPU, or one of Python's modules, is not here. */
export function lackingOnGpu(...modules: readonly string[]): string | undefined {
  return missing ?? lacking(...modules);
}

/** What a test needs besides: so many GPUs, and what is not here. */
export interface Needs {
  readonly gpus?: number;
  readonly lacks?: string | undefined;
}

/** A test that needs a GPU and these modules of Python's. What is alive afterwards is what was before. */
export function test(
  name: string,
  modules: readonly string[],
  run: (both: Both) => unknown,
  { gpus = 1, lacks = lackingOnGpu(...modules) }: Needs = {},
): void {
  gpuTest(name, () => withCuda((cuda) => run({ cuda, python: imported(modules) })), gpus, lacks);
}

/** Python with these modules among the names of `__main__`. */
function imported(modules: readonly string[]): Python {
  const python = Python.open();
  for (const module of modules) python.run(`import ${module}`);
  if (modules.includes("torch")) python.run("torch.cuda.set_device(0)"); // JAX leaves another one current
  if (modules.includes("cupy")) python.run("cupy.cuda.Device(0).use()\nNone");
  return python;
}

/** What an expression of Python's makes. */
export function made(python: Python, code: string): PythonObject {
  return python.run<PythonObject>(code);
}

/** A tensor over an array of Python's, of the GPU's context or of the host. */
export function take({ python, cuda }: Both, array: PythonObject): CudaTensor {
  return python.fromArray(array, { contexts: [host, cuda] }) as CudaTensor;
}

/** All elements, once the device is through. */
export function numbersIn(cuda: CudaContext, tensor: CudaTensor): number[] {
  const numbers = new Float32Array(tensor.layout.shape.reduce((product, length) => product * length, 1));
  cuda.stream.read(tensor, numbers);
  return [...numbers];
}
