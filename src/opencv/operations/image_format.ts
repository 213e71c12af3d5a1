import { shown } from "../../core/argument.ts";
import { wrong } from "../errors.ts";
import { imgcodecs } from "../library.ts";
import { withString } from "../memory.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { pathIn } from "./file.ts";
import { type Accepted, imageIn } from "./image.ts";

/** What goes into an image file: grey, BGR or BGRA. A format that lacks the depth gets 8 bits. */
const WRITTEN = { dtypes: ["u8", "u16", "f32"], channels: [1, 3, 4] } as const satisfies Accepted;

/** Formats that do not take all of it. */
const CHANNELS: ReadonlyMap<string, readonly number[]> = new Map([
  [".pbm", [1]],
  [".pgm", [1]],
  [".ppm", [3]],
  [".pnm", [1, 3]],
  [".pfm", [1, 3]],
  [".hdr", [1, 3]],
  [".pic", [1, 3]],
]);

/**
 * Checks what is to be written, and answers the ending that says the format.
 *
 * @param name a path, or only its ending
 * @throws {ArgumentError} where OpenCV writes no files with that ending.
 * @throws {LayoutError} where the format cannot hold the image.
 */
export function assertWritten(fn: string, img: OpenCVTensor, name: string, argument: string): string {
  const [ending] = /\.[a-z\d]+$/i.exec(pathIn(name, argument)) ?? [];
  if (ending === undefined || withString(ending, (text) => imgcodecs().haveImageWriter(text)) === 0) {
    throw wrong(argument, `OpenCV writes no files whose names end like ${shown(name)}.`, 'Try ".png".');
  }
  const channels = CHANNELS.get(ending.toLowerCase()) ?? WRITTEN.channels;
  imageIn(`${fn} ${shown(ending)}`, "img", img, { ...WRITTEN, channels });
  return ending;
}
