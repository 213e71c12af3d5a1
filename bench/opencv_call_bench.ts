// What the guard costs that keeps C++ exceptions out of Deno: a call that throws nothing, and one that throws.

import { COLOR_BGR2GRAY } from "../ffi/opencv_imgproc/constants.ts";
import { core, imgproc } from "../src/opencv/library.ts";
import { OpenCVError } from "@samepage/interop/opencv";
import { c } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { hasOpenCV, opencv } from "./harness/opencv.ts";
import { here } from "./harness/way.ts";

/** The function itself, called by Deno without a guard. */
function unguarded() {
  const symbols = { getVersionMajor: { name: "_ZN2cv15getVersionMajorEv", parameters: [], result: "i32" } } as const;
  return Deno.dlopen("libopencv_core.so.406", symbols).symbols;
}

figure({
  id: "opencv-call",
  title: "call a function of OpenCV's that does nothing",
  ignore: !hasOpenCV,
  ways: [
    c("opencv_call", "call", "C++"),
    here("samepage", () => {
      opencv();
      const functions = core();
      return {
        run(count) {
          for (let i = 0; i < count; i++) functions.getVersionMajor();
        },
      };
    }),
    here("Deno, without the guard", () => {
      opencv();
      const functions = unguarded();
      return {
        run(count) {
          for (let i = 0; i < count; i++) functions.getVersionMajor();
        },
      };
    }),
  ],
});

figure({
  id: "opencv-throw",
  title: "an exception of OpenCV's, thrown and caught",
  ignore: !hasOpenCV,
  ways: [
    c("opencv_call", "throw_catch", "C++"),
    here("samepage", () => {
      const { cv } = opencv();
      const { cvtColor } = imgproc();
      const doubles = cv.mat.create({ shape: [16, 16, 3], dtype: "f64" }); // none that cvtColor takes
      const grey = cv.mat.create({ shape: [16, 16], dtype: "f64" });
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            try {
              cvtColor(doubles.slot.input, grey.slot.output, COLOR_BGR2GRAY, 0);
            } catch (error) {
              if (error instanceof OpenCVError) continue;
              throw error;
            }
            throw new Error("cvtColor did not throw");
          }
        },
      };
    }),
  ],
});
