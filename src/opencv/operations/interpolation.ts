import {
  INTER_AREA,
  INTER_CUBIC,
  INTER_LANCZOS4,
  INTER_LINEAR,
  INTER_LINEAR_EXACT,
  INTER_NEAREST,
  INTER_NEAREST_EXACT,
} from "../../../ffi/opencv_imgproc/constants.ts";
import type { Accepted } from "./image.ts";

/** How pixels are made of others. */
interface Method extends Accepted {
  /** OpenCV's number of it (InterpolationFlags). */
  readonly code: number;
}

const DTYPES = ["u8", "u16", "i16", "f32", "f64"] as const;

/** How `cv.resize` makes pixels of others. */
export type Interpolation =
  | "nearest"
  | "nearest-exact"
  | "linear"
  | "linear-exact"
  | "cubic"
  | "area"
  | "lanczos4";

/** How `cv.resize` can, and of what images. */
export const RESIZES: Readonly<Record<Interpolation, Method>> = {
  "nearest": { code: INTER_NEAREST },
  "nearest-exact": { code: INTER_NEAREST_EXACT },
  "linear": { code: INTER_LINEAR, dtypes: DTYPES },
  "linear-exact": { code: INTER_LINEAR_EXACT, dtypes: DTYPES },
  "cubic": { code: INTER_CUBIC, dtypes: DTYPES },
  "area": { code: INTER_AREA, dtypes: DTYPES, channels: [1, 2, 3, 4] },
  "lanczos4": { code: INTER_LANCZOS4, dtypes: DTYPES },
};

/** How `cv.warpAffine` makes pixels of others. */
export type WarpInterpolation = "nearest" | "linear" | "cubic" | "lanczos4";

/** How `cv.warpAffine` can, and of what images. */
export const WARPS: Readonly<Record<WarpInterpolation, Method>> = {
  "nearest": { code: INTER_NEAREST, dtypes: ["u8", "i8", "u16", "i16", "i32", "f32", "f64"] },
  "linear": { code: INTER_LINEAR, dtypes: DTYPES },
  "cubic": { code: INTER_CUBIC, dtypes: DTYPES, channels: [1, 2, 3, 4] },
  "lanczos4": { code: INTER_LANCZOS4, dtypes: DTYPES, channels: [1, 2, 3, 4] },
};
