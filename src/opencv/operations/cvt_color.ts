import type { LayoutError } from "../../core/errors.ts";
import { imgproc } from "../library.ts";
import { operation, type OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { OpenCVUMat } from "../umat.ts";
import { type ColorCode, type Conversion, CONVERSIONS } from "./color_codes.ts";
import { imageIn, imageLike, unfit } from "./image.ts";
import type { Result } from "./result.ts";
import { named } from "./values.ts";

export const cvtColor = operation({
  fn: "cvtColor",
  options: {},
  read(_: OperationOptions, code: ColorCode) {
    const conversion: Conversion = named(CONVERSIONS, code, "code");
    return { name: code, conversion };
  },
  makes({ src, dst }, { name, conversion }) {
    if (conversion.tables === true && dst instanceof OpenCVUMat) throw noTables(name);
    return converted(src, name, conversion);
  },
  call: ({ src, dst }, { conversion }) => imgproc().cvtColor(src.slot.input, dst.slot.output, conversion.code, 0),
});

function noTables(code: ColorCode): LayoutError {
  const what = "OpenCV 4.6 has tables for it in one OpenCL context of the process only, and uses them in all.";
  return unfit(`cvtColor ${code}`, "dst", what, "Convert into a Mat; the source may be a UMat.");
}

function converted(src: OpenCVTensor, name: ColorCode, conversion: Conversion): Result {
  const { from, to, dtypes, sizes = "same", pairs = false } = conversion;
  const fn = `cvtColor ${name}`;
  const image = imageIn(fn, "src", src, { dtypes, channels: from });
  const { rows, columns } = image;
  if ((pairs || sizes !== "same") && columns % 2 !== 0) {
    throw unfit(fn, "src", `two columns share their colour: expected an even number, got ${columns}.`);
  }
  if (sizes === "same") return imageLike(image, rows, columns, to);
  const multiple = sizes === "to yuv420" ? 2 : 3;
  if (rows % multiple !== 0) throw unfit(fn, "src", `expected a multiple of ${multiple} rows, got ${rows}.`);
  return imageLike(image, sizes === "to yuv420" ? rows / 2 * 3 : rows / 3 * 2, columns, to);
}
