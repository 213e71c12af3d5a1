import { shown } from "../../core/argument.ts";
import type { OpenCVContext } from "../context.ts";
import type { OpenCVMat } from "../mat.ts";
import { decoded } from "./decoded.ts";
import { readImage } from "./file.ts";
import { readFlags, type ReadMode, type ReadOptions } from "./read_mode.ts";

/** `cv::imread`, of a file that Deno reads. */
export function imread(cv: OpenCVContext, filename: string, mode: ReadMode, options: ReadOptions): OpenCVMat {
  const flags = readFlags(mode, options);
  cv.resource.assertLive();
  return decoded(cv, "imread", shown(filename), readImage(filename), flags);
}
