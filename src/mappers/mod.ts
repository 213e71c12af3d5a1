/**
 * The table of edges. Where two routes cost the same, the one whose edges stand first here is taken.
 *
 * @module
 */
import type { Mapper } from "../core/mapper.ts";
import { hostToOpenCL } from "./host_to_opencl.ts";
import { hostToOpenCLImage } from "./host_to_opencl_image.ts";
import { hostToOpenCLSvm } from "./host_to_opencl_svm.ts";
import { openCLImageToHost } from "./opencl_image_to_host.ts";
import { openCLSvmToHost } from "./opencl_svm_to_host.ts";
import { openCLToOpenCLImage } from "./opencl_to_opencl_image.ts";
import { openCLUsmToHost } from "./opencl_usm_to_host.ts";
import { openCLSvmToOpenCL } from "./opencl_svm_to_opencl.ts";
import { openCLToHost } from "./opencl_to_host.ts";

export {
  hostToOpenCL,
  hostToOpenCLImage,
  hostToOpenCLSvm,
  openCLImageToHost,
  openCLSvmToHost,
  openCLSvmToOpenCL,
  openCLToHost,
  openCLToOpenCLImage,
  openCLUsmToHost,
};

/** Every edge that samepage knows. */
export const MAPPERS: readonly Mapper[] = [
  hostToOpenCL,
  openCLToHost,
  openCLSvmToHost,
  openCLSvmToOpenCL,
  hostToOpenCLSvm,
  openCLUsmToHost,
  hostToOpenCLImage,
  openCLImageToHost,
  openCLToOpenCLImage,
] as readonly unknown[] as readonly Mapper[];
