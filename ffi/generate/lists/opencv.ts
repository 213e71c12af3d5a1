import type { Cxx } from "../library.ts";

/** What the lists of OpenCV's libraries have in common. */
export const opencvCxx: Cxx = {
  namespace: "cv",
  folders: ["/usr/include/opencv4"],
  inRegister: ["cv::Size_<int>", "cv::Point_<int>"],
};
