import type { Mapper } from "../../core/graph/mapper.ts";
import { hostToOpenCVMat } from "./host_to_opencv_mat.ts";

export { hostToOpenCVMat };

export const EDGES: readonly Mapper[] = [hostToOpenCVMat] as readonly unknown[] as readonly Mapper[];
