import { optionsIn } from "../../core/argument.ts";
import type { LayoutError } from "../../core/errors.ts";
import type { OpenCVContext } from "../context.ts";
import { imgproc } from "../library.ts";
import { operate, OPERATION_OPTIONS, type OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { OpenCVUMat } from "../umat.ts";
import type { ColorCode } from "./color_code.ts";
import { type Conversion, CONVERSIONS } from "./color_codes.ts";
import { imageIn, imageLike, unfit } from "./image.ts";
import type { Result } from "./result.ts";
import { named } from "./values.ts";

/** `cv::cvtColor`. */
export function cvtColor(
  cv: OpenCVContext,
  src: OpenCVTensor,
  dst: OpenCVTensor,
  code: ColorCode,
  options: OperationOptions,
): void {
  const { reallocate } = optionsIn(options, OPERATION_OPTIONS);
  const conversion: Conversion = named(CONVERSIONS, code, "code");
  operate(cv, {
    fn: "cvtColor",
    inputs: { src },
    dst,
    makes: () => {
      if (conversion.tables === true && dst instanceof OpenCVUMat) throw noTables(code);
      return converted(src, code, conversion);
    },
    reallocate,
    call: () => imgproc().cvtColor(src.slot.input, dst.slot.output, conversion.code, 0),
  });
}

function noTables(code: ColorCode): LayoutError {
  const what = "OpenCV 4.6 has tables for it in one OpenCL context of the process only, and uses them in all.";
  return unfit(`cvtColor ${code}`, "dst", what, "Convert into a Mat; the source may be a UMat.");
}

/** What a conversion makes of an image. @throws {LayoutError} where it does not take it. */
function converted(src: OpenCVTensor, name: ColorCode, conversion: Conversion): Result {
  const { from, to, dtypes, sizes = "same", pairs = false } = conversion;
  const fn = `cvtColor ${name}`;
  const image = imageIn(fn, "src", src, { dtypes, channels: from });
  const { rows, columns } = image;
  if ((pairs || sizes !== "same") && columns % 2 !== 0) {
    throw unfit(fn, "src", `two columns share their colour: ${columns} is not even.`);
  }
  if (sizes === "same") return imageLike(image, rows, columns, to);
  const multiple = sizes === "to yuv420" ? 2 : 3;
  if (rows % multiple !== 0) throw unfit(fn, "src", `${rows} rows are no multiple of ${multiple}.`);
  return imageLike(image, sizes === "to yuv420" ? rows / 2 * 3 : rows / 3 * 2, columns, to);
}
