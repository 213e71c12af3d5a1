import type { Library } from "../library.ts";

/** OpenCL's unified shared memory (cl_intel_unified_shared_memory), whose functions a driver returns by name. */
export const openclUsm: Library = {
  name: "opencl_usm",
  interface: "Usm",
  headers: ["CL/cl.h", "CL/cl_ext.h"],
  defines: { CL_TARGET_OPENCL_VERSION: "300" },
  byPointer: true,
  functions: [
    "clHostMemAllocINTEL",
    "clDeviceMemAllocINTEL",
    "clSharedMemAllocINTEL",
    { name: "clMemFreeINTEL", address: ["ptr"] },
    { name: "clGetMemAllocInfoINTEL", address: ["ptr"] },
    { name: "clSetKernelArgMemPointerINTEL", address: ["arg_value"] },
    { name: "clEnqueueMemcpyINTEL", address: ["dst_ptr", "src_ptr", "event_wait_list", "event"] },
    { name: "clEnqueueMemFillINTEL", address: ["dst_ptr", "event_wait_list", "event"] },
  ],
  constants: [
    {
      type: "cl_device_info",
      names: [
        "CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL",
        "CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL",
        "CL_DEVICE_*_DEVICE_SHARED_MEM_CAPABILITIES_INTEL",
        "CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL",
      ],
    },
    { type: "cl_device_unified_shared_memory_capabilities_intel", names: ["CL_UNIFIED_SHARED_MEMORY_*_INTEL"] },
    { type: "cl_mem_properties_intel", names: ["CL_MEM_ALLOC_FLAGS_INTEL"] },
    { type: "cl_mem_alloc_flags_intel", names: ["CL_MEM_ALLOC_WRITE_COMBINED_INTEL", "CL_MEM_ALLOC_INITIAL_*_INTEL"] },
    { type: "cl_mem_info_intel", names: ["CL_MEM_ALLOC_*_INTEL", "!CL_MEM_ALLOC_BUFFER_LOCATION_INTEL"] },
    { type: "cl_unified_shared_memory_type_intel", names: ["CL_MEM_TYPE_*_INTEL"] },
    { type: "cl_kernel_exec_info", names: ["CL_KERNEL_EXEC_INFO_*_INTEL"] },
  ],
  structs: [],
};
