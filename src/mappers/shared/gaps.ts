import { sizeOf } from "../../core/layout/dtype.ts";
import type { DescribedPlane } from "../../core/tensors/described.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";

/** Are there bytes between its first and its last that are not its own? A copy of that range brings them back as well. */
export function hasGaps({ described: { planes, range } }: Mapped): boolean {
  return planes.reduce((sum, plane) => sum + ownBytes(plane), 0) < range.byteLength;
}

/** Elements do not overlap. */
function ownBytes({ layout: { shape, dtype } }: DescribedPlane): number {
  return shape.reduce((product, count) => product * count, sizeOf(dtype));
}
