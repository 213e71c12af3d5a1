import type { Library } from "../library.ts";

/** Events of others' syncs (cl_khr_egl_event, cl_khr_gl_event), whose functions a driver returns by name. */
export const openclEvents: Library = {
  name: "opencl_events",
  interface: "ClEvents",
  headers: ["CL/cl.h", "CL/cl_egl.h", "CL/cl_gl.h"],
  defines: { CL_TARGET_OPENCL_VERSION: "300" },
  byPointer: true,
  functions: [
    { name: "clCreateEventFromEGLSyncKHR", address: ["sync", "display"], optional: true },
    { name: "clCreateEventFromGLsyncKHR", optional: true },
  ],
  constants: [],
  structs: [],
};
