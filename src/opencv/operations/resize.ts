import type { Address } from "../../../ffi/address.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { PAGE } from "../../core/native/blocks.ts";
import { probePages } from "../../core/native/probe.ts";
import type { OpenCVContext } from "../context.ts";
import { imgproc } from "../library.ts";
import { OpenCVMat } from "../mat.ts";
import { operate, type OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { imageIn, imageLike, unfit } from "./image.ts";
import { type Interpolation, RESIZES } from "./interpolation.ts";
import { named, packed, type Size, sizeIn } from "./values.ts";

/** Options of `cv.resize`. */
export interface ResizeOptions extends OperationOptions {
  /** How pixels are made of others; `"linear"` by default, `"area"` is best to make an image smaller. */
  readonly interpolation?: Interpolation;
}

const OPTIONS: Names<ResizeOptions> = { interpolation: true, reallocate: true };

/** `cv::resize`. */
export function resize(
  cv: OpenCVContext,
  src: OpenCVTensor,
  dst: OpenCVTensor,
  dsize: Size,
  options: ResizeOptions,
): void {
  const { interpolation = "linear", reallocate } = optionsIn(options, OPTIONS);
  const size = sizeIn(dsize, "dsize");
  const { code, ...accepted } = named(RESIZES, interpolation, "interpolation");
  operate(cv, {
    fn: "resize",
    inputs: { src },
    dst,
    makes: () => {
      const image = imageIn(`resize by ${interpolation}`, "src", src, accepted);
      if (src === dst) throw unfit("resize", "dst", "OpenCV does not resize in place.");
      return imageLike(image, size[1], size[0]);
    },
    reallocate,
    call: () => {
      if (interpolation === "nearest" && src instanceof OpenCVMat) assertReadableAround(src, size[0]);
      imgproc().resize(src.slot.input, dst.slot.output, packed(size), 0, 0, code);
    },
  });
}

/** Where a result is wider than so many times its source, pixels at the source's ends come into both halves of a vector. */
const MOST_TIMES = 7;

/**
 * OpenCV 4.6 gathers pixels of two bytes four bytes at a time where the CPU has AVX2 (resizeNNInvokerAVX2): of the first and
 * the last it may read two bytes that are not the image's. Where those lie on another page, that nobody has or that may not
 * be read, that would end the process.
 */
function assertReadableAround(
  { address, layout: { byteLength }, shape: { sizes, steps } }: OpenCVMat,
  columns: number,
) {
  if (steps.at(-1) !== 2 || columns <= MOST_TIMES * sizes[1]) return;
  const end = address + BigInt(byteLength);
  for (const [inside, outside] of [[address, address - 2n], [end - 1n, end]]) {
    if (pageOf(outside) === pageOf(inside) && pageOf(outside + 1n) === pageOf(inside)) continue;
    try {
      probePages(outside as Address, 2, "opencv", "src");
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error;
      const where = outside < address ? "in front of it" : "behind it";
      throw unfit(
        "resize",
        "src",
        `OpenCV reads two bytes ${where} where pixels have two bytes, and there is no memory to read.`,
        'Resize a part of a larger image, or with { interpolation: "nearest-exact" }.',
      );
    }
  }
}

function pageOf(address: bigint): bigint {
  return address / BigInt(PAGE);
}
