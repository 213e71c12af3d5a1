/**
 * Python in this process: arrays of NumPy, PyTorch, CuPy and JAX over samepage's memory, and tensors over theirs.
 *
 * @module
 */
export type { ArrayLibrary, FromArrayOptions, ToArrayOptions } from "./arrays.ts";
export { PythonError } from "./interpreter.ts";
export { type PythonArgument, PythonObject, type PythonValue } from "./object.ts";
export { Python, type PythonOptions } from "./python.ts";
