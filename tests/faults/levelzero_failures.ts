/**
 * How Level Zero's functions fail.
 *
 * @module
 */
import { ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, ZE_RESULT_ERROR_UNKNOWN } from "../../ffi/levelzero/errors.ts";
import type { LevelZero } from "../../ffi/levelzero/functions.ts";
import type { Failure, Failures } from "./failures.ts";

const failed: Failure = { result: ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY };
const release: Failure = { result: ZE_RESULT_ERROR_UNKNOWN, release: true };
const poll: Failure = { ...failed, poll: true };

/** The loader. */
export const LEVELZERO: Failures<LevelZero> = {
  zeInit: failed,
  zeDriverGet: failed,
  zeDriverGetExtensionProperties: failed,
  zeDeviceGet: failed,
  zeDeviceGetProperties: failed,
  zeDeviceGetComputeProperties: failed,
  zeDeviceGetMemoryAccessProperties: failed,
  zeDeviceGetExternalMemoryProperties: failed,
  zeDeviceGetCommandQueueGroupProperties: failed,
  zeDevicePciGetPropertiesExt: failed,
  zeContextCreate: failed,
  zeContextDestroy: release,
  zeMemAllocHost: failed,
  zeMemAllocDevice: failed,
  zeMemAllocShared: failed,
  zeMemFree: release,
  zeMemGetAllocProperties: failed,
  zeMemGetAddressRange: failed,
  zeCommandListCreateImmediate: failed,
  zeCommandListDestroy: release,
  zeCommandListAppendBarrier: failed,
  zeCommandListAppendMemoryCopy: failed,
  zeCommandListAppendMemoryFill: failed,
  zeCommandListAppendLaunchKernel: failed,
  zeEventPoolCreate: failed,
  zeEventPoolDestroy: release,
  zeEventCreate: failed,
  zeEventDestroy: release,
  zeEventHostReset: failed,
  zeEventQueryStatus: poll,
  zeEventHostSynchronize: poll,
  zeEventHostSynchronizeAsync: poll,
  zeModuleCreate: failed,
  zeModuleDestroy: release,
  zeModuleBuildLogGetString: failed,
  zeModuleBuildLogDestroy: release,
  zeKernelCreate: failed,
  zeKernelDestroy: release,
  zeKernelSetGroupSize: failed,
  zeKernelSetArgumentValue: failed,
};
