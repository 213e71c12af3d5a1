import type { Library } from "../library.ts";

/** OpenCL's images over EGL's (cl_khr_egl_image), whose functions a driver returns by name. */
export const openclEgl: Library = {
  name: "opencl_egl",
  interface: "ClEgl",
  headers: ["CL/cl.h", "CL/cl_egl.h"],
  defines: { CL_TARGET_OPENCL_VERSION: "300" },
  byPointer: true,
  functions: [
    { name: "clCreateFromEGLImageKHR", address: ["egldisplay", "eglimage"] },
    { name: "clEnqueueAcquireEGLObjectsKHR", address: ["event_wait_list", "event"] },
    { name: "clEnqueueReleaseEGLObjectsKHR", address: ["event_wait_list", "event"] },
  ],
  constants: [],
  structs: [],
};
