import type { Mapper } from "../core/graph/mapper.ts";
import { EDGES as CUDA } from "../cuda/edges/mod.ts";
import { EDGES as OPENCL } from "../opencl/edges/mod.ts";
import { EDGES as OPENCV } from "../opencv/edges/mod.ts";
import { EDGES as VAAPI } from "../vaapi/edges/mod.ts";
import { EDGES as VULKAN } from "../vulkan/edges.ts";

/** Every edge that no port makes. They are examined even if their API is not on this machine. */
export const KNOWN_EDGES: readonly Mapper[] = [...OPENCL, ...OPENCV, ...CUDA, ...VULKAN, ...VAAPI];
