import type { Library } from "../library.ts";

/** The functions of the C library that other libraries may call back, and what their memory takes. */
export const libcCallbacks: Library = {
  name: "libc_callbacks",
  interface: "LibCCallbacks",
  headers: ["semaphore.h", "signal.h"],
  defines: { _GNU_SOURCE: "" },
  functions: [
    { name: "sem_init", address: ["sem"] },
    { name: "sem_destroy", address: ["sem"] },
    { name: "sem_trywait", address: ["sem"] },
    { name: "sigemptyset", address: ["set"] },
  ],
  constants: [],
  structs: [],
};
