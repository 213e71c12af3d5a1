import type { Described, DescribedPlane } from "../../core/tensors/described.ts";
import { moved } from "../../core/layout/layout.ts";

/** The plane of a tensor, its layout counted from its first element: those of most are already. */
export function planesFromZero({ planes }: Described): readonly DescribedPlane[] {
  const [plane] = planes;
  return plane.layout.byteOffset === 0 ? planes : [{ ...plane, layout: moved(plane.layout, 0) }];
}
