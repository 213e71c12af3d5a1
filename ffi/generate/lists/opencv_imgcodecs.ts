import type { Library } from "../library.ts";
import { opencv } from "./opencv.ts";

/** OpenCV's image files. */
export const opencvImgcodecs: Library = {
  name: "opencv_imgcodecs",
  interface: "OpenCVImgcodecs",
  headers: ["opencv2/imgcodecs.hpp"],
  defines: {},
  ...opencv,
  functions: [
    { name: "cv::imread", parameters: ["const cv::String &", "int"], sret: true }, // 4.10 has another
    "cv::imwrite",
    { name: "cv::imdecode", parameters: ["cv::InputArray", "int"], sret: true },
    "cv::imencode",
    "cv::haveImageReader",
    "cv::haveImageWriter",
  ],
  constants: [
    { type: "cv::ImreadModes", names: ["cv::IMREAD_*"] },
    { type: "cv::ImwriteFlags", names: ["cv::IMWRITE_*"] },
  ],
  structs: [],
};
