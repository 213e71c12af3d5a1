import { bytesIn } from "../../core/checks.ts";
import { isArrayBuffer } from "../../core/intrinsics.ts";
import type { OpenCVContext } from "../context.ts";
import { wrong } from "../errors.ts";
import type { OpenCVMat } from "../mat.ts";
import { decoded } from "./decoded.ts";
import { MOST_INT } from "../limits.ts";
import { readFlags, type ReadMode, type ReadOptions } from "./read_mode.ts";

/** `cv::imdecode`. */
export function imdecode(
  cv: OpenCVContext,
  buf: Uint8Array<ArrayBuffer>,
  mode: ReadMode,
  options: ReadOptions,
): OpenCVMat {
  const flags = readFlags(mode, options);
  const bytes = fileIn(buf);
  return decoded(cv, "imdecode", `a buffer of ${bytes.length} bytes`, bytes, flags);
}

/** The bytes of a file that a program gave; another thread must not write into them meanwhile. @throws {ArgumentError} */
function fileIn(given: unknown): Uint8Array<ArrayBuffer> {
  const bytes = bytesIn(given, (what, hint) => wrong("buf", what, hint));
  if (bytes === undefined) throw wrong("buf", "expected a Uint8Array.");
  if (!isArrayBuffer(bytes.buffer)) throw wrong("buf", "its buffer is shared.", "Copy it: buf.slice().");
  const { byteLength } = bytes;
  if (byteLength >= 1 && byteLength <= MOST_INT) return bytes;
  throw wrong("buf", `${byteLength} bytes are ${byteLength === 0 ? "no file" : "more than an int counts"}.`);
}
