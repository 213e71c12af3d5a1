import { NativeCallError } from "../../core/errors.ts";
import { imgcodecs } from "../library.ts";
import { bytesFrom, withInts, withString } from "../memory.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { withMemoryFile } from "./memory_file.ts";

/** The formats that OpenCV writes only to files: Radiance, PFM, Sun rasters, OpenEXR, JPEG 2000. */
const INTO_FILES = /^\.(?:hdr|pic|pfm|ras|sr|exr|jp2)$/i;

/** @param params pairs of an ImwriteFlags number and its value @throws {NativeCallError} if OpenCV cannot encode the image. */
export function encode(ending: string, img: OpenCVTensor, params: Int32Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return withInts(params, (ints) => {
    if (!INTO_FILES.test(ending)) {
      return withString(ending, (format) =>
        bytesFrom((vector) => {
          imgcodecs().imencode(format, img.slot.input, vector, ints);
        }));
    }
    return withMemoryFile((file) => {
      const written = withString(
        file.pathEndingIn(ending),
        (path) => imgcodecs().imwrite(path, img.slot.input, ints),
      );
      if (written !== 0) return file.read();
      throw new NativeCallError(`OpenCV could not encode ${img.name} as ${ending}.`, {
        api: "opencv",
        fn: "imwrite",
        hint: "OpenCV may say more on standard error.",
      });
    });
  });
}
