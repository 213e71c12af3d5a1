/**
 * DLPack: tensors of NumPy, PyTorch, CuPy, JAX and TVM in the same process, shared in place by one struct of C.
 *
 * @module
 */
export { DLPackLoan, toDLPack, type ToDLPackOptions } from "./loan.ts";
export { fromDLPack, type FromDLPackOptions } from "./taken.ts";
