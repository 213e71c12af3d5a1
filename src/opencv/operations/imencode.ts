import type { OpenCVContext } from "../context.ts";
import { imgcodecs } from "../library.ts";
import { operate } from "../operate.ts";
import { withString } from "../string.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { assertWritten } from "./image_format.ts";
import { bytesFrom, withInts } from "./vector.ts";
import { type WriteOptions, writeParams } from "./write_params.ts";

/** `cv::imencode`. */
export function imencode(
  cv: OpenCVContext,
  ext: string,
  img: OpenCVTensor,
  options: WriteOptions,
): Uint8Array<ArrayBuffer> {
  const params = writeParams(options);
  return operate(cv, {
    fn: "imencode",
    inputs: { img },
    accepts: () => {
      assertWritten("imencode", img, ext, "ext");
    },
    call: () =>
      withString(ext, (format) =>
        withInts(params, (ints) =>
          bytesFrom((vector) => {
            imgcodecs().imencode(format, img.slot.input, vector, ints);
          }))),
  });
}
