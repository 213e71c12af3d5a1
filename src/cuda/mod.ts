/**
 * CUDA: contexts, streams, programs, and every kind of memory that kernels reach.
 *
 * @module
 */
export { CudaPrimaryContext } from "./base.ts";
export { CudaContext, type CudaOptions } from "./context.ts";
export type { CudaDeviceFlag, CudaSchedule } from "./device_flags.ts";
export { type CudaDevice, type CudaDeviceChoice, cudaDevices, type CudaVersions, cudaVersions } from "./device.ts";
export type { CudaAttribute, CudaAttributes } from "./attributes.ts";
export { CudaLostError } from "./errors.ts";
export { CudaLane, type LaneDevice } from "./driver.ts";
export { onStream, StreamLane, type StreamLaneInit } from "./stream_lane.ts";
export type { DeviceCalls, Within } from "./primary_context.ts";
export type {
  CudaArray as CudaArrayHandle,
  CudaEvent,
  CudaLibrary,
  CudaMemPool,
  CudaStream as CudaStreamHandle,
} from "../../ffi/cuda_runtime/handles.ts";
export { CudaSemaphore } from "./semaphore.ts";
export { CudaStream, type CudaStreamContext, type StreamOptions } from "./stream.ts";
export { CudaTensor, type CudaTensorInit } from "./tensor.ts";
export { CudaPinned, type PinnedAllocation } from "./memory/pinned.ts";
export { CudaPinnedAllocator, type PinnedAllocatorStatistics } from "./memory/pinned_allocator.ts";
export type { PinnedFlags } from "./memory/pinned_block.ts";
export { CudaPinnedPool, type PinnedPoolOptions } from "./memory/pool.ts";
export type { BlockCount, BlockPoolStatistics } from "./memory/block_pool.ts";
export type { DeviceAllocation } from "./memory/device.ts";
export { CudaMemoryPool, type MemoryPoolOptions, type MemoryPoolStatistics } from "./memory/device_pool.ts";
export type { OrderedAllocation } from "./memory/ordered.ts";
export { CudaArray, type CudaArrayInit } from "./arrays/array.ts";
export type { ArrayExtent } from "./arrays/extent.ts";
export type { CudaArrayDType, CudaImageFormat } from "./arrays/format.ts";
export { CudaImage, CudaImageTarget } from "./image.ts";
export { CudaSurface, OverArray } from "./arrays/over_array.ts";
export {
  CudaTexture,
  type TextureAddress,
  type TextureFilter,
  type TextureOptions,
  type TextureRead,
} from "./arrays/texture.ts";
export { assertAllowed, CUDA_MEMORY, refusalOf, type RuledDevice } from "./memory/rules.ts";
export type {
  AllowedRule,
  ConditionalRule,
  CudaKindRules,
  CudaOperation,
  CudaRule,
  CudaRuleKind,
  RefusedRule,
  SourcedRule,
} from "./memory/rules/rule.ts";
export { type AdviseOptions, CudaManaged, type ManagedAllocation, type ManagedAttachment } from "./memory/managed.ts";
export type { ManagedAdvice, ManagedHints, ManagedPlace } from "./memory/managed_advice.ts";
export { ManagedTurns, type StreamCommands } from "./memory/managed_turns.ts";
export { CudaVirtual, type VirtualAllocation, type VirtualImport, type VirtualLocation } from "./memory/virtual.ts";
export { CudaRegistration } from "./memory/keep.ts";
export type { RegisterOptions } from "./memory/register_flags.ts";
export type { CudaBlock, CudaMemoryKind } from "./memory/block.ts";
export { CudaMemory, type CudaPlace } from "./memory/memory.ts";
export type { SampleContext } from "./alias/samples.ts";
export { CudaHostMemory, type Reach } from "./host_memory.ts";
export type { CudaMemoryExport, CudaMemoryHandle } from "./ipc/memory.ts";
export { type CudaEventHandle, CudaSharedEvent } from "./ipc/event.ts";
export { CudaPeers } from "./peer.ts";
export type { PeerBandwidth, PeerOrdinals } from "./peer/bandwidth.ts";
export type { VirtualBlock } from "./memory/virtual/block.ts";
export { CudaDmaBuf } from "./dmabuf.ts";
export { CudaTimer } from "./timer.ts";
export { CudaProgram } from "./program.ts";
export { CudaKernel, type CudaKernelArgument, type LaunchOptions } from "./kernel.ts";
export type { ProgramOptions } from "./kernels/source.ts";
export type { ParameterType } from "./kernels/declared.ts";
export type { ParameterInfo } from "./kernels/declared.ts";
export type { GroupRange, KernelNeeds } from "./kernels/limits.ts";
export { CudaBuildError } from "./kernels/errors.ts";
export type { AcquireOptions } from "../gl/stream_ends.ts";
export { CudaArrayFrame } from "./egl/array_frame.ts";
export { type CudaConsumerInit, CudaStreamConsumer } from "./egl/consumer.ts";
export { type CudaProducerInit, type CudaStreamFrame, CudaStreamProducer } from "./egl/producer.ts";
export { CudaEglImage } from "./egl/image.ts";
export type { CudaStreamEnd, EglStreamLike } from "./egl/end.ts";
export { type ConsumerFacts, StreamEnds } from "../gl/stream_ends.ts";
export { cudaToCuda, hostToCuda, virtualToCuda } from "./edges/mod.ts";
