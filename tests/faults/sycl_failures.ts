/**
 * How the functions of DPCTL fail. It catches what SYCL throws, writes that to stderr, and returns null, zero or false;
 * what it deletes or waits for reports nothing.
 *
 * @module
 */
import type { Sycl } from "../../ffi/sycl/functions.ts";
import type { SyclNative } from "../../ffi/sycl_native/functions.ts";
import type { SyclWait } from "../../ffi/sycl_wait/functions.ts";
import { NativeCallError } from "../../src/core/errors.ts";
import type { Failure, Failures } from "./failures.ts";

const isNull: Failure = { result: 0n };
const isZero: Failure = { result: 0 };

/** DPCTL. */
export const SYCL_FAILURES: Failures<Sycl> = {
  DPCTLService_GetDPCPPVersion: isNull,
  DPCTLCString_Delete: undefined,
  DPCTLDeviceMgr_GetDevices: isNull,
  DPCTLDeviceVector_Size: isNull,
  DPCTLDeviceVector_GetAt: isNull,
  DPCTLDeviceVector_Delete: undefined,
  DPCTLDevice_Delete: undefined,
  DPCTLDevice_AreEq: isZero,
  DPCTLDevice_GetBackend: isZero,
  DPCTLDevice_GetDeviceType: isZero,
  DPCTLDevice_GetName: isNull,
  DPCTLDevice_GetVendor: isNull,
  DPCTLDevice_GetDriverVersion: isNull,
  DPCTLDevice_GetPlatform: isNull,
  DPCTLDevice_HasAspect: isZero,
  DPCTLDevice_GetGlobalMemSize: isNull,
  DPCTLDevice_GetLocalMemSize: isNull,
  DPCTLDevice_GetMaxMemAllocSize: isNull,
  DPCTLDevice_GetMaxWorkGroupSize: isNull,
  DPCTLDevice_GetMaxWorkItemSizes3d: isNull,
  DPCTLSize_t_Array_Delete: undefined,
  DPCTLPlatform_GetName: isNull,
  DPCTLPlatform_GetVersion: isNull,
  DPCTLPlatform_Delete: undefined,
  DPCTLContext_Create: isNull,
  DPCTLContext_GetDevices: isNull,
  DPCTLContext_Delete: undefined,
  DPCTLQueue_Create: isNull,
  DPCTLQueue_Delete: undefined,
  DPCTLaligned_alloc_host: isNull,
  DPCTLaligned_alloc_device: isNull,
  DPCTLaligned_alloc_shared: isNull,
  DPCTLfree_with_context: undefined,
  DPCTLUSM_GetPointerType: isZero,
  DPCTLUSM_GetPointerDevice: isNull,
  DPCTLQueue_Memcpy: isNull,
  DPCTLQueue_Fill8: isNull,
  DPCTLQueue_Fill16: isNull,
  DPCTLQueue_Fill32: isNull,
  DPCTLQueue_Fill64: isNull,
  DPCTLQueue_Fill128: isNull,
  DPCTLQueue_SubmitBarrier: isNull,
  DPCTLQueue_SubmitBarrierForEvents: isNull,
  DPCTLQueue_SubmitRange: isNull,
  DPCTLQueue_SubmitNDRange: isNull,
  DPCTLEvent_GetCommandExecutionStatus: { ...isZero, poll: true },
  DPCTLEvent_WaitAndThrow: undefined,
  DPCTLEvent_Copy: isNull,
  DPCTLEvent_Delete: undefined,
  DPCTLKernelBundle_CreateFromSpirv: isNull,
  DPCTLKernelBundle_CreateFromOCLSource: isNull,
  DPCTLKernelBundle_HasKernel: isZero,
  DPCTLKernelBundle_GetKernel: isNull,
  DPCTLKernelBundle_Delete: undefined,
  DPCTLKernel_GetNumArgs: isNull,
  DPCTLKernel_GetWorkGroupSize: isNull,
  DPCTLKernel_Delete: undefined,
};

/** The call on another thread, which reports nothing. */
export const SYCL_WAIT: Failures<SyclWait> = { DPCTLEvent_WaitAndThrow: undefined };

const throws: Failure = {
  throws: (fn) => new NativeCallError(`${fn} threw sycl::exception.`, { api: "sycl_native", fn }),
};

/** What libsycl has itself: it throws. */
export const SYCL_NATIVE: Failures<SyclNative> = {
  make_context: throws,
  operator_new: throws,
  operator_delete: undefined,
};
