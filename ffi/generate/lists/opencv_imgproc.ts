import type { Library } from "../library.ts";
import { opencv } from "./opencv.ts";

/** OpenCV's image processing: colours, filters, edges, geometry. */
export const opencvImgproc: Library = {
  name: "opencv_imgproc",
  interface: "OpenCVImgproc",
  headers: ["opencv2/imgproc.hpp"],
  defines: {},
  ...opencv,
  functions: [
    "cv::cvtColor",
    "cv::GaussianBlur",
    {
      name: "cv::Canny",
      parameters: ["cv::InputArray", "cv::OutputArray", "double", "double", "int", "bool"],
    },
    "cv::resize",
    { name: "cv::warpAffine", buffer: ["borderValue"] },
    "cv::threshold",
  ],
  constants: [
    { type: "cv::ColorConversionCodes", names: ["cv::COLOR_*"] },
    { type: "cv::InterpolationFlags", names: ["cv::INTER_*", "cv::WARP_FILL_OUTLIERS", "cv::WARP_INVERSE_MAP"] },
    { type: "cv::BorderTypes", names: ["cv::BORDER_*"] },
    { type: "cv::ThresholdTypes", names: ["cv::THRESH_*"] },
  ],
  structs: [],
};
