import type { Library } from "../library.ts";

/** OpenCL: contexts, queues, buffers, programs, kernels and events. What is newer than 1.2 is optional. */
export const opencl: Library = {
  name: "opencl",
  interface: "OpenCL",
  headers: ["CL/cl.h", "CL/cl_ext.h"],
  defines: { CL_TARGET_OPENCL_VERSION: "300" },
  functions: [
    "clGetPlatformIDs",
    "clGetPlatformInfo",
    "clGetDeviceIDs",
    "clGetDeviceInfo",

    "clCreateContext",
    "clRetainContext",
    "clReleaseContext",
    "clGetContextInfo",

    "clCreateCommandQueue",
    { name: "clCreateCommandQueueWithProperties", optional: true },
    "clRetainCommandQueue",
    "clReleaseCommandQueue",
    "clFlush",
    "clFinish",

    { name: "clCreateBuffer", address: ["host_ptr"] },
    "clCreateSubBuffer",
    "clRetainMemObject",
    "clReleaseMemObject",
    "clGetMemObjectInfo",

    "clCreateProgramWithSource",
    "clBuildProgram",
    "clGetProgramInfo",
    "clGetProgramBuildInfo",
    "clReleaseProgram",

    "clCreateKernel",
    "clSetKernelArg",
    "clGetKernelInfo",
    "clGetKernelArgInfo",
    "clGetKernelWorkGroupInfo",
    "clReleaseKernel",

    "clEnqueueNDRangeKernel",
    "clEnqueueMapBuffer",
    { name: "clEnqueueUnmapMemObject", address: ["mapped_ptr"] },
    { name: "clEnqueueReadBuffer", address: ["ptr"] },
    { name: "clEnqueueWriteBuffer", address: ["ptr"] },
    "clEnqueueMarkerWithWaitList",
    "clEnqueueBarrierWithWaitList",

    "clCreateUserEvent",
    "clSetUserEventStatus",
    "clRetainEvent",
    "clReleaseEvent",
    "clGetEventInfo",
    "clWaitForEvents",
    { name: "clWaitForEvents", as: "clWaitForEventsAsync", nonblocking: true },
  ],
  constants: [
    { type: "cl_int", names: ["CL_SUCCESS"] },
    { type: "cl_bool", names: ["CL_FALSE", "CL_TRUE"] },

    { type: "cl_platform_info", names: ["CL_PLATFORM_*"], from: ["cl.h"] },
    { type: "cl_device_type", names: ["CL_DEVICE_TYPE_*"], from: ["cl.h"] },
    { type: "cl_device_svm_capabilities", names: ["CL_DEVICE_SVM_*", "!*_CAPABILITIES"], from: ["cl.h"] },
    {
      type: "cl_device_info",
      names: [
        "CL_DEVICE_*",
        "CL_DRIVER_VERSION",
        "!CL_DEVICE_*PARTITION_*", // sub-devices
        "!CL_DEVICE_AFFINITY_*",
        "!CL_DEVICE_ATOMIC_ORDER_*", // OpenCL C atomics
        "!CL_DEVICE_ATOMIC_SCOPE_*",
        "!CL_DEVICE_*QUEUE_ON_DEVICE*", // queues on the device
        "!CL_DEVICE_QUEUE_SUPPORTED",
        "!CL_DEVICE_QUEUE_REPLACEABLE_DEFAULT",
      ],
      from: ["cl.h"],
    },
    {
      type: "cl_device_info",
      names: ["CL_DEVICE_HALF_FP_CONFIG", "CL_DEVICE_PCI_BUS_INFO_KHR", "CL_D*_UUID_KHR", "CL_DEVICE_LUID_*KHR"],
    },
    { type: "cl_device_fp_config", names: ["CL_FP_*"] },
    { type: "int", names: ["CL_UUID_SIZE_KHR", "CL_LUID_SIZE_KHR"] },

    { type: "cl_context_properties", names: ["CL_CONTEXT_PLATFORM", "CL_CONTEXT_INTEROP_USER_SYNC"] },
    { type: "cl_context_info", names: ["CL_CONTEXT_*"], from: ["cl.h"] },

    { type: "cl_command_queue_properties", names: ["CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE", "CL_QUEUE_PROFILING_*"] },
    { type: "cl_command_queue_info", names: ["CL_QUEUE_*", "!CL_QUEUE_ON_DEVICE*"], from: ["cl.h"] },

    {
      type: "cl_mem_flags",
      names: [
        "CL_MEM_READ_*",
        "CL_MEM_WRITE_ONLY",
        "CL_MEM_USE_HOST_PTR",
        "CL_MEM_ALLOC_HOST_PTR",
        "CL_MEM_COPY_HOST_PTR",
        "CL_MEM_HOST_*_ONLY",
        "CL_MEM_HOST_NO_ACCESS",
      ],
      from: ["cl.h"],
    },
    { type: "cl_map_flags", names: ["CL_MAP_*"], from: ["cl.h"] },
    { type: "cl_mem_object_type", names: ["CL_MEM_OBJECT_*"], from: ["cl.h"] },
    {
      type: "cl_mem_info",
      names: ["CL_MEM_*", "!CL_MEM_SVM_*", "!CL_MEM_KERNEL_*"],
      from: ["cl.h"],
    },
    { type: "cl_buffer_create_type", names: ["CL_BUFFER_CREATE_TYPE_REGION"] },

    { type: "cl_program_build_info", names: ["CL_PROGRAM_BUILD_*", "CL_PROGRAM_BINARY_TYPE"] },
    { type: "cl_program_info", names: ["CL_PROGRAM_*", "!CL_PROGRAM_BINARY_TYPE_*"], from: ["cl.h"] },
    { type: "cl_build_status", names: ["CL_BUILD_*"] },

    { type: "cl_kernel_arg_address_qualifier", names: ["CL_KERNEL_ARG_ADDRESS_*", "!*_QUALIFIER"] },
    { type: "cl_kernel_arg_access_qualifier", names: ["CL_KERNEL_ARG_ACCESS_*", "!*_QUALIFIER"] },
    {
      type: "cl_kernel_arg_info",
      names: ["CL_KERNEL_ARG_*_QUALIFIER", "CL_KERNEL_ARG_TYPE_NAME", "CL_KERNEL_ARG_NAME"],
    },
    { type: "cl_kernel_arg_type_qualifier", names: ["CL_KERNEL_ARG_TYPE_*"] },
    {
      type: "cl_kernel_work_group_info",
      names: ["CL_KERNEL_*WORK_GROUP_SIZE*", "CL_KERNEL_*_MEM_SIZE", "CL_KERNEL_GLOBAL_WORK_SIZE"],
      from: ["cl.h"],
    },
    { type: "cl_kernel_info", names: ["CL_KERNEL_*", "!*_SUB_GROUP*", "!*_EXEC_INFO_*"], from: ["cl.h"] },

    { type: "cl_event_info", names: ["CL_EVENT_*"], from: ["cl.h"] },
    { type: "cl_int", names: ["CL_COMPLETE", "CL_RUNNING", "CL_SUBMITTED", "CL_QUEUED"] }, // execution status
  ],
  errors: {
    type: "cl_int",
    names: ["CL_*", "!CL_BUILD_NONE", "!CL_BUILD_ERROR", "!CL_BUILD_IN_PROGRESS", "!*_LIST_END_*"],
    from: ["cl.h", "cl_ext.h"],
    written: /^-\d+$/,
  },
  structs: ["cl_buffer_region", "cl_device_pci_bus_info_khr"],
};
