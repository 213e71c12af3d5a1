import { imgcodecs } from "../library.ts";
import { withString } from "../string.ts";
import type { Accepted } from "./image.ts";
import { pathIn } from "./file.ts";
import { wrong } from "./values.ts";

/** What can be written into image files: grey, BGR or BGRA. A format that lacks the depth gets 8 bits. */
export const WRITTEN: Accepted = { channels: [1, 3, 4] };

/** Throws an {@link ArgumentError} unless OpenCV can write what ends like this. */
export function assertWriter(name: string, argument: string): void {
  if (/\.\w+$/.test(pathIn(name, argument)) && withString(name, (text) => imgcodecs().haveImageWriter(text)) !== 0) {
    return;
  }
  throw wrong(argument, `OpenCV writes no files whose names end like ${name}.`, 'Try ".png".');
}
