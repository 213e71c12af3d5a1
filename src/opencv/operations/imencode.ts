import { encode } from "../codecs/encode.ts";
import type { OpenCVContext } from "../context.ts";
import { operate } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { assertWritten } from "./image_format.ts";
import { type WriteOptions, writeParams } from "./write_params.ts";

/** `cv::imencode`. */
export function imencode(
  cv: OpenCVContext,
  ext: string,
  img: OpenCVTensor,
  options: WriteOptions,
): Uint8Array<ArrayBuffer> {
  const params = writeParams(options);
  let ending: string;
  return operate(cv, {
    fn: "imencode",
    inputs: { img },
    accepts: () => {
      ending = assertWritten("imencode", img, ext, "ext");
    },
    call: () => encode(ending, img, params),
  });
}
