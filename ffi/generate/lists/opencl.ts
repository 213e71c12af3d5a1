import type { FunctionEntry, Library } from "../library.ts";

/** A command: its wait list, and where its event goes, are addresses: they are passed with every command. */
function command(name: string, address: readonly string[] = []): FunctionEntry {
  return { name, address: [...address, "event_wait_list", "event"] };
}

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
    { name: "clRetainDevice", optional: true },
    { name: "clReleaseDevice", optional: true },

    "clCreateContext",
    "clRetainContext",
    "clReleaseContext",
    "clGetContextInfo",

    "clCreateCommandQueue",
    { name: "clCreateCommandQueueWithProperties", optional: true },
    "clRetainCommandQueue",
    "clReleaseCommandQueue",
    "clGetCommandQueueInfo",
    "clFlush",
    "clFinish",

    { name: "clCreateBuffer", address: ["host_ptr"] },
    { name: "clCreateBufferWithProperties", address: ["host_ptr"], optional: true },
    "clCreateSubBuffer",
    "clRetainMemObject",
    "clReleaseMemObject",
    "clGetMemObjectInfo",

    { name: "clCreateImage", address: ["host_ptr"], optional: true },
    "clGetSupportedImageFormats",
    "clCreateSampler",
    "clReleaseSampler",

    { name: "clSVMAlloc", optional: true },
    { name: "clSVMFree", address: ["svm_pointer"], optional: true },

    "clCreateProgramWithSource",
    "clCreateProgramWithBinary",
    "clRetainProgram",
    "clBuildProgram",
    "clGetProgramInfo",
    "clGetProgramBuildInfo",
    "clReleaseProgram",

    "clCreateKernel",
    { name: "clSetKernelArg", address: ["arg_value"] },
    { name: "clSetKernelArgSVMPointer", address: ["arg_value"], optional: true },
    { name: "clSetKernelExecInfo", optional: true },
    "clGetKernelInfo",
    "clGetKernelArgInfo",
    "clGetKernelWorkGroupInfo",
    "clReleaseKernel",

    command("clEnqueueNDRangeKernel", ["global_work_offset", "global_work_size", "local_work_size"]),
    command("clEnqueueMapBuffer"),
    command("clEnqueueUnmapMemObject", ["mapped_ptr"]),
    command("clEnqueueReadBuffer", ["ptr"]),
    command("clEnqueueWriteBuffer", ["ptr"]),
    command("clEnqueueReadBufferRect", ["ptr"]),
    command("clEnqueueWriteBufferRect", ["ptr"]),
    command("clEnqueueFillBuffer"),
    command("clEnqueueCopyBuffer"),
    command("clEnqueueCopyBufferRect"),
    command("clEnqueueMigrateMemObjects"),
    command("clEnqueueMapImage"),
    command("clEnqueueReadImage", ["ptr"]),
    command("clEnqueueWriteImage", ["ptr"]),
    command("clEnqueueFillImage"),
    command("clEnqueueCopyImage"),
    command("clEnqueueCopyImageToBuffer"),
    command("clEnqueueCopyBufferToImage"),
    { ...command("clEnqueueSVMMap", ["svm_ptr"]), optional: true },
    { ...command("clEnqueueSVMUnmap", ["svm_ptr"]), optional: true },
    command("clEnqueueMarkerWithWaitList"),

    "clCreateUserEvent",
    "clSetUserEventStatus",
    "clRetainEvent",
    "clReleaseEvent",
    { name: "clGetEventInfo", address: ["param_value", "param_value_size_ret"] },
    "clGetEventProfilingInfo",
    { name: "clWaitForEvents", address: ["event_list"] },
    { name: "clGetExtensionFunctionAddress", optional: true },
    "clGetExtensionFunctionAddressForPlatform",
    { name: "clWaitForEvents", as: "clWaitForEventsAsync", nonblocking: true },
  ],
  constants: [
    { type: "cl_int", names: ["CL_SUCCESS"] },
    { type: "cl_bool", names: ["CL_FALSE", "CL_TRUE"] },

    { type: "cl_platform_info", names: ["CL_PLATFORM_*"], from: ["cl.h"] },
    {
      type: "cl_platform_info",
      names: ["CL_PLATFORM_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR", "CL_PLATFORM_SEMAPHORE_*_KHR"],
    },
    { type: "cl_device_type", names: ["CL_DEVICE_TYPE_*"], from: ["cl.h"] },
    { type: "cl_device_svm_capabilities", names: ["CL_DEVICE_SVM_*", "!*_CAPABILITIES"], from: ["cl.h"] },
    {
      type: "cl_device_info",
      names: [
        "CL_DEVICE_*",
        "CL_DRIVER_VERSION",
        "!CL_DEVICE_PARTITION_*", // sub-devices
        "!CL_DEVICE_AFFINITY_DOMAIN_*",
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
      names: [
        "CL_DEVICE_HALF_FP_CONFIG",
        "CL_DEVICE_PCI_BUS_INFO_KHR",
        "CL_D*_UUID_KHR",
        "CL_DEVICE_LUID_*KHR",
        "CL_DEVICE_EXTERNAL_MEMORY_*_KHR",
        "CL_DEVICE_SEMAPHORE_*_KHR",
      ],
    },
    { type: "cl_device_fp_config", names: ["CL_FP_*"] },
    {
      type: "cl_external_memory_handle_type_khr",
      names: ["CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR", "CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR"],
    },
    {
      type: "cl_external_semaphore_handle_type_khr",
      names: ["CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR", "CL_SEMAPHORE_HANDLE_SYNC_FD_KHR"],
    },
    { type: "cl_semaphore_type_khr", names: ["CL_SEMAPHORE_TYPE_BINARY_KHR"] },
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
    {
      type: "cl_svm_mem_flags",
      names: ["CL_MEM_SVM_FINE_GRAIN_BUFFER", "CL_MEM_SVM_ATOMICS"],
    },
    { type: "cl_mem_flags", names: ["CL_MEM_KERNEL_READ_AND_WRITE"] },
    { type: "cl_mem_migration_flags", names: ["CL_MIGRATE_*"], from: ["cl.h"] },
    { type: "cl_image_info", names: ["CL_IMAGE_*"], from: ["cl.h"] },
    {
      type: "cl_channel_order",
      names: [
        "CL_R",
        "CL_A",
        "CL_RG",
        "CL_RA",
        "CL_RGB",
        "CL_RGBA",
        "CL_BGRA",
        "CL_ARGB",
        "CL_ABGR",
        "CL_INTENSITY",
        "CL_LUMINANCE",
        "CL_Rx",
        "CL_RGx",
        "CL_RGBx",
        "CL_DEPTH",
        "CL_sRGB",
        "CL_sRGBx",
        "CL_sRGBA",
        "CL_sBGRA",
      ],
      from: ["cl.h"],
    },
    {
      type: "cl_channel_type",
      names: ["CL_SNORM_*", "CL_UNORM_*", "CL_SIGNED_INT*", "CL_UNSIGNED_INT*", "CL_HALF_FLOAT", "CL_FLOAT"],
      from: ["cl.h"],
    },
    { type: "cl_addressing_mode", names: ["CL_ADDRESS_*"], from: ["cl.h"] },
    { type: "cl_filter_mode", names: ["CL_FILTER_*"], from: ["cl.h"] },
    { type: "cl_sampler_info", names: ["CL_SAMPLER_*"], from: ["cl.h"] },
    { type: "cl_buffer_create_type", names: ["CL_BUFFER_CREATE_TYPE_REGION"] },

    { type: "cl_program_build_info", names: ["CL_PROGRAM_BUILD_*", "CL_PROGRAM_BINARY_TYPE"] },
    { type: "cl_program_info", names: ["CL_PROGRAM_*", "!CL_PROGRAM_BINARY_TYPE_*"], from: ["cl.h"] },
    { type: "cl_program_binary_type", names: ["CL_PROGRAM_BINARY_TYPE_*"], from: ["cl.h"] },
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
    { type: "cl_kernel_exec_info", names: ["CL_KERNEL_EXEC_INFO_*"], from: ["cl.h"] },

    { type: "cl_profiling_info", names: ["CL_PROFILING_*"], from: ["cl.h"] },
    { type: "cl_event_info", names: ["CL_EVENT_*"], from: ["cl.h"] },
    { type: "cl_command_type", names: ["CL_COMMAND_USER"] },
    { type: "cl_int", names: ["CL_COMPLETE", "CL_RUNNING", "CL_SUBMITTED", "CL_QUEUED"] }, // execution status
  ],
  errors: {
    type: "cl_int",
    names: ["CL_*", "!CL_BUILD_NONE", "!CL_BUILD_ERROR", "!CL_BUILD_IN_PROGRESS", "!*_LIST_END_*"],
    from: ["cl.h", "cl_ext.h"],
    written: /^-\d+$/,
  },
  structs: ["cl_buffer_region", "cl_image_format", "cl_image_desc", "cl_device_pci_bus_info_khr"],
};
