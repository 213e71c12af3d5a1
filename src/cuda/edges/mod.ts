import { imageMapper } from "../../core/graph/port_mapper.ts";
import type { Mapper } from "../../core/graph/mapper.ts";
import { cudaToCuda, virtualToCuda } from "./cuda_to_cuda.ts";
import { hostToCuda } from "./host_to_cuda.ts";

export { cudaToCuda, hostToCuda, virtualToCuda };

export const EDGES: readonly Mapper[] = [
  hostToCuda,
  cudaToCuda,
  virtualToCuda,
  imageMapper("vulkan.image", "cuda.image"), // each format and size of an image is a target of its own
  imageMapper("egl.image", "cuda.image"),
] as readonly unknown[] as readonly Mapper[];
