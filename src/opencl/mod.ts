/**
 * OpenCL: devices, contexts, queues, buffers, programs and kernels.
 *
 * @module
 */
export { LocalMemory } from "./arguments/local.ts";
export type { KernelArgument } from "./arguments/mod.ts";
export type { ParameterInfo } from "./arguments/parameter.ts";
export { BaseOf } from "./arguments/pointer.ts";
export { AliasProofs, type MemoryAsked } from "./alias.ts";
export { type MakeScratch, MemoryKind, type Scratch } from "./alias_memory.ts";
export { OpenCLContext } from "./context.ts";
export type { DeviceChoice } from "./choice.ts";
export { type OpenCLDevice, openclDevices } from "./device.ts";
export type { DeviceImages, DeviceQueues, DeviceSvm } from "./device_features.ts";
export type { DeviceInfo, DeviceType } from "./device_info.ts";
export { BinaryError, type BinaryFault, BuildError } from "./errors.ts";
export { type Gate, OpenCLFence, type Point } from "./event.ts";
export { OpenCLUserEvent } from "./user_event.ts";
export { OpenCLKernel, type RunOptions } from "./kernel.ts";
export { type HostBuffer, HostBuffers, type HostImage } from "./host_buffers.ts";
export { OpenCLImage, type OpenCLImageInit } from "./image.ts";
export type { ImageAbilities, ImageLimits } from "./image_abilities.ts";
export { type ImageClass, type ImagePlace, ImageProofs, type PitchClass } from "./image_alias.ts";
export type { ImageCopy } from "./image_copy.ts";
export type { ChannelAccess, ChannelOrder, ChannelType, OpenCLImageFormat, PixelFormat } from "./image_format.ts";
export type { MappedImage, MappedTensor } from "./image_map.ts";
export { type BufferImageClass, BufferImages } from "./image_over_buffer.ts";
export type { Extent, HostPlace, ImageProblem, ImageShape, Pitches } from "./image_shape.ts";
export { type ImageInit, ImageTarget } from "./image_target.ts";
export type { ImageType } from "./image_type.ts";
export { type ImageOptions, OpenCLImages } from "./images.ts";
export { type MappedRange, OpenCLMemory } from "./memory.ts";
export type { AffinityDomain, DevicePartition, PartitionKind } from "./device_partition.ts";
export { partition, type PartitionHow } from "./partition.ts";
export { type Cut, SubDevices } from "./sub_devices.ts";
export { type KeptKernels, OpenCLProgram, type ProgramInit } from "./program.ts";
export { directoryCache, type ProgramCache } from "./program_cache.ts";
export type { ProgramOptions } from "./program_sources.ts";
export { type Outcome, Proofs, type Verdict } from "./proofs.ts";
export { type Enqueue, OpenCLQueue, type QueueOptions } from "./queue.ts";
export { type Addressing, type Filter, OpenCLSampler, type SamplerInit } from "./sampler.ts";
export type { DeviceSharing } from "./sharing.ts";
export { OpenCLPointerMemory, type PointerBlock } from "./pointer_memory.ts";
export { OpenCLPointerTensor } from "./pointer_tensor.ts";
export { OpenCLSvm, type SvmAllocation } from "./svm.ts";
export type { SvmBlock, SvmGrain } from "./svm_block.ts";
export { SvmMaps, type SvmRange } from "./svm_maps.ts";
export { OpenCLSvmTensor } from "./svm_tensor.ts";
export { type BufferPart, OpenCLTensor, type OpenCLTensorInit, type RootBuffer } from "./tensor.ts";
export { OpenCLUsm, type UsmAllocation } from "./usm.ts";
export type { UsmBlock, UsmKind } from "./usm_block.ts";
export type { UsmAbility, UsmCapabilities } from "./usm_capabilities.ts";
export { OpenCLUsmTensor } from "./usm_tensor.ts";
export type * from "../../ffi/opencl/handles.ts";
