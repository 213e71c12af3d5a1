import type { Address } from "../../ffi/address.ts";
import { ERROR_NAMES } from "../../ffi/opencv_core/errors.ts";
import { Exception, readException } from "../../ffi/opencv_core/structs.ts";
import { type ErrorOf, nativeCallErrorOf } from "../guard/exception.ts";
import { OpenCVError } from "./errors.ts";
import { viewAt } from "./memory.ts";

const LONGEST_TEXT = 65_536;

/** Hints for codes, and for exceptions of some functions whose text does not name the cause. */
const HINTS: ReadonlyMap<string, string> = new Map([
  [
    "validateInputImageSize",
    "An image has 1 to 2^20 pixels a side, and 2^30 in all. Other limits are set before the program starts: " +
    "OPENCV_IO_MAX_IMAGE_WIDTH, OPENCV_IO_MAX_IMAGE_HEIGHT and OPENCV_IO_MAX_IMAGE_PIXELS. " +
    'Of a JPEG the size after a reduction counts: try the mode "reduced-color-8".',
  ],
  ["StsNoMem", "There is not that much memory left."],
  ["OpenCLApiCallError", "OpenCV could not use OpenCL: the message names the function and its code."],
  ["OpenCLInitError", "OpenCV could not use OpenCL."],
]);

/** The error of an OpenCV exception; for any other exception, the error of any C++ library. */
export const openCVErrorOf: ErrorOf = (thrown) => {
  if (thrown.type !== "cv::Exception") return nativeCallErrorOf(thrown);
  const { code, line, ...texts } = readException(viewAt(thrown.object, Exception.size), 0);
  const codeName = ERROR_NAMES.get(code) ?? "a code that OpenCV does not know";
  const thrownBy = textOf(texts.func_pointer, texts.func_length) || undefined;
  const file = textOf(texts.file_pointer, texts.file_length) || undefined;
  const hint = HINTS.get(thrownBy ?? "") ?? HINTS.get(codeName);
  const where = thrownBy === undefined ? "" : ` in ${thrownBy}`;
  return new OpenCVError(
    `${thrown.fn} failed with ${codeName} (${code})${where}: ${textOf(texts.err_pointer, texts.err_length)}`,
    { api: "opencv", fn: thrown.fn, code, codeName, line, thrownBy, file, hint },
  );
};

/** The text of a std::string, which ends with the exception. */
function textOf(pointer: Address, length: bigint): string {
  if (length === 0n) return "";
  const { buffer } = viewAt(pointer, Math.min(Number(length), LONGEST_TEXT));
  return new TextDecoder().decode(new Uint8Array(buffer as ArrayBuffer).slice());
}
