import type { Library } from "../library.ts";
import { cuda } from "./cuda.ts";

/** NVRTC: the compiler from CUDA C++ to PTX or to a device's own code, as 12 and 13 have it. */
export const nvrtc: Library = {
  ...cuda,
  name: "nvrtc",
  interface: "Nvrtc",
  headers: ["nvrtc.h"],
  defines: {},
  functions: [
    "nvrtcVersion",
    "nvrtcGetNumSupportedArchs",
    "nvrtcGetSupportedArchs",
    "nvrtcCreateProgram",
    "nvrtcDestroyProgram",
    "nvrtcAddNameExpression",
    "nvrtcCompileProgram",
    "nvrtcGetLoweredName",
    "nvrtcGetPTXSize",
    "nvrtcGetPTX",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
  ],
  constants: [{ type: "nvrtcResult", names: ["NVRTC_SUCCESS"] }],
  errors: { type: "nvrtcResult", names: ["NVRTC_ERROR_*"] },
  structs: [],
};
