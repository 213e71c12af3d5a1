import { shown } from "../../core/argument.ts";
import type { OpenCVBase } from "../base.ts";
import { encode } from "../codecs/encode.ts";
import { wrong } from "../errors.ts";
import { imgcodecs } from "../library.ts";
import { withString } from "../memory.ts";
import { operate } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { pathIn, writeImage } from "./file.ts";
import { type Accepted, imageIn } from "./image.ts";
import { type WriteOptions, writeParams } from "./write_params.ts";

export function imwrite(cv: OpenCVBase, filename: string, img: OpenCVTensor, options: WriteOptions): void {
  writeImage(filename, encoded(cv, { fn: "imwrite", img, name: filename, argument: "filename" }, options));
}

export function imencode(
  cv: OpenCVBase,
  ext: string,
  img: OpenCVTensor,
  options: WriteOptions,
): Uint8Array<ArrayBuffer> {
  return encoded(cv, { fn: "imencode", img, name: ext, argument: "ext" }, options);
}

interface Written {
  readonly fn: string;
  readonly img: OpenCVTensor;
  /** A path, or only its ending, which determines the format. */
  readonly name: string;
  readonly argument: string;
}

function encoded(cv: OpenCVBase, written: Written, options: WriteOptions): Uint8Array<ArrayBuffer> {
  const { fn, img } = written;
  const params = writeParams(options);
  let ending: string;
  return operate(cv, {
    fn,
    inputs: { img },
    accepts: () => {
      ending = formatOf(written);
    },
    call: () => encode(ending, img, params),
  });
}

/** The images that can be written: grey, BGR or BGRA. A format that lacks the depth gets 8 bits. */
const WRITTEN = { dtypes: ["u8", "u16", "f32"], channels: [1, 3, 4] } as const satisfies Accepted;

/** Formats with fewer numbers of channels. */
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
 * Checks an image and its format, and returns the ending.
 * @throws {ArgumentError} if OpenCV writes no files with that ending.
 * @throws {LayoutError} if the format cannot hold the image.
 */
function formatOf({ fn, img, name, argument }: Written): string {
  const [ending] = /\.[a-z\d]+$/i.exec(pathIn(name, argument)) ?? [];
  if (ending === undefined || withString(ending, (text) => imgcodecs().haveImageWriter(text)) === 0) {
    throw wrong(argument, `OpenCV writes no files whose names end like ${shown(name)}.`, 'Try ".png".');
  }
  const channels = CHANNELS.get(ending.toLowerCase()) ?? WRITTEN.channels;
  imageIn(`${fn} ${shown(ending)}`, "img", img, { ...WRITTEN, channels });
  return ending;
}
