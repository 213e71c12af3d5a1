/**
 * What `cv.cvtColor` can do: OpenCV's names (ColorConversionCodes) without COLOR_, what is converted before the 2, what it
 * becomes behind it.
 */
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
  // Grey.
  | `${"BGR" | "RGB" | "BGRA" | "RGBA"}2GRAY`
  | `GRAY2${"BGR" | "RGB" | "BGRA" | "RGBA"}`
  // 16 bits a pixel.
  | `${"BGR" | "RGB" | "BGRA" | "RGBA" | "GRAY"}2${"BGR565" | "BGR555"}`
  | `${"BGR565" | "BGR555"}2${"BGR" | "RGB" | "BGRA" | "RGBA" | "GRAY"}`
  // Other spaces.
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
  // What a sensor sees, by the colours of the second row's second and third pixel.
  | `Bayer${"BG" | "GB" | "RG" | "GR"}2${"BGR" | "RGB" | "GRAY"}`;
