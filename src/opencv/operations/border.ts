import {
  BORDER_CONSTANT,
  BORDER_ISOLATED,
  BORDER_REFLECT,
  BORDER_REFLECT_101,
  BORDER_REPLICATE,
  BORDER_WRAP,
} from "../../../ffi/opencv_imgproc/constants.ts";

/** What lies beyond an image's edge, for those who look there; OpenCV's default is `"reflect-101"`. */
export type Border = "constant" | "replicate" | "reflect" | "wrap" | "reflect-101";

/** OpenCV's numbers of them (BorderTypes). */
export const BORDERS: Readonly<Record<Border, number>> = {
  "constant": BORDER_CONSTANT,
  "replicate": BORDER_REPLICATE,
  "reflect": BORDER_REFLECT,
  "wrap": BORDER_WRAP,
  "reflect-101": BORDER_REFLECT_101,
};

/** A Mat or UMat is an image by itself: what lies around it in memory is somebody else's. */
export const ISOLATED: number = BORDER_ISOLATED;
