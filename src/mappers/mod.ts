/**
 * The table of edges. Of two routes with equal costs, the one whose edges come first here is taken.
 *
 * @module
 */
import type { Mapper } from "../core/graph/mapper.ts";
import { imageMapper } from "../core/graph/image_mapper.ts";
import { portMapper } from "../core/graph/port_mapper.ts";
import { cudaToHost } from "./cuda_to_host.ts";
import { cudaToCuda } from "./cuda_to_cuda.ts";
import { hostToCuda } from "./host_to_cuda.ts";
import { hostToOpenCL } from "./host_to_opencl.ts";
import { hostToOpenCLImage } from "./host_to_opencl_image.ts";
import { hostToOpenCLSvm } from "./host_to_opencl_svm.ts";
import { hostToOpenCVMat } from "./host_to_opencv_mat.ts";
import { hostToVaapi } from "./host_to_vaapi.ts";
import { openCLImageToHost } from "./opencl_image_to_host.ts";
import { openCLSvmToHost } from "./opencl_svm_to_host.ts";
import { openCLToOpenCLImage } from "./opencl_to_opencl_image.ts";
import { openCLToOpenCVUMat } from "./opencl_to_opencv_umat.ts";
import { openCLUsmToHost } from "./opencl_usm_to_host.ts";
import { openCLSvmToOpenCL } from "./opencl_svm_to_opencl.ts";
import { openCLToHost } from "./opencl_to_host.ts";
import { openCVUMatToOpenCL } from "./opencv_umat_to_opencl.ts";
import { vaapiToHost } from "./vaapi_to_host.ts";

export {
  cudaToCuda,
  cudaToHost,
  hostToCuda,
  hostToOpenCL,
  hostToOpenCLImage,
  hostToOpenCLSvm,
  hostToOpenCVMat,
  hostToVaapi,
  openCLImageToHost,
  openCLSvmToHost,
  openCLSvmToOpenCL,
  openCLToHost,
  openCLToOpenCLImage,
  openCLToOpenCVUMat,
  openCLUsmToHost,
  openCVUMatToOpenCL,
  vaapiToHost,
};

/** Pinned memory as host memory, by the host's own address. */
export const cudaPinnedToHost: Mapper = portMapper("cuda.pinned", "host");

/** Managed memory as host memory, by its one address. On a GPU with separate memory its pages move. */
export const cudaManagedToHost: Mapper = portMapper("cuda.managed", "host");

/** Virtual memory of the host as host memory, by its one address. */
export const cudaVirtualToHost: Mapper = portMapper("cuda.virtual", "host");

/** Virtual memory of CUDA, on the device or on the host, as an OpenCL buffer of the same device, by its fd. */
export const cudaVirtualToOpenCL: Mapper = portMapper("cuda.virtual", "opencl");

/** A `cv::Mat` as its host memory: the same address, the same strides. */
export const openCVMatToHost: Mapper = portMapper("opencv.mat", "host");

/** An image of Vulkan's as an image of another Vulkan on the same device, in the driver's own order of pixels; or by a dma-buf. */
export const vulkanImageToVulkanImage: Mapper = imageMapper("vulkan.image", "vulkan.image");

/** An image of Vulkan's as a dma-buf, if its pixels lie row by row or by a DRM format modifier. */
export const vulkanImageToDmaBuf: Mapper = imageMapper("vulkan.image", "dmabuf");

/** An image of Vulkan's as a 2D image of OpenCL's on the same device, in the driver's own order of pixels. */
export const vulkanImageToOpenCLImage: Mapper = imageMapper("vulkan.image", "opencl.image");

/** An image of Vulkan's as an array of CUDA's on the same device, in the driver's own order of pixels. */
export const vulkanImageToCudaImage: Mapper = imageMapper("vulkan.image", "cuda.image");

/** A texture or a renderbuffer of OpenGL's as an array of CUDA's on the same device, in place. */
export const eglImageToCudaImage: Mapper = imageMapper("egl.image", "cuda.image");

/** An `EGLImage` as a 2D image of OpenCL's on the same device (cl_khr_egl_image), in place. */
export const eglImageToOpenCLImage: Mapper = imageMapper("egl.image", "opencl.image");

/** Rows of pixels in a dma-buf, such as a plane of a picture, as an image of Vulkan's. */
export const dmaBufToVulkanImage: Mapper = imageMapper("dmabuf", "vulkan.image");

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
  vulkanImageToVulkanImage,
  vulkanImageToDmaBuf,
  dmaBufToVulkanImage,
  vulkanImageToOpenCLImage,
  vulkanImageToCudaImage,
  eglImageToCudaImage,
  eglImageToOpenCLImage,
  vaapiToHost,
  hostToVaapi,
] as readonly unknown[] as readonly Mapper[];
