import type { Library } from "../library.ts";

/** OpenCL's external memory (cl_khr_external_memory), whose functions a driver returns by name. */
export const openclExternal: Library = {
  name: "opencl_external",
  interface: "ExternalMemory",
  headers: ["CL/cl.h", "CL/cl_ext.h"],
  defines: { CL_TARGET_OPENCL_VERSION: "300" },
  byPointer: true,
  functions: [
    { name: "clEnqueueAcquireExternalMemObjectsKHR", address: ["event_wait_list", "event"] },
    { name: "clEnqueueReleaseExternalMemObjectsKHR", address: ["event_wait_list", "event"] },
  ],
  constants: [
    { type: "cl_mem_properties", names: ["CL_DEVICE_HANDLE_LIST_KHR", "CL_DEVICE_HANDLE_LIST_END_KHR"] },
  ],
  structs: [],
};
