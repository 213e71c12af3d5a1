/**
 * OpenCL: devices, contexts, queues, buffers, programs and kernels.
 *
 * @module
 */
export { LocalMemory } from "./arguments/local.ts";
export type { KernelArgument } from "./arguments/mod.ts";
export { BaseOf } from "./arguments/pointer.ts";
export { AliasProofs } from "./alias.ts";
export { Proofs, type Verdict } from "./proofs.ts";
export { OpenCLContext } from "./context.ts";
export { type DeviceChoice, type DeviceType, type OpenCLDevice, openclDevices } from "./device.ts";
export { BuildError } from "./errors.ts";
export { type Gate, OpenCLFence, type Point } from "./event.ts";
export { OpenCLUserEvent } from "./user_event.ts";
export { OpenCLKernel, type RunOptions } from "./kernel.ts";
export { type HostBuffer, HostBuffers, type HostImage } from "./host_buffers.ts";
export { OpenCLImage, type OpenCLImageInit } from "./image.ts";
export type { ImageAbilities } from "./image_abilities.ts";
export { type ImagePlace, ImageProofs } from "./image_alias.ts";
export type { ChannelAccess, ChannelOrder, ChannelType, OpenCLImageFormat, PixelFormat } from "./image_format.ts";
export type { ImageLimits } from "./image_limits.ts";
export type { ImageMemory } from "./image_native.ts";
export { BufferImages } from "./image_over_buffer.ts";
export type { Extent, ImageProblem, ImageShape, Pitches } from "./image_shape.ts";
export { type ImageInit, ImageTarget } from "./image_target.ts";
export type { ImageType } from "./image_type.ts";
export type { ImageCopy } from "./image_copy.ts";
export type { MappedImage, MappedTensor } from "./image_map.ts";
export { type ImageOptions, OpenCLImages } from "./images.ts";
export { type MappedRange, OpenCLMemory } from "./memory.ts";
export { OpenCLProgram, type ProgramOptions } from "./program.ts";
export { type Enqueue, OpenCLQueue } from "./queue.ts";
export { type Addressing, type Filter, OpenCLSampler, type SamplerInit } from "./sampler.ts";
export { type BufferPart, OpenCLTensor, type OpenCLTensorInit, type RootBuffer } from "./tensor.ts";
export type * from "../../ffi/opencl/handles.ts";
