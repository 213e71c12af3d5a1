import type { Address } from "../../../ffi/address.ts";
import { placesOf, runsOf } from "../../core/layout/runs.ts";
import { isContinuous } from "../extents.ts";
import { dataIn, fillMat, umatIn } from "../header.ts";
import { core } from "../library.ts";
import { layoutOf, type MatShape } from "../shape.ts";
import { filledSlot, giveSlot, type Slot, viewOf } from "../slots.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { depthOf, typeOf } from "../type.ts";
import { OpenCVUMat } from "../umat.ts";
import { partOf } from "../umats/over.ts";

/**
 * Copies `src` to `dst`, between the gaps of a UMat by boxes of two dimensions, because OpenCV 4.6 copies wrong bytes in three.
 * The last row is a box of its own: NVIDIA's driver (580.159) counts the gap behind it as part of a box, and refuses a box that
 * ends with its buffer (CL_INVALID_VALUE).
 * @param copy copies an array of any type: from the first slot's header to the second slot's output
 */
export function copyBoxes(src: OpenCVTensor, dst: OpenCVTensor, copy: (from: Slot, to: Slot) => void): void {
  const shapes = [src.matShape, dst.matShape] as const;
  const onDevice = src instanceof OpenCVUMat || dst instanceof OpenCVUMat;
  const hasGaps = shapes.some(({ type, sizes, steps }) => !isContinuous(type, sizes, steps));
  if (!onDevice || !hasGaps || !isSame(...shapes)) return copy(src.slot, dst.slot);
  const { length, dimensions } = runsOf(shapes.map(layoutOf));
  if (dimensions.length === 0) return copy(src.slot, dst.slot);
  const rows = dimensions.reduce((most, one) => one.count > most.count ? one : most); // for the fewest boxes
  const outer = dimensions.filter((one) => one !== rows);
  const box = (count: number, begins: readonly number[]) => {
    if (count === 0) return;
    const [from, to] = rows.strides.map((stride) => bytes(count, length, count === 1 ? length : stride));
    withBox(src, from, begins[0], (part) => withBox(dst, to, begins[1], (into) => copy(part, into)));
  };
  const last = rows.count - 1;
  for (const begins of placesOf([0, 0], outer)) {
    box(last, begins);
    box(1, begins.map((begin, i) => begin + last * rows.strides[i]));
  }
}

function isSame(one: MatShape, other: MatShape): boolean {
  return one.type === other.type && one.sizes.length === other.sizes.length &&
    one.sizes.every((size, i) => size === other.sizes[i]);
}

/**
 * Rows of bytes, because OpenCV rounds the offset of a larger element down if the step is not a multiple of it (ndoffset).
 */
function bytes(rows: number, length: number, step: number): MatShape {
  return { type: typeOf(depthOf("u8")!, 1), sizes: [rows, length], steps: [step, 1] };
}

function withBox(tensor: OpenCVTensor, shape: MatShape, begin: number, use: (part: Slot) => void): void {
  const { slot: whole } = tensor;
  if (tensor instanceof OpenCVUMat) {
    const part = partOf(whole, shape, Number(umatIn(viewOf(whole)).offset) + begin);
    try {
      use(part);
    } finally {
      core().UMat_destruct(part.header);
      giveSlot(part);
    }
  } else {
    const part = filledSlot((slot) => fillMat(slot, shape, dataIn(whole) + BigInt(begin) as Address));
    try {
      use(part);
    } finally {
      giveSlot(part);
    }
  }
}
