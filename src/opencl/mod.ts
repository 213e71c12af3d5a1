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
export { type Gate, OpenCLFence, type Point } from "./event.ts";
export { OpenCLUserEvent } from "./user_event.ts";
export { OpenCLKernel, type RunOptions } from "./kernel.ts";
export { type HostBuffer, HostBuffers } from "./host_buffers.ts";
export { type MappedRange, OpenCLMemory } from "./memory.ts";
export { OpenCLProgram, type ProgramOptions } from "./program.ts";
export { type Enqueue, OpenCLQueue } from "./queue.ts";
export { type BufferPart, OpenCLTensor, type OpenCLTensorInit, type RootBuffer } from "./tensor.ts";
export type * from "../../ffi/opencl/handles.ts";
