import { shown } from "../../core/argument.ts";
import { NativeCallError } from "../../core/errors.ts";
import type { OpenCVContext } from "../context.ts";
import { imgcodecs } from "../library.ts";
import { operate } from "../operate.ts";
import { withString } from "../string.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { assertWritable } from "./file.ts";
import { assertWritten } from "./image_format.ts";
import { withInts } from "./vector.ts";
import { type WriteOptions, writeParams } from "./write_params.ts";

/** `cv::imwrite`. */
export function imwrite(cv: OpenCVContext, filename: string, img: OpenCVTensor, options: WriteOptions): void {
  const params = writeParams(options);
  const written = operate(cv, {
    fn: "imwrite",
    inputs: { img },
    accepts: () => {
      assertWritten("imwrite", img, filename, "filename");
      assertWritable(filename);
    },
    call: () =>
      withString(filename, (path) => withInts(params, (ints) => imgcodecs().imwrite(path, img.slot.input, ints))),
  });
  if (written !== 0) return;
  throw new NativeCallError(
    `imwrite failed: OpenCV could not write ${shown(filename)}; it has removed what it had written.`,
    {
      api: "opencv",
      fn: "imwrite",
      hint: "OpenCV says more on standard error, where it knows more.",
    },
  );
}
