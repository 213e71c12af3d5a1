import type { Library } from "../library.ts";

/** OpenCL's semaphores (cl_khr_semaphore, cl_khr_external_semaphore), whose functions a driver returns by name. */
export const openclSemaphore: Library = {
  name: "opencl_semaphore",
  interface: "Semaphores",
  headers: ["CL/cl.h", "CL/cl_ext.h"],
  defines: { CL_TARGET_OPENCL_VERSION: "300" },
  byPointer: true,
  functions: [
    "clCreateSemaphoreWithPropertiesKHR",
    { name: "clEnqueueWaitSemaphoresKHR", address: ["event_wait_list", "event"] },
    { name: "clEnqueueSignalSemaphoresKHR", address: ["event_wait_list", "event"] },
    "clGetSemaphoreInfoKHR",
    "clRetainSemaphoreKHR",
    "clReleaseSemaphoreKHR",
    // Of drivers that export any.
    { name: "clGetSemaphoreHandleForTypeKHR", optional: true },
  ],
  constants: [
    {
      type: "cl_semaphore_info_khr",
      names: ["CL_SEMAPHORE_*_KHR", "!CL_SEMAPHORE_TYPE_*", "!CL_SEMAPHORE_HANDLE_*", "!CL_SEMAPHORE_EXPORT_*"],
    },
    { type: "cl_semaphore_properties_khr", names: ["CL_SEMAPHORE_TYPE_KHR", "CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR"] },
  ],
  structs: [],
};
