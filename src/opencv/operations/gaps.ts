import type { MatShape } from "../shape.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { OpenCVUMat } from "../umat.ts";
import { unfit } from "./image.ts";

/** OpenCL's functions for parts of a buffer count three dimensions. */
const MOST_DIMENSIONS = 3;

/**
 * Throws a {@link LayoutError} unless OpenCV can copy an array as it is, where a UMat is the source or the output: with gaps
 * between its elements it copies three dimensions at most (checkContinuous).
 */
export function assertCopied(fn: string, src: OpenCVTensor, dst: OpenCVTensor): void {
  if (!(src instanceof OpenCVUMat) && !(dst instanceof OpenCVUMat)) return;
  for (const [argument, { name, shape }] of Object.entries({ src, dst })) {
    const { length } = shape.sizes;
    if (length <= MOST_DIMENSIONS || !hasGaps(shape)) continue;
    throw unfit(
      fn,
      argument,
      `${name} has ${length} dimensions and gaps; what has gaps OpenCV copies into a UMat, and out of one, only up to ` +
        `${MOST_DIMENSIONS} dimensions.`,
      "Slice it, or give it a layout without gaps.",
    );
  }
}

function hasGaps({ sizes, steps }: MatShape): boolean {
  return steps.some((step, i) => i > 0 && steps[i - 1] !== step * sizes[i]);
}
