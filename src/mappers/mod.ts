/**
 * The table of edges. Where two routes cost the same, the one whose edges stand first here is taken.
 *
 * @module
 */
import type { Mapper } from "../core/mapper.ts";
import { hostToOpenCL } from "./host_to_opencl.ts";
import { hostToOpenCLSvm } from "./host_to_opencl_svm.ts";
import { openCLSvmToHost } from "./opencl_svm_to_host.ts";
import { openCLUsmToHost } from "./opencl_usm_to_host.ts";
import { openCLSvmToOpenCL } from "./opencl_svm_to_opencl.ts";
import { openCLToHost } from "./opencl_to_host.ts";

export { hostToOpenCL, hostToOpenCLSvm, openCLSvmToHost, openCLSvmToOpenCL, openCLToHost, openCLUsmToHost };

/** Every edge that samepage knows. */
export const MAPPERS: readonly Mapper[] = [
  hostToOpenCL,
  openCLToHost,
  openCLSvmToHost,
  openCLSvmToOpenCL,
  hostToOpenCLSvm,
  openCLUsmToHost,
] as readonly unknown[] as readonly Mapper[];
