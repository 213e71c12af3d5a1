import type { Mapper } from "../../core/graph/mapper.ts";
import { portMapper } from "../../core/graph/port_mapper.ts";
import { openCLToOpenCVUMat } from "./opencl_to_opencv_umat.ts";
import { openCVUMatToOpenCL } from "./opencv_umat_to_opencl.ts";

export { openCLToOpenCVUMat, openCVUMatToOpenCL };

/** The edges of an OpenCVContext, so that a graph without the host has that of Mats too. */
export const EDGES: readonly Mapper[] = [
  portMapper("host", "opencv.mat"),
  openCLToOpenCVUMat,
  openCVUMatToOpenCL,
] as readonly unknown[] as readonly Mapper[];
