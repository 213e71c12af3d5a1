import { encode } from "../codecs/encode.ts";
import type { OpenCVContext } from "../context.ts";
import { operate } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { writeImage } from "./file.ts";
import { assertWritten } from "./image_format.ts";
import { type WriteOptions, writeParams } from "./write_params.ts";

/** `cv::imwrite`, into a file that Deno writes. */
export function imwrite(cv: OpenCVContext, filename: string, img: OpenCVTensor, options: WriteOptions): void {
  const params = writeParams(options);
  let ending: string;
  const bytes = operate(cv, {
    fn: "imwrite",
    inputs: { img },
    accepts: () => {
      ending = assertWritten("imwrite", img, filename, "filename");
    },
    call: () => encode(ending, img, params),
  });
  writeImage(filename, bytes);
}
