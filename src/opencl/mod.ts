/**
 * OpenCL: devices, contexts, queues, buffers, programs and kernels.
 *
 * @module
 */
export { LocalMemory } from "./arguments/local.ts";
export type { ParameterInfo } from "./arguments/info.ts";
export { BaseOf } from "./arguments/pointer.ts";
export type { BufferLimits } from "./buffers/limits.ts";
export type { BaseContext, BaseKernel, BaseProgram, BaseQueue } from "./base_context.ts";
export { OpenCLContext } from "./context.ts";
export type { DeviceChoice } from "./devices/choice.ts";
export { type OpenCLDevice, openclDevices } from "./device.ts";
export type { DeviceImages, DeviceQueues, DeviceSvm } from "./devices/features.ts";
export type { DeviceInfo, DeviceType } from "./devices/info.ts";
export { BinaryError, type BinaryFault, BuildError } from "./errors.ts";
export { MARKER, OpenCLDriver } from "./driver.ts";
export { ClLane, type LaneInit } from "./lane.ts";
export type { FailedEvents } from "./queues/failed_events.ts";
export { type KernelArgument, OpenCLKernel, type RunOptions } from "./kernel.ts";
export type { ItemRange } from "./kernels/work_range.ts";
export { type HostBuffer, HostBuffers, type HostImage, type Share } from "./buffers/host_buffers.ts";
export { type ImageInit, ImageTarget, OpenCLImage, type OpenCLImageInit, OpenCLSampler } from "./image.ts";
export type { ImageAbilities, ImageLimits } from "./images/abilities.ts";
export type { ImagePlace } from "./images/classes.ts";
export type { ChannelAccess, ChannelOrder, ChannelType, OpenCLImageFormat, PixelFormat } from "./images/format.ts";
export type { ImageCopy, MappedTensor } from "./images/map.ts";
export { BufferImages } from "./images/over_buffer.ts";
export type { Extent, HostPlace, ImageProblem, ImageShape, Pitches } from "./images/shape.ts";
export { type Addressing, type Filter, ImageSampler, type SamplerInit } from "./images/sampler.ts";
export { type BaseImageTarget, ImageTensor, type ImageTensorInit } from "./images/tensor.ts";
export type { ImageType } from "./images/type.ts";
export { type ImageOptions, OpenCLImages } from "./images/images.ts";
export { OpenCLExternalMemory } from "./external.ts";
export type { TypeSizes } from "./programs/type_sizes.ts";
export { type MapCall, MappedRange } from "./buffers/map.ts";
export { type InBuffer, OpenCLMemory } from "./memory.ts";
export { type KeptKernels, OpenCLProgram, type ProgramInit } from "./program.ts";
export { directoryCache, type ProgramCache } from "./programs/cache.ts";
export type { ProgramOptions } from "./programs/sources.ts";
export type { CommandLog, CommandTimes } from "./queues/profiling.ts";
export { OpenCLQueue } from "./queue.ts";
export type { QueueOptions } from "./queues/handle.ts";
export { OpenCLSemaphore } from "./semaphore.ts";
export type { GlContext } from "../gl/port.ts";
export type { DeviceSharing } from "./devices/sharing.ts";
export { type ContextBlock, OpenCLPointerMemory, type PointerBlock } from "./pointers/memory.ts";
export { type ExecInfo, OpenCLPointerTensor } from "./pointers/tensor.ts";
export { OpenCLSvm, OpenCLSvmTensor, type SvmAllocation } from "./svm.ts";
export type { SvmBlock, SvmGrain } from "./svm/block.ts";
export { SvmMaps } from "./svm/maps.ts";
export type { BufferPart } from "./buffers/native.ts";
export type { Space } from "./buffers/space.ts";
export { BufferTensor, type OpenCLTensorInit, type RootBuffer } from "./buffers/tensor.ts";
export { OpenCLTensor } from "./tensor.ts";
export { OpenCLUsm, OpenCLUsmTensor, type UsmAllocation } from "./usm.ts";
export type { UsmBlock, UsmKind } from "./usm/block.ts";
export type { UsmAbility, UsmCapabilities } from "./usm/capabilities.ts";
export type { MigrateOptions } from "./transfers/migrate.ts";
export type * from "../../ffi/opencl/handles.ts";
export type { ClSemaphoreKhr } from "../../ffi/opencl_semaphore/handles.ts";
export {
  hostToOpenCL,
  hostToOpenCLImage,
  openCLImageToHost,
  openCLSvmToOpenCL,
  openCLToOpenCLImage,
} from "./edges/mod.ts";
