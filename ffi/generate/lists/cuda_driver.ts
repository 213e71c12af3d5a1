import type { Library } from "../library.ts";
import { cuda } from "./cuda.ts";

/** A location inside of another struct. */
const LOCATION: [string, string][] = [["location_type", "location.type"], ["location_id", "location.id"]];

/**
 * CUDA's driver: what the runtime does not offer, or not alike in 12 and 13, which export different functions under the
 * name of cudaMemPrefetchAsync, for instance; and what is submitted all the time, which takes its context from the stream
 * here, and from the thread there. The names are those that libcuda exports (`_v2`), of which cuda.h's macros make the
 * plain ones. What is newer than 12.0 is optional.
 */
export const cudaDriver: Library = {
  ...cuda,
  name: "cuda_driver",
  interface: "CudaDriver",
  headers: ["cuda.h"],
  defines: {},
  functions: [
    "cuInit",
    "cuDeviceGetAttribute",

    "cuDevicePrimaryCtxGetState",
    "cuDevicePrimaryCtxSetFlags_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    { name: "cuCtxGetCurrent", address: ["pctx"] }, // the way of every call: a buffer takes longer to pass
    "cuCtxSetCurrent",
    "cuCtxGetDevice",
    "cuStreamGetCtx",
    { name: "cuStreamGetCtx_v2", optional: true },

    "cuMemGetAddressRange_v2",
    "cuPointerGetAttribute",
    "cuMemGetHandleForAddressRange",
    { name: "cuMemPrefetchAsync_v2", optional: true },
    { name: "cuMemAdvise_v2", optional: true },
    "cuMemRangeGetAttribute",
    "cuMemsetD2D16Async",
    "cuMemsetD2D32Async",

    "cuMemGetAllocationGranularity",
    "cuMemCreate",
    "cuMemRelease",
    "cuMemAddressReserve",
    "cuMemAddressFree",
    "cuMemMap",
    "cuMemUnmap",
    "cuMemSetAccess",
    "cuMemExportToShareableHandle",
    { name: "cuMemImportFromShareableHandle", address: ["osHandle"] }, // a file descriptor
    "cuMemGetAllocationPropertiesFromHandle",

    "cuWaitExternalSemaphoresAsync",
    "cuSignalExternalSemaphoresAsync",

    "cuLibraryGetModule",
    { name: "cuKernelGetParamInfo", optional: true },
    { name: "cuKernelGetName", optional: true },
    { name: "cuLaunchKernelEx", address: ["config", "kernelParams", "extra"] },
  ],
  byValue: ["CUmemLocation"],
  constants: [
    { type: "CUresult", names: ["CUDA_SUCCESS"] },
    { type: "CUdevice_attribute", names: ["CU_DEVICE_ATTRIBUTE_*", "!CU_DEVICE_ATTRIBUTE_MAX"] },
    { type: "CUmemorytype", names: ["CU_MEMORYTYPE_*"] },
    { type: "CUpointer_attribute", names: ["CU_POINTER_ATTRIBUTE_*", "!CU_POINTER_ATTRIBUTE_ACCESS_FLAG_*"] },
    { type: "CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS", names: ["CU_POINTER_ATTRIBUTE_ACCESS_FLAG_*"] },
    { type: "CUfunction_attribute", names: ["CU_FUNC_ATTRIBUTE_*", "!*_MAX"] },

    { type: "CUmemAttach_flags", names: ["CU_MEM_ATTACH_*"] },
    { type: "CUmem_advise", names: ["CU_MEM_ADVISE_*"] },
    { type: "CUmem_range_attribute", names: ["CU_MEM_RANGE_ATTRIBUTE_*"] },
    { type: "CUmemAllocationHandleType", names: ["CU_MEM_HANDLE_TYPE_*", "!CU_MEM_HANDLE_TYPE_GENERIC", "!*_MAX"] },
    { type: "CUmemAccess_flags", names: ["CU_MEM_ACCESS_FLAGS_*", "!*_MAX"] },
    { type: "CUmemLocationType", names: ["CU_MEM_LOCATION_TYPE_*", "!*_MAX"] },
    { type: "CUmemAllocationType", names: ["CU_MEM_ALLOCATION_TYPE_*", "!*_MAX"] },
    { type: "CUmemAllocationCompType", names: ["CU_MEM_ALLOCATION_COMP_*"] },
    { type: "CUmemAllocationGranularity_flags", names: ["CU_MEM_ALLOC_GRANULARITY_*"] },
    { type: "CUmemRangeHandleType", names: ["CU_MEM_RANGE_HANDLE_TYPE_*", "!*_MAX"] },
    { type: "CUmemRangeFlags", names: ["CU_MEM_RANGE_FLAG_*"] },
    { type: "unsigned int", names: ["CU_MEM_CREATE_USAGE_*"] },
    { type: "int", names: ["CU_DEVICE_CPU", "CU_DEVICE_INVALID"] },
  ],
  errors: { type: "CUresult", names: ["CUDA_ERROR_*"] },
  structs: [
    "CUmemLocation",
    { type: "CUmemAccessDesc", fields: [...LOCATION, "flags"] },
    {
      type: "CUmemAllocationProp",
      fields: [
        "type",
        "requestedHandleTypes",
        ...LOCATION,
        "win32HandleMetaData",
        ["allocFlags_compressionType", "allocFlags.compressionType"],
        ["allocFlags_gpuDirectRDMACapable", "allocFlags.gpuDirectRDMACapable"],
        ["allocFlags_usage", "allocFlags.usage"],
      ],
    },
    {
      type: "CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS",
      as: "CUexternalSemaphoreSignalParams",
      fields: [["fence_value", "params.fence.value"], "flags"],
    },
    {
      type: "CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS",
      as: "CUexternalSemaphoreWaitParams",
      fields: [["fence_value", "params.fence.value"], "flags"],
    },
    {
      type: "CUlaunchConfig",
      fields: [
        ...["gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ"],
        ...["sharedMemBytes", "hStream", "attrs", "numAttrs"],
      ],
    },
  ],
};
