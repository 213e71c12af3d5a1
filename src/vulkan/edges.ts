import { imageMapper } from "../core/graph/port_mapper.ts";
import type { Mapper } from "../core/graph/mapper.ts";

/** The edges to images, which no context counts among its targets: each format and size is a target of its own. */
export const EDGES: readonly Mapper[] = [
  imageMapper("vulkan.image", "vulkan.image"), // to another context on the same device
  imageMapper("vulkan.image", "dmabuf"),
  imageMapper("dmabuf", "vulkan.image"),
];
