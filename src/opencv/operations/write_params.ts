import {
  IMWRITE_JPEG_OPTIMIZE,
  IMWRITE_JPEG_PROGRESSIVE,
  IMWRITE_JPEG_QUALITY,
  IMWRITE_PNG_COMPRESSION,
  IMWRITE_WEBP_QUALITY,
} from "../../../ffi/opencv_imgcodecs/constants.ts";
import { optionsIn } from "../../core/argument.ts";
import { flag, int } from "./values.ts";

/** Options of `cv.imwrite` and `cv.imencode`; a format ignores those of others. */
export interface WriteOptions {
  /** 0 to 100; 95 by default. */
  readonly jpegQuality?: number;
  /** True for a progressive JPEG; false by default. */
  readonly jpegProgressive?: boolean;
  /** True for a smaller file, which takes longer; false by default. */
  readonly jpegOptimize?: boolean;
  /** 0 (fast) to 9 (small); 1 by default. Always lossless. */
  readonly pngCompression?: number;
  /** 1 to 100; lossless above 100, and by default. */
  readonly webpQuality?: number;
}

/** The check of each option, and its number in OpenCV (ImwriteFlags). */
const PARAMS: {
  readonly [O in keyof WriteOptions]-?: readonly [number, (given: unknown, argument: string) => number];
} = {
  jpegQuality: [IMWRITE_JPEG_QUALITY, (given, argument) => int(given, argument, 0, 100)],
  jpegProgressive: [IMWRITE_JPEG_PROGRESSIVE, (given, argument) => Number(flag(given, argument))],
  jpegOptimize: [IMWRITE_JPEG_OPTIMIZE, (given, argument) => Number(flag(given, argument))],
  pngCompression: [IMWRITE_PNG_COMPRESSION, (given, argument) => int(given, argument, 0, 9)],
  webpQuality: [IMWRITE_WEBP_QUALITY, (given, argument) => int(given, argument, 1, 101)],
};

export function writeParams(options: WriteOptions): Int32Array<ArrayBuffer> {
  const given = optionsIn(options, PARAMS);
  return Int32Array.from(
    Object.entries(PARAMS).flatMap(([name, [code, check]]) => {
      const value = given[name as keyof WriteOptions];
      return value === undefined ? [] : [code, check(value, name)];
    }),
  );
}
