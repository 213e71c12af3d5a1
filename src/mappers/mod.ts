/**
 * Edges between two APIs that neither owns alone. Where two routes cost the same, the one whose edges come first is taken.
 *
 * @module
 */
import type { Mapper } from "../core/graph/mapper.ts";
import { openCLToOpenCVUMat } from "./opencl_to_opencv_umat.ts";
import { openCVUMatToOpenCL } from "./opencv_umat_to_opencl.ts";

export { openCLToOpenCVUMat, openCVUMatToOpenCL };

/** These edges. */
export const MAPPERS: readonly Mapper[] = [
  openCLToOpenCVUMat,
  openCVUMatToOpenCL,
] as readonly unknown[] as readonly Mapper[];
