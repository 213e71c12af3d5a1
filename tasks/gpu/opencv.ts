import { OpenCVContext } from "@samepage/interop/opencv";
import { messageOf } from "../../src/core/errors.ts";
import { imgproc } from "../../src/opencv/library.ts";
import type { Outcome } from "./step.ts";

/**
 * Whether OpenCV is on the machine. Without it, rows and tests of OpenCV with CUDA would only be "not here", and a result
 * without them would look like one with them.
 */
export function openCVHere(): Outcome {
  try {
    using cv = OpenCVContext.open();
    imgproc();
    return { verdict: "green", counts: cv.name };
  } catch (error) {
    return { verdict: "red", counts: "OpenCV is not here", failures: [messageOf(error)] };
  }
}
