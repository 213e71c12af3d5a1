import type { Mapper } from "../../core/graph/mapper.ts";
import { imageMapper, portMapper } from "../../core/graph/port_mapper.ts";
import { hostToOpenCL } from "./host_to_opencl.ts";
import { hostToOpenCLImage } from "./host_to_opencl_image.ts";
import { openCLSvmToOpenCL } from "./opencl_svm_to_opencl.ts";
import { openCLToOpenCLImage } from "./opencl_to_opencl_image.ts";

export { hostToOpenCL, hostToOpenCLImage, openCLSvmToOpenCL, openCLToOpenCLImage };

/** The edges that an OpenCLContext brings. Where costs are equal, the first wins. */
export const EDGES: readonly Mapper[] = [
  hostToOpenCL,
  portMapper("opencl", "host"),
  portMapper("opencl.svm", "host"), // a context does not count its pointer memory among its targets
  openCLSvmToOpenCL,
  portMapper("host", "opencl.svm"),
  portMapper("opencl.usm", "host"),
  hostToOpenCLImage,
  portMapper("opencl.image", "host"),
  openCLToOpenCLImage,
  imageMapper("vulkan.image", "opencl.image"), // each format and size of an image is a target of its own
  imageMapper("egl.image", "opencl.image"),
] as readonly unknown[] as readonly Mapper[];
