import type { Library } from "../library.ts";

/** What cl_khr_gl_sharing adds to OpenCL's own functions: a driver returns it by name, and few loaders export it. */
export const openclGl: Library = {
  name: "opencl_gl",
  interface: "ClGl",
  headers: ["CL/cl.h", "CL/cl_gl.h"],
  defines: { CL_TARGET_OPENCL_VERSION: "300" },
  byPointer: true,
  functions: ["clGetGLContextInfoKHR"],
  constants: [],
  structs: [],
};
