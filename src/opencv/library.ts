import type { OpenCVCore } from "../../ffi/opencv_core/functions.ts";
import { SYMBOLS as CORE } from "../../ffi/opencv_core/symbols.ts";
import type { OpenCVImgcodecs } from "../../ffi/opencv_imgcodecs/functions.ts";
import { SYMBOLS as IMGCODECS } from "../../ffi/opencv_imgcodecs/symbols.ts";
import type { OpenCVImgproc } from "../../ffi/opencv_imgproc/functions.ts";
import { SYMBOLS as IMGPROC } from "../../ffi/opencv_imgproc/symbols.ts";
import { lazyLibrary } from "../core/native/library.ts";
import { guarded } from "../guard/guard.ts";
import { openCVErrorOf } from "./exception.ts";

function module<F>(name: string, symbols: Deno.ForeignLibraryInterface): () => F {
  return lazyLibrary<F>({
    api: `opencv_${name}`,
    candidates: [
      `libopencv_${name}.so.406`,
      `/usr/lib/x86_64-linux-gnu/libopencv_${name}.so.406`,
      `/usr/lib/aarch64-linux-gnu/libopencv_${name}.so.406`,
    ],
    symbols,
    link: guarded(openCVErrorOf),
    hint: `Install OpenCV 4.6: apt install libopencv-${name}406.`,
  });
}

/** Opened on the first call, as each module is. */
export const core: () => OpenCVCore = module("core", CORE);

export const imgproc: () => OpenCVImgproc = module("imgproc", IMGPROC);

export const imgcodecs: () => OpenCVImgcodecs = module("imgcodecs", IMGCODECS);
