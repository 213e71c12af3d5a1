/**
 * The table of edges. Of two routes with equal costs, the one whose edges come first here is taken.
 *
 * @module
 */
import type { Mapper } from "../core/graph/mapper.ts";
import { hostToOpenCVMat } from "./host_to_opencv_mat.ts";
import { hostToVaapi } from "./host_to_vaapi.ts";
import { openCLImageToHost } from "./opencl_image_to_host.ts";
import { openCLToOpenCVUMat } from "./opencl_to_opencv_umat.ts";
import { openCLToHost } from "./opencl_to_host.ts";
import { openCVUMatToOpenCL } from "./opencv_umat_to_opencl.ts";
import { vaapiToHost } from "./vaapi_to_host.ts";

export {
  hostToOpenCVMat,
  hostToVaapi,
  openCLImageToHost,
  openCLToHost,
  openCLToOpenCVUMat,
  openCVUMatToOpenCL,
  vaapiToHost,
};

/** Every edge that samepage knows. */
export const MAPPERS: readonly Mapper[] = [
  openCLToHost,
  openCLImageToHost,
  hostToOpenCVMat,
  openCLToOpenCVUMat,
  openCVUMatToOpenCL,
  vaapiToHost,
  hostToVaapi,
] as readonly unknown[] as readonly Mapper[];
