import { NULL } from "../../ffi/address.ts";
import { InteropError } from "../core/errors.ts";
import { fillMat, matIn } from "./header.ts";
import { core } from "./library.ts";
import { filledSlot, giveSlot, takeSlot, viewOf } from "./slots.ts";

/** The versions whose classes have the layouts in ffi/opencv_core. */
const KNOWN = ["4.6", "4.10"];

let version: string | undefined;

/** OpenCV's version, after a check of its layout. @throws {InteropError} for another version. */
export function checkedVersion(): string {
  if (version !== undefined) return version;
  const found = [core().getVersionMajor(), core().getVersionMinor(), core().getVersionRevision()].join(".");
  if (!KNOWN.some((known) => found.startsWith(`${known}.`))) {
    throw unknown(`OpenCV ${found} is not known here: samepage reads and writes the headers of ${KNOWN.join(", ")}.`);
  }
  if (!layoutHolds()) throw unknown(`OpenCV ${found} does not lay a cv::Mat out as Debian's does.`);
  return version = found;
}

/** True if a Mat that OpenCV constructs has the same fields as one that was filled in here. */
function layoutHolds(): boolean {
  const given = takeSlot();
  try {
    const data = given.data; // any memory will do
    fillMat(given, { type: 16, sizes: [3, 5], steps: [64, 3] }, data);
    const made = filledSlot(({ header }) => core().Mat_construct2D(header, 3, 5, 16, data, 64n));
    const [a, b] = [matIn(viewOf(given)), matIn(viewOf(made))];
    core().Mat_destruct(made.header);
    giveSlot(made);
    return a.flags === b.flags && a.data === b.data && a.dataend === b.dataend && a.datalimit === b.datalimit &&
      b.u === NULL && JSON.stringify(a.shape) === JSON.stringify(b.shape);
  } finally {
    giveSlot(given);
  }
}

function unknown(message: string): InteropError {
  return new InteropError(message, {
    api: "opencv",
    fn: "getVersionMajor",
    hint: "Install Debian's: apt install libopencv-core406 (12) or libopencv-core410 (13), or name it in " +
      "SAMEPAGE_LIB_OPENCV_CORE.",
  });
}
