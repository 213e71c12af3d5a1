import type { Library } from "../library.ts";

/** What the lists of OpenCV's libraries have in common. */
export const opencv = {
  folders: ["/usr/include/opencv4"],
  cxx: { namespace: "cv", inRegister: ["cv::Size_<int>", "cv::Point_<int>"] },
} satisfies Partial<Library>;
