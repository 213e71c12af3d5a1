import type { OpenCVCore } from "../../ffi/opencv_core/functions.ts";
import { SYMBOLS as CORE } from "../../ffi/opencv_core/symbols.ts";
import type { OpenCVImgcodecs } from "../../ffi/opencv_imgcodecs/functions.ts";
import { SYMBOLS as IMGCODECS } from "../../ffi/opencv_imgcodecs/symbols.ts";
import type { OpenCVImgproc } from "../../ffi/opencv_imgproc/functions.ts";
import { SYMBOLS as IMGPROC } from "../../ffi/opencv_imgproc/symbols.ts";
import { lazyLibrary, openingOf } from "../core/native/library.ts";
import { guarded } from "../guard/guard.ts";
import { openCVErrorOf } from "./exception.ts";

/** The suffixes of the library versions whose ABI ffi/ describes: Debian 12's, and Debian 13's. */
const VERSIONS = ["406", "410"];

const FOLDERS = ["", "/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/"];

function module<F>(name: string, symbols: Deno.ForeignLibraryInterface): () => F {
  return lazyLibrary<F>({
    api: `opencv_${name}`,
    get candidates() {
      return versions().flatMap((version) => FOLDERS.map((folder) => `${folder}libopencv_${name}.so.${version}`));
    },
    symbols,
    link: guarded(openCVErrorOf),
    hint: `Install OpenCV: apt install libopencv-${name}406 (Debian 12), libopencv-${name}410 (Debian 13).`,
  });
}

/** The version of the core once it is open, because a process must not have two. */
function versions(): readonly string[] {
  const path = openingOf("opencv_core")?.path;
  const own = VERSIONS.find((version) => path?.endsWith(`.so.${version}`));
  return own === undefined ? VERSIONS : [own];
}

/** libopencv_core, opened on the first call. */
export const core: () => OpenCVCore = module("core", CORE);

export const imgproc: () => OpenCVImgproc = module("imgproc", IMGPROC);

export const imgcodecs: () => OpenCVImgcodecs = module("imgcodecs", IMGCODECS);
