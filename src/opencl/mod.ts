/**
 * OpenCL: devices, contexts, queues, buffers, programs and kernels.
 *
 * @module
 */
export { BaseOf, type KernelArgument, LocalMemory } from "./argument.ts";
export { AliasProofs, type Verdict } from "./alias.ts";
export { OpenCLContext } from "./context.ts";
export { type DeviceChoice, type DeviceType, type OpenCLDevice, openclDevices } from "./device.ts";
export { BuildError } from "./errors.ts";
export { OpenCLFence, OpenCLUserEvent } from "./event.ts";
export { OpenCLKernel, type RunOptions } from "./kernel.ts";
export { OpenCLMemory } from "./memory.ts";
export { OpenCLProgram, type ProgramOptions } from "./program.ts";
export { OpenCLQueue } from "./queue.ts";
export { OpenCLTensor } from "./tensor.ts";
