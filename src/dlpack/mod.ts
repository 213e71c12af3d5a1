/**
 * DLPack: tensors of NumPy, PyTorch, CuPy, JAX and TVM in the same process, shared in place through one C struct.
 *
 * @module
 */
export { DLPackLoan, toDLPack, type ToDLPackOptions } from "./loan.ts";
export { fromDLPack, type FromDLPackOptions } from "./taken.ts";
