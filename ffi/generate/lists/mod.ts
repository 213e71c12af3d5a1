import type { Library } from "../library.ts";
import { libc } from "./libc.ts";
import { opencl } from "./opencl.ts";
import { openclUsm } from "./opencl_usm.ts";

/** Every library that is generated: one folder of `ffi/` each. */
export const LIBRARIES: readonly Library[] = [libc, opencl, openclUsm];
