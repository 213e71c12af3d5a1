import * as constants from "../../../ffi/opencv_imgproc/constants.ts";
import type { DType } from "../../core/layout/dtype.ts";

/** OpenCV's names (ColorConversionCodes) without COLOR_: the source's colour space, a 2, and the result's. */
export type ColorCode =
  // The order of the channels, with alpha or without.
  | "BGR2RGB"
  | "RGB2BGR"
  | "BGRA2RGBA"
  | "RGBA2BGRA"
  | `${"BGR" | "RGB"}2${"BGRA" | "RGBA"}`
  | `${"BGRA" | "RGBA"}2${"BGR" | "RGB"}`
  | "RGBA2mRGBA"
  | "mRGBA2RGBA"
  | `${"BGR" | "RGB" | "BGRA" | "RGBA"}2GRAY`
  | `GRAY2${"BGR" | "RGB" | "BGRA" | "RGBA"}`
  | `${"BGR" | "RGB" | "BGRA" | "RGBA" | "GRAY"}2${"BGR565" | "BGR555"}`
  | `${"BGR565" | "BGR555"}2${"BGR" | "RGB" | "BGRA" | "RGBA" | "GRAY"}`
  | `${"BGR" | "RGB"}2${"XYZ" | "YCrCb" | "YUV" | "HSV" | "HLS" | "Lab" | "Luv"}`
  | `${"XYZ" | "YCrCb" | "YUV" | "HSV" | "HLS" | "Lab" | "Luv"}2${"BGR" | "RGB"}`
  | `${"BGR" | "RGB"}2${"HSV" | "HLS"}_FULL`
  | `${"HSV" | "HLS"}2${"BGR" | "RGB"}_FULL`
  | `${"LBGR" | "LRGB"}2${"Lab" | "Luv"}`
  | `${"Lab" | "Luv"}2${"LBGR" | "LRGB"}`
  // Planes of YUV420, and pairs of pixels of YUV422.
  | `${"BGR" | "RGB" | "BGRA" | "RGBA"}2YUV_${"I420" | "YV12"}`
  | `YUV2${"BGR" | "RGB" | "BGRA" | "RGBA" | "GRAY"}_${"I420" | "YV12" | "NV12" | "NV21"}`
  | `YUV2${"BGR" | "RGB" | "BGRA" | "RGBA" | "GRAY"}_${"UYVY" | "YUYV" | "YVYU"}`
  | "YUV2GRAY_420"
  // The pattern of a sensor, by the colours of the second row's second and third pixel.
  | `Bayer${"BG" | "GB" | "RG" | "GR"}2${"BGR" | "RGB" | "GRAY"}`;

/** How the size of an image changes. `yuv420` has half as many rows again: the planes of U and V below that of Y. */
type Sizes = "same" | "to yuv420" | "from yuv420";

interface Family {
  readonly codes: readonly ColorCode[];
  readonly from: readonly number[];
  readonly to: number;
  readonly dtypes: readonly DType[];
  /** `"same"` by default. */
  readonly sizes?: Sizes;
  /** True if it needs tables, which OpenCV keeps for all OpenCL contexts in the first one that uses them. */
  readonly tables?: boolean;
  /** True if two pixels share their colour, so that the number of columns is even. */
  readonly pairs?: boolean;
}

const BYTES = ["u8"] as const;
const PRECISE = ["u8", "f32"] as const;
const ANY = ["u8", "u16", "f32"] as const;
const MOSAIC = ["u8", "u16"] as const;
const COLOUR = [3, 4] as const;

