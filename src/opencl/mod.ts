/**
 * OpenCL: devices, contexts, queues, buffers, programs and kernels.
 *
 * @module
 */
export { LocalMemory } from "./arguments/local.ts";
export type { KernelArgument } from "./arguments/mod.ts";
export { BaseOf } from "./arguments/pointer.ts";
export { AliasProofs, type Verdict } from "./alias.ts";
export { OpenCLContext } from "./context.ts";
export { type DeviceChoice, type DeviceType, type OpenCLDevice, openclDevices } from "./device.ts";
export { BuildError } from "./errors.ts";
export { OpenCLFence } from "./event.ts";
export type { Gate } from "./gate.ts";
export { OpenCLUserEvent } from "./user_event.ts";
export { OpenCLKernel, type RunOptions } from "./kernel.ts";
export { type HostBuffer, HostBuffers } from "./host_buffers.ts";
export { type MappedRange, OpenCLMemory } from "./memory.ts";
export type { Point, PointInit } from "./point.ts";
export type { CommandTimes } from "./profiling.ts";
export { OpenCLProgram, type ProgramOptions } from "./program.ts";
export { type Enqueue, OpenCLQueue } from "./queue.ts";
export type { QueueHandle, QueueOptions, QueueOrder } from "./queue_handle.ts";
export { type BufferPart, OpenCLTensor, type OpenCLTensorInit, type RootBuffer } from "./tensor.ts";
export type { MigrateOptions } from "./transfers/migrate.ts";
export type { FillPattern } from "./transfers/pattern.ts";
export type * from "../../ffi/opencl/handles.ts";
