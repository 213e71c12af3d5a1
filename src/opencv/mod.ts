/**
 * OpenCV: Mats and UMats over the bytes of any other API, and functions that take them.
 *
 * @module
 */
export { type MatKind, OpenCVContext } from "./context.ts";
export { OpenCVError, type OpenCVErrorFields, ReallocatedError } from "./errors.ts";
export { type DeviceContext, type DeviceQueue, Execution } from "./execution.ts";
export { OpenCVMat, type OpenCVMatInit } from "./mat.ts";
export { type AttachMatOptions, type MatInit, MatTarget } from "./mats/target.ts";
export type { MatShape, Unfit } from "./shape.ts";
export type { Slot } from "./slots.ts";
export { OpenCVTensor, type OpenCVTensorInit } from "./tensor.ts";
export { OpenCVUMat, type OpenCVUMatInit, type UMatBuffer } from "./umat.ts";
export { type AttachUMatOptions, UMatTarget } from "./umats/target.ts";
