/**
 * Level Zero: devices, unified shared memory, dma-bufs, queues and kernels.
 *
 * @module
 */
export { LevelZeroContext } from "./context.ts";
export {
  type LevelZeroChoice,
  type LevelZeroDevice,
  levelZeroDevices,
  type LevelZeroDeviceType,
  type LevelZeroLimits,
} from "./device.ts";
export {
  type LevelZeroArgument,
  LevelZeroKernel,
  type LevelZeroParameter,
  type LevelZeroRange,
  type LevelZeroRunOptions,
} from "./kernel.ts";
export { type LevelZeroDriver, LevelZeroLane } from "./lane.ts";
export { OpenContext } from "./open_context.ts";
export { LevelZeroBuildError, LevelZeroProgram } from "./program.ts";
export { LevelZeroQueue } from "./queue.ts";
export { LevelZeroTensor, LevelZeroUsm } from "./usm.ts";
export type * from "../../ffi/levelzero/handles.ts";
