import {
  IMREAD_ANYCOLOR,
  IMREAD_ANYDEPTH,
  IMREAD_COLOR,
  IMREAD_GRAYSCALE,
  IMREAD_IGNORE_ORIENTATION,
  IMREAD_REDUCED_COLOR_2,
  IMREAD_REDUCED_COLOR_4,
  IMREAD_REDUCED_COLOR_8,
  IMREAD_REDUCED_GRAYSCALE_2,
  IMREAD_REDUCED_GRAYSCALE_4,
  IMREAD_REDUCED_GRAYSCALE_8,
  IMREAD_UNCHANGED,
} from "../../../ffi/opencv_imgcodecs/constants.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import { flag, named } from "./values.ts";

/** The channels, depth and size that an image file is read with. @see {@link ImgcodecsOperations.imread} */
export type ReadMode =
  | "color"
  | "grayscale"
  | "unchanged"
  | "anydepth"
  | "anycolor"
  | "anycolor-anydepth"
  | `reduced-${"color" | "grayscale"}-${2 | 4 | 8}`;

const MODES: Readonly<Record<ReadMode, number>> = {
  "color": IMREAD_COLOR,
  "grayscale": IMREAD_GRAYSCALE,
  "unchanged": IMREAD_UNCHANGED,
  "anydepth": IMREAD_ANYDEPTH,
  "anycolor": IMREAD_ANYCOLOR,
  "anycolor-anydepth": IMREAD_ANYCOLOR | IMREAD_ANYDEPTH,
  "reduced-color-2": IMREAD_REDUCED_COLOR_2,
  "reduced-color-4": IMREAD_REDUCED_COLOR_4,
  "reduced-color-8": IMREAD_REDUCED_COLOR_8,
  "reduced-grayscale-2": IMREAD_REDUCED_GRAYSCALE_2,
  "reduced-grayscale-4": IMREAD_REDUCED_GRAYSCALE_4,
  "reduced-grayscale-8": IMREAD_REDUCED_GRAYSCALE_8,
};

/** Options of `cv.imread` and `cv.imdecode`. */
export interface ReadOptions {
  /** True to ignore the rotation in the file's EXIF data. False by default. */
  readonly ignoreOrientation?: boolean;
}

const OPTIONS: Names<ReadOptions> = { ignoreOrientation: true };

/** OpenCV's flags of a mode. @throws {ArgumentError} */
export function readFlags(mode: ReadMode, options: ReadOptions): number {
  const { ignoreOrientation = false } = optionsIn(options, OPTIONS);
  const code = named(MODES, mode, "mode");
  // "unchanged" is -1, all flags at once, and ignores the rotation already.
  return flag(ignoreOrientation, "ignoreOrientation") ? code | IMREAD_IGNORE_ORIENTATION : code;
}
