import { imageMapper } from "../core/graph/image_mapper.ts";
import type { Mapper } from "../core/graph/mapper.ts";

/** The edges to images that no context counts among its targets: each format and size is a target of its own. */
export const EDGES: readonly Mapper[] = [
  imageMapper("egl.image", "cuda.image"),
  imageMapper("egl.image", "opencl.image"),
];
