import { CV_8U } from "../../../ffi/opencv_core/constants.ts";
import { bytesOf, isArrayBuffer } from "../../core/intrinsics.ts";
import type { OpenCVContext } from "../context.ts";
import { wrong } from "../errors.ts";
import { imgcodecs } from "../library.ts";
import type { OpenCVMat } from "../mat.ts";
import { decoded } from "./decoded.ts";
import { MOST_INT } from "../limits.ts";
import { readFlags, type ReadMode, type ReadOptions } from "./read_mode.ts";
import { withMat } from "./temporary.ts";

/** `cv::imdecode`. */
export function imdecode(
  cv: OpenCVContext,
  buf: Uint8Array<ArrayBuffer>,
  mode: ReadMode,
  options: ReadOptions,
): OpenCVMat {
  const flags = readFlags(mode, options);
  const bytes = bytesIn(buf);
  return decoded(
    cv,
    "imdecode",
    `a buffer of ${bytes.length} bytes`,
    (result) =>
      withMat(bytes, { type: CV_8U, sizes: [1, bytes.length] }, (mat) => imgcodecs().imdecode(result, mat, flags)),
  );
}

/** The bytes of a file that a program gave; another thread must not write into them meanwhile. @throws {ArgumentError} */
function bytesIn(given: unknown): Uint8Array<ArrayBuffer> {
  if (!ArrayBuffer.isView(given)) throw wrong("buf", "it is no Uint8Array.");
  const { buffer, byteOffset, byteLength } = bytesOf(given);
  if (!isArrayBuffer(buffer)) throw wrong("buf", "its buffer is shared.", "Copy it: buf.slice().");
  if (byteLength >= 1 && byteLength <= MOST_INT) return new Uint8Array(buffer, byteOffset, byteLength);
  throw wrong("buf", `${byteLength} bytes are ${byteLength === 0 ? "no file" : "more than an int counts"}.`);
}
