/**
 * SYCL (Intel's oneAPI), by the C API of DPCTL: unified shared memory, queues and kernels.
 *
 * @module
 */
export type {
  DPCTLSyclContextRef,
  DPCTLSyclDeviceRef,
  DPCTLSyclEventRef,
  DPCTLSyclKernelBundleRef,
  DPCTLSyclKernelRef,
  DPCTLSyclQueueRef,
} from "../../ffi/sycl/handles.ts";
export { SyclContext } from "./context.ts";
export type { SyclNativeContext } from "./native_context.ts";
export {
  type SyclBackend,
  type SyclDevice,
  type SyclDeviceChoice,
  syclDevices,
  type SyclDeviceType,
} from "./device.ts";
export { SyclKernel, type SyclKernelArgument, type SyclRange, type SyclRunOptions } from "./kernel.ts";
export type { SyclParameterType } from "./kernel_types.ts";
export { SyclProgram, type SyclProgramOptions } from "./program.ts";
export { SyclQueue } from "./queue.ts";
export type { SyclLane } from "./lane.ts";
export { SyclTensor, SyclUsm } from "./usm.ts";