/** The conversions of OpenCV 4.6, by their sources and results (modules/imgproc/src/color*.cpp). */
const FAMILIES = [
  { codes: ["BGR2RGB", "RGB2BGR", "BGRA2BGR", "RGBA2RGB", "RGBA2BGR", "BGRA2RGB"], from: COLOUR, to: 3, dtypes: ANY },
  { codes: ["BGR2BGRA", "RGB2RGBA", "BGR2RGBA", "RGB2BGRA"], from: COLOUR, to: 4, dtypes: ANY },
  { codes: ["BGRA2RGBA", "RGBA2BGRA"], from: COLOUR, to: 4, dtypes: ANY },
  { codes: ["RGBA2mRGBA", "mRGBA2RGBA"], from: [4], to: 4, dtypes: BYTES },

  { codes: ["BGR2GRAY", "RGB2GRAY", "BGRA2GRAY", "RGBA2GRAY"], from: COLOUR, to: 1, dtypes: ANY },
  { codes: ["GRAY2BGR", "GRAY2RGB"], from: [1], to: 3, dtypes: ANY },
  { codes: ["GRAY2BGRA", "GRAY2RGBA"], from: [1], to: 4, dtypes: ANY },

  { codes: ["BGR2BGR565", "RGB2BGR565", "BGRA2BGR565", "RGBA2BGR565"], from: COLOUR, to: 2, dtypes: BYTES },
  { codes: ["BGR2BGR555", "RGB2BGR555", "BGRA2BGR555", "RGBA2BGR555"], from: COLOUR, to: 2, dtypes: BYTES },
  { codes: ["BGR5652BGR", "BGR5652RGB", "BGR5552BGR", "BGR5552RGB"], from: [2], to: 3, dtypes: BYTES },
  { codes: ["BGR5652BGRA", "BGR5652RGBA", "BGR5552BGRA", "BGR5552RGBA"], from: [2], to: 4, dtypes: BYTES },
  { codes: ["GRAY2BGR565", "GRAY2BGR555"], from: [1], to: 2, dtypes: BYTES },
  { codes: ["BGR5652GRAY", "BGR5552GRAY"], from: [2], to: 1, dtypes: BYTES },

  { codes: ["BGR2XYZ", "RGB2XYZ"], from: COLOUR, to: 3, dtypes: ANY },
  { codes: ["XYZ2BGR", "XYZ2RGB"], from: [3], to: 3, dtypes: ANY },
  { codes: ["BGR2YCrCb", "RGB2YCrCb", "BGR2YUV", "RGB2YUV"], from: COLOUR, to: 3, dtypes: ANY },
  { codes: ["YCrCb2BGR", "YCrCb2RGB", "YUV2BGR", "YUV2RGB"], from: [3], to: 3, dtypes: ANY },

  {
    codes: ["BGR2HSV", "RGB2HSV", "BGR2HSV_FULL", "RGB2HSV_FULL"],
    ...{ from: COLOUR, to: 3, dtypes: PRECISE, tables: true },
  },
  { codes: ["BGR2HLS", "RGB2HLS", "BGR2HLS_FULL", "RGB2HLS_FULL"], from: COLOUR, to: 3, dtypes: PRECISE },
  // Not f32: OpenCV 4.6 hangs on a hue far out of range, because it subtracts 360 until the value is in range.
  { codes: ["HSV2BGR", "HSV2RGB", "HSV2BGR_FULL", "HSV2RGB_FULL"], from: [3], to: 3, dtypes: BYTES },
  { codes: ["HLS2BGR", "HLS2RGB", "HLS2BGR_FULL", "HLS2RGB_FULL"], from: [3], to: 3, dtypes: BYTES },
  {
    codes: ["BGR2Lab", "RGB2Lab", "LBGR2Lab", "LRGB2Lab"],
    ...{ from: COLOUR, to: 3, dtypes: PRECISE, tables: true },
  },
  {
    codes: ["Lab2BGR", "Lab2RGB", "Lab2LBGR", "Lab2LRGB"],
    ...{ from: [3], to: 3, dtypes: PRECISE, tables: true },
  },
  {
    codes: ["BGR2Luv", "RGB2Luv", "LBGR2Luv", "LRGB2Luv"],
    ...{ from: COLOUR, to: 3, dtypes: PRECISE, tables: true },
  },
  {
    codes: ["Luv2BGR", "Luv2RGB", "Luv2LBGR", "Luv2LRGB"],
    ...{ from: [3], to: 3, dtypes: PRECISE, tables: true },
  },

  {
    codes: ["BGR2YUV_I420", "RGB2YUV_I420", "BGRA2YUV_I420", "RGBA2YUV_I420"],
    ...{ from: COLOUR, to: 1, dtypes: BYTES, sizes: "to yuv420" },
  },
  {
    codes: ["BGR2YUV_YV12", "RGB2YUV_YV12", "BGRA2YUV_YV12", "RGBA2YUV_YV12"],
    ...{ from: COLOUR, to: 1, dtypes: BYTES, sizes: "to yuv420" },
  },
  {
    codes: ["YUV2BGR_NV12", "YUV2RGB_NV12", "YUV2BGR_NV21", "YUV2RGB_NV21"],
    ...{ from: [1], to: 3, dtypes: BYTES, sizes: "from yuv420" },
  },
  {
    codes: ["YUV2BGRA_NV12", "YUV2RGBA_NV12", "YUV2BGRA_NV21", "YUV2RGBA_NV21"],
    ...{ from: [1], to: 4, dtypes: BYTES, sizes: "from yuv420" },
  },
  {
    codes: ["YUV2BGR_I420", "YUV2RGB_I420", "YUV2BGR_YV12", "YUV2RGB_YV12"],
    ...{ from: [1], to: 3, dtypes: BYTES, sizes: "from yuv420" },
  },
  {
    codes: ["YUV2BGRA_I420", "YUV2RGBA_I420", "YUV2BGRA_YV12", "YUV2RGBA_YV12"],
    ...{ from: [1], to: 4, dtypes: BYTES, sizes: "from yuv420" },
  },
  {
    codes: ["YUV2GRAY_420", "YUV2GRAY_NV12", "YUV2GRAY_NV21", "YUV2GRAY_I420", "YUV2GRAY_YV12"],
    ...{ from: [1], to: 1, dtypes: BYTES, sizes: "from yuv420" },
  },
  {
    codes: ["YUV2BGR_UYVY", "YUV2RGB_UYVY", "YUV2BGR_YUYV", "YUV2RGB_YUYV", "YUV2BGR_YVYU", "YUV2RGB_YVYU"],
    ...{ from: [2], to: 3, dtypes: BYTES, pairs: true },
  },
  {
    codes: ["YUV2BGRA_UYVY", "YUV2RGBA_UYVY", "YUV2BGRA_YUYV", "YUV2RGBA_YUYV", "YUV2BGRA_YVYU", "YUV2RGBA_YVYU"],
    ...{ from: [2], to: 4, dtypes: BYTES, pairs: true },
  },
  { codes: ["YUV2GRAY_UYVY", "YUV2GRAY_YUYV", "YUV2GRAY_YVYU"], from: [2], to: 1, dtypes: BYTES, pairs: true },

  { codes: ["BayerBG2BGR", "BayerGB2BGR", "BayerRG2BGR", "BayerGR2BGR"], from: [1], to: 3, dtypes: MOSAIC },
  { codes: ["BayerBG2RGB", "BayerGB2RGB", "BayerRG2RGB", "BayerGR2RGB"], from: [1], to: 3, dtypes: MOSAIC },
  { codes: ["BayerBG2GRAY", "BayerGB2GRAY", "BayerRG2GRAY", "BayerGR2GRAY"], from: [1], to: 1, dtypes: MOSAIC },
] as const satisfies readonly Family[];

export interface Conversion extends Family {
  readonly code: number;
}

type Listed = (typeof FAMILIES)[number]["codes"][number];

export const CONVERSIONS: Readonly<Record<ColorCode, Conversion>> = conversions();

function conversions(): Record<Listed, Conversion> {
  const byName: Partial<Record<Listed, Conversion>> = {};
  for (const family of FAMILIES) {
    for (const name of family.codes) byName[name] = { ...family, code: constants[`COLOR_${name}`] };
  }
  return byName as Record<Listed, Conversion>;
}
