import { type Names, optionsIn } from "../../core/argument.ts";
import type { OpenCVContext } from "../context.ts";
import { core } from "../library.ts";
import { operate, type OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { channelsIn } from "../type.ts";
import { OpenCVUMat } from "../umat.ts";
import { assertCopied } from "./gaps.ts";
import { elementsOf, unfit } from "./image.ts";
import { sizesInWords } from "./result.ts";

/** Options of `cv.copyTo`. */
export interface CopyToOptions extends OperationOptions {
  /** Which elements are copied: those where it is not 0. CV_8U, of the same size, with one channel or as many. */
  readonly mask?: OpenCVTensor;
}

const OPTIONS: Names<CopyToOptions> = { mask: true, reallocate: true };

/** `Mat::copyTo`, `UMat::copyTo`. */
export function copyTo(cv: OpenCVContext, src: OpenCVTensor, dst: OpenCVTensor, options: CopyToOptions): void {
  const { mask, reallocate } = optionsIn(options, OPTIONS);
  operate(cv, {
    fn: "copyTo",
    inputs: mask === undefined ? { src } : { src, mask },
    dst,
    makes: () => {
      if (mask === undefined) assertCopied("copyTo", src, dst);
      else assertMask(mask, src);
      return src.shape;
    },
    reallocate,
    anyRank: true,
    call: () => {
      const { header } = src.slot;
      const { output } = dst.slot;
      if (src instanceof OpenCVUMat) {
        if (mask === undefined) core().UMat_copyTo(header, output);
        else core().UMat_copyToMasked(header, output, mask.slot.input);
      } else {
        if (mask === undefined) core().Mat_copyTo(header, output);
        else core().Mat_copyToMasked(header, output, mask.slot.input);
      }
    },
  });
}

/** A mask has the size of what it is for. @throws {LayoutError} */
function assertMask(mask: OpenCVTensor, src: OpenCVTensor): void {
  elementsOf("copyTo's mask", "mask", mask, { dtypes: ["u8"], channels: [1, channelsIn(src.shape.type)] });
  const [sizes, wanted] = [mask.shape.sizes, src.shape.sizes];
  if (sizes.length === wanted.length && sizes.every((size, i) => size === wanted[i])) return;
  const what = `${mask.name} is ${sizesInWords(sizes)}, and what it is for ${sizesInWords(wanted)}.`;
  throw unfit("copyTo", "mask", what);
}
