import { shown } from "../../core/argument.ts";
import type { OpenCVContext } from "../context.ts";
import { imgcodecs } from "../library.ts";
import type { OpenCVMat } from "../mat.ts";
import { withString } from "../string.ts";
import { decoded } from "./decoded.ts";
import { assertReadable } from "./file.ts";
import { readFlags, type ReadMode, type ReadOptions } from "./read_mode.ts";

/** `cv::imread`. */
export function imread(cv: OpenCVContext, filename: string, mode: ReadMode, options: ReadOptions): OpenCVMat {
  const flags = readFlags(mode, options);
  cv.resource.assertLive();
  assertReadable(filename);
  return decoded(
    cv,
    "imread",
    shown(filename),
    (result) => withString(filename, (path) => imgcodecs().imread(result, path, flags)),
  );
}
