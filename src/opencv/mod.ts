/**
 * OpenCV: Mats and UMats over the bytes of any other API, and functions that take them.
 *
 * @module
 */
export { openCLToOpenCVUMat, openCVUMatToOpenCL } from "./edges/mod.ts";
export { DefaultAllocator, type MatMemory } from "./allocator/default_allocator.ts";
export { OpenCVBase } from "./base.ts";
export { type MatKind, OpenCVContext } from "./context.ts";
export { OpenCVError, type OpenCVErrorFields } from "./errors.ts";
export { type DeviceQueue, Execution, type ExecutionContext } from "./execution.ts";
export { gpuMatHeader, type GpuMatInit, type GpuMatOver } from "./gpu_mat.ts";
export { OpenCVMat, type OpenCVMatInit } from "./mat.ts";
export { ChannelTarget } from "./channel_target.ts";
export { type MatInit, MatTarget } from "./mats/target.ts";
export type { MatOver } from "./mats/over.ts";
export type { MatShape, Unfit } from "./shape.ts";
export type { Grid, Slot } from "./slots.ts";
export { OpenCVTensor, type OpenCVTensorInit, ReallocatedError } from "./tensor.ts";
export { OpenCVUMat, type OpenCVUMatInit, type UMatBuffer, type UMatPlace } from "./umat.ts";
export type { UMatInit, UMatOver } from "./umats/over.ts";
export { type UMatShape, UMatTarget } from "./umats/target.ts";
export type { OperationOptions } from "./operate.ts";
export type { ColorCode } from "./operations/color_codes.ts";
export { CoreOperations } from "./operations/core.ts";
export type { ConvertToOptions, CopyToOptions, FlipCode } from "./operations/core_table.ts";
export type {
  BlurBorder,
  CannyOptions,
  GaussianBlurOptions,
  ThresholdOptions,
  ThresholdSearch,
  ThresholdType,
} from "./operations/filters.ts";
export type { Interpolation, ResizeOptions, WarpAffineOptions, WarpInterpolation } from "./operations/geometry.ts";
export { ImgcodecsOperations } from "./operations/imgcodecs.ts";
export { ImgprocOperations } from "./operations/imgproc.ts";
export type { ReadMode, ReadOptions } from "./operations/read_mode.ts";
export type { AffineMatrix, Border, Scalar, Size } from "./operations/values.ts";
export type { WriteOptions } from "./operations/write_params.ts";
