// Memory as OpenCV's own objects: a frame as a Mat, a buffer as a UMat, mapped and disposed.

import { c, dlStreamer } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { FRAME, makeFrame } from "./harness/frame.ts";
import { below } from "./harness/goal.ts";
import { hasOpenCV, opencv } from "./harness/opencv.ts";
import { here } from "./harness/way.ts";

/** DL Streamer's mappers, as they were measured for issue 5 on two cores of another machine. */
const OF_RECORD = "DL Streamer's mapper, of record, on another machine";

figure({
  id: "opencv-mat",
  title: "map a frame to a Mat and dispose it",
  goal: below(658, OF_RECORD),
  ignore: !hasOpenCV,
  ways: [
    c("opencv_wrap", "mat", "C++"),
    here("samepage", () => {
      const { cv, graph } = opencv();
      const frame = makeFrame();
      return {
        run(count) {
          for (let i = 0; i < count; i++) graph.map(frame, cv.mat)[Symbol.dispose]();
        },
      };
    }),
    dlStreamer("mat"),
  ],
});

figure({
  id: "opencv-umat",
  title: "map a buffer to a UMat and dispose it",
  goal: below(597, OF_RECORD),
  ignore: !hasOpenCV,
  ways: [
    c("opencv_wrap", "umat", "C++"),
    here("samepage", () => {
      const { cv, cl, graph } = opencv();
      const buffer = cl.allocate(FRAME);
      return {
        run(count) {
          for (let i = 0; i < count; i++) graph.map(buffer, cv.umat)[Symbol.dispose]();
        },
      };
    }),
    dlStreamer("umat"),
  ],
});
