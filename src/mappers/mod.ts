/**
 * The table of edges. Where two routes cost the same, the one whose edges stand first here is taken.
 *
 * @module
 */
import type { Mapper } from "../core/graph/mapper.ts";
import { cudaToHost } from "./cuda_to_host.ts";
import { cudaPinnedToHost } from "./cuda_pinned_to_host.ts";
import { cudaManagedToHost } from "./cuda_managed_to_host.ts";
import { cudaToCuda } from "./cuda_to_cuda.ts";
import { cudaVirtualToHost } from "./cuda_virtual_to_host.ts";
import { cudaVirtualToOpenCL } from "./cuda_virtual_to_opencl.ts";
import { hostToCuda } from "./host_to_cuda.ts";
import { hostToOpenCL } from "./host_to_opencl.ts";
import { hostToOpenCLImage } from "./host_to_opencl_image.ts";
import { hostToOpenCLSvm } from "./host_to_opencl_svm.ts";
import { hostToOpenCVMat } from "./host_to_opencv_mat.ts";
import { openCLImageToHost } from "./opencl_image_to_host.ts";
import { openCLSvmToHost } from "./opencl_svm_to_host.ts";
import { openCLToOpenCLImage } from "./opencl_to_opencl_image.ts";
import { openCLToOpenCVUMat } from "./opencl_to_opencv_umat.ts";
import { openCLUsmToHost } from "./opencl_usm_to_host.ts";
import { openCLSvmToOpenCL } from "./opencl_svm_to_opencl.ts";
import { openCLToHost } from "./opencl_to_host.ts";
import { openCVMatToHost } from "./opencv_mat_to_host.ts";
import { openCVUMatToOpenCL } from "./opencv_umat_to_opencl.ts";

export {
  cudaManagedToHost,
  cudaPinnedToHost,
  cudaToCuda,
  cudaToHost,
  cudaVirtualToHost,
  cudaVirtualToOpenCL,
  hostToCuda,
  hostToOpenCL,
  hostToOpenCLImage,
  hostToOpenCLSvm,
  hostToOpenCVMat,
  openCLImageToHost,
  openCLSvmToHost,
  openCLSvmToOpenCL,
  openCLToHost,
  openCLToOpenCLImage,
  openCLToOpenCVUMat,
  openCLUsmToHost,
  openCVMatToHost,
  openCVUMatToOpenCL,
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
  hostToOpenCVMat,
  openCVMatToHost,
  openCLToOpenCVUMat,
  openCVUMatToOpenCL,
  hostToCuda,
  cudaToHost,
  cudaPinnedToHost,
  cudaManagedToHost,
  cudaVirtualToHost,
  cudaVirtualToOpenCL,
  cudaToCuda,
] as readonly unknown[] as readonly Mapper[];
