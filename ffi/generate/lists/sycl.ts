import { fromFileUrl } from "@std/path";
import type { Library } from "../library.ts";

/** What the lists of DPCTL, SYCL's C API, have in common. */
const dpctl = {
  headers: ["dpctl_sycl_interface.h", "syclinterface/dpctl_sycl_extension_interface.h"],
  folders: [fromFileUrl(new URL("../../../.dpctl/dpctl/include", import.meta.url))],
  defines: {},
  structs: [],
} satisfies Partial<Library>;

/** SYCL, by the C API of DPCTL: it catches most SYCL's exceptions, and the guard the others. */
export const sycl: Library = {
  name: "sycl",
  interface: "Sycl",
  ...dpctl,
  functions: [
    "DPCTLService_GetDPCPPVersion",
    { name: "DPCTLCString_Delete", address: ["str"] },

    "DPCTLDeviceMgr_GetDevices",
    "DPCTLDeviceVector_Size",
    "DPCTLDeviceVector_GetAt",
    "DPCTLDeviceVector_Delete",
    "DPCTLDevice_Delete",
    "DPCTLDevice_AreEq",
    "DPCTLDevice_GetBackend",
    "DPCTLDevice_GetDeviceType",
    "DPCTLDevice_GetName",
    "DPCTLDevice_GetVendor",
    "DPCTLDevice_GetDriverVersion",
    "DPCTLDevice_GetPlatform",
    "DPCTLDevice_HasAspect",
    "DPCTLDevice_GetGlobalMemSize",
    "DPCTLDevice_GetLocalMemSize",
    "DPCTLDevice_GetMaxMemAllocSize",
    "DPCTLDevice_GetMaxWorkGroupSize",
    "DPCTLDevice_GetMaxWorkItemSizes3d",
    { name: "DPCTLSize_t_Array_Delete", address: ["arr"] },
    "DPCTLPlatform_GetName",
    "DPCTLPlatform_GetVersion",
    "DPCTLPlatform_Delete",

    { name: "DPCTLContext_Create", address: ["handler"] },
    "DPCTLContext_GetDevices",
    "DPCTLContext_Delete",
    { name: "DPCTLQueue_Create", address: ["handler"] },
    "DPCTLQueue_Delete",

    "DPCTLaligned_alloc_host",
    "DPCTLaligned_alloc_device",
    "DPCTLaligned_alloc_shared",
    "DPCTLfree_with_context",
    "DPCTLUSM_GetPointerType",
    "DPCTLUSM_GetPointerDevice",

    { name: "DPCTLQueue_Memcpy", address: ["Dest", "Src"] },
    { name: "DPCTLQueue_Fill8", address: ["USMRef"] },
    { name: "DPCTLQueue_Fill16", address: ["USMRef"] },
    { name: "DPCTLQueue_Fill32", address: ["USMRef"] },
    { name: "DPCTLQueue_Fill64", address: ["USMRef"] },
    { name: "DPCTLQueue_Fill128", address: ["USMRef"] },
    "DPCTLQueue_SubmitBarrier",
    "DPCTLQueue_SubmitBarrierForEvents",
    { name: "DPCTLQueue_SubmitRange", address: ["Args", "ArgTypes", "Range"] },
    { name: "DPCTLQueue_SubmitNDRange", address: ["Args", "ArgTypes", "gRange", "lRange"] },

    "DPCTLEvent_GetCommandExecutionStatus",
    "DPCTLEvent_WaitAndThrow",
    "DPCTLEvent_Copy",
    "DPCTLEvent_Delete",

    "DPCTLKernelBundle_CreateFromSpirv",
    "DPCTLKernelBundle_CreateFromOCLSource",
    "DPCTLKernelBundle_HasKernel",
    "DPCTLKernelBundle_GetKernel",
    "DPCTLKernelBundle_Delete",
    "DPCTLKernel_GetNumArgs",
    "DPCTLKernel_GetWorkGroupSize",
    "DPCTLKernel_Delete",
  ],
  constants: [
    { type: "DPCTLSyclUSMType", names: ["DPCTL_USM_*"] },
    { type: "DPCTLSyclBackendType", names: ["DPCTL_CUDA", "DPCTL_LEVEL_ZERO", "DPCTL_OPENCL", "DPCTL_HIP"] },
    { type: "DPCTLSyclBackendType", names: ["DPCTL_UNKNOWN_BACKEND", "DPCTL_ALL_BACKENDS"] },
    {
      type: "DPCTLSyclDeviceType",
      names: ["DPCTL_ACCELERATOR", "DPCTL_CPU", "DPCTL_CUSTOM", "DPCTL_GPU", "DPCTL_ALL"],
    },
    {
      type: "DPCTLKernelArgType",
      names: ["DPCTL_*INT*_T", "DPCTL_FLOAT*_T", "DPCTL_VOID_PTR", "DPCTL_LOCAL_ACCESSOR"],
    },
    { type: "DPCTLSyclAspectType", names: ["usm_*", "fp16", "fp64"] },
    { type: "DPCTLQueuePropertyType", names: ["DPCTL_IN_ORDER", "DPCTL_DEFAULT_PROPERTY"] },
    {
      type: "DPCTLSyclEventStatusType",
      names: ["DPCTL_UNKNOWN_STATUS", "DPCTL_SUBMITTED", "DPCTL_RUNNING", "DPCTL_COMPLETE"],
    },
  ],
};

/** The call that waits on another thread, which the guard's thunks cannot make; DPCTL itself catches what it throws. */
export const syclWait: Library = {
  name: "sycl_wait",
  interface: "SyclWait",
  ...dpctl,
  functions: [{ name: "DPCTLEvent_WaitAndThrow", nonblocking: true }],
  constants: [],
};

/** How an OpenCL context becomes one of SYCL's, for which DPCTL has no function. */
export const syclNative: Library = {
  name: "sycl_native",
  interface: "SyclNative",
  ...dpctl,
  headers: ["dpctl_sycl_interface.h", "sycl_native.h"],
  folders: [...dpctl.folders, fromFileUrl(new URL("../include", import.meta.url))],
  functions: [
    {
      name:
        "_ZN4sycl3_V16detail12make_contextEmRKSt8functionIFvNS0_14exception_listEEENS0_7backendEbRKSt6vectorINS0_6deviceESaISA_EE",
      as: "make_context",
      buffer: ["handler", "devices"],
    },
    { name: "_Znwm", as: "operator_new" },
    { name: "_ZdlPv", as: "operator_delete" },
  ],
  constants: [{ type: "int", names: ["SYCL_BACKEND_OPENCL", "SYCL_CONTEXT_SIZE"] }],
};
