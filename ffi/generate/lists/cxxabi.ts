import type { Library } from "../library.ts";

/** The C++ runtime's own functions: what a handler of exceptions calls. */
export const cxxabi: Library = {
  name: "cxxabi",
  interface: "CxxAbi",
  headers: ["cxxabi.h"],
  defines: {},
  cxx: { namespace: "__cxxabiv1", inRegister: [] },
  functions: [
    "__cxxabiv1::__cxa_begin_catch",
    "__cxxabiv1::__cxa_end_catch",
    "__cxxabiv1::__cxa_current_exception_type",
    { name: "__cxxabiv1::__cxa_demangle", buffer: ["length", "status"] },
  ],
  constants: [],
  structs: [],
};
