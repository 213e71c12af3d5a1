/**
 * Python in this process: NumPy's, PyTorch's, CuPy's and JAX's arrays over samepage's memory, and the other way round.
 *
 * @module
 */
export type { ArrayLibrary, FromArrayOptions, ToArrayOptions } from "./arrays.ts";
export { PythonError } from "./interpreter.ts";
export { type PythonArgument, PythonObject, type PythonValue } from "./object.ts";
export { Python, type PythonOptions } from "./python.ts";
