import { imageMapper } from "../core/graph/port_mapper.ts";
import type { Mapper } from "../core/graph/mapper.ts";

/** The edges to images, which are not among a context's targets: each format is a target of its own. */
export const EDGES: readonly Mapper[] = [
  imageMapper("vulkan.image", "vulkan.image"), // to another context on the same device
  imageMapper("vulkan.image", "dmabuf"),
  imageMapper("dmabuf", "vulkan.image"),
];
