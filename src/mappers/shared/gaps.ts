import { Frame } from "../../core/tensors/frame.ts";
import { isContiguous } from "../../core/layout/layout.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";

/** Are there bytes between its first and its last that are not its own? A copy of that range brings them back as well. */
export function hasGaps(source: Tensor | Frame): boolean {
  return source instanceof Frame ? source.planes.length > 1 || hasGaps(source.planes[0]) : !isContiguous(source.layout);
}
