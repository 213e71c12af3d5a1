/**
 * Photographs in and pictures out, through {@link https://sharp.pixelplumbing.com | sharp} (libvips), which ships
 * compiled inside of its npm packages for Linux (glibc and musl), macOS and Windows on x86-64, Arm and more.
 *
 * @module
 */

import { dirname, fromFileUrl } from "@std/path";
import sharp from "sharp";
import { readRegularFile, writeRegularFile } from "../../src/core/files.ts";

/** The largest picture that is decoded, in pixels: 400 MB of RGBA. */
export const MAX_PIXELS = 100_000_000;

/** The largest file that is read, in bytes. */
export const MAX_FILE_BYTES = 512 * 2 ** 20;

/** A picture that cannot be read or written. The message is one sentence that names the file and the reason. */
export class PhotoError extends Error {
  /** The class, as it stands before the message in a stack trace. */
  override readonly name = "PhotoError";
}

/** A decoded photograph. */
export interface Photo {
  /** Pixels in a row, as seen: an EXIF orientation has been applied. */
  readonly width: number;
  /** Rows, as seen. */
  readonly height: number;
  /** 8-bit RGBA in sRGB, row by row without padding: 4 × `width` × `height` bytes, alpha not premultiplied. */
  readonly rgba: Uint8Array<ArrayBuffer>;
  /** Who decoded it, with versions. */
  readonly decoder: string;
  /** What the decoder does with its output memory, in words. */
  readonly decoderCopy: string;
}

/** How files of each format begin. Nothing else reaches the decoder, which would read SVG, TIFF and more. */
const SIGNATURES: Readonly<Record<string, readonly number[]>> = {
  JPEG: [0xff, 0xd8, 0xff],
  PNG: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
};

/**
 * Decodes a JPEG or a PNG of any kind: progressive, grey or CMYK, palette, 16-bit (reduced to 8), transparent or
 * interlaced. An EXIF orientation is applied; colours are converted to sRGB by the picture's own profile.
 *
 * The size that the header claims is checked before anything is decoded.
 *
 * @param source A path or file URL, or the file's bytes.
 * @throws {PhotoError} If there is no such file, it is not a JPEG or PNG, damaged, cut short, or larger than
 * {@linkcode MAX_PIXELS} or {@linkcode MAX_FILE_BYTES}.
 */
export async function readPhoto(source: string | URL | Uint8Array): Promise<Photo> {
  const name = source instanceof Uint8Array ? "The picture" : String(source);
  const bytes = source instanceof Uint8Array ? source : readFile(source);
  if (!Object.values(SIGNATURES).some((signature) => signature.every((byte, i) => bytes[i] === byte))) {
    const reason = bytes.length === 0 ? "is empty" : `is neither a ${Object.keys(SIGNATURES).join(" nor a ")}`;
    throw new PhotoError(`${name} ${reason}.`);
  }
  const undecodable = (error: unknown) =>
    new PhotoError(`${name} cannot be decoded: ${firstLine(error)}.`, { cause: error });

  const header = await sharp(bytes, { limitInputPixels: false }).metadata().catch((error) => {
    throw undecodable(error);
  });
  if (header.width * header.height > MAX_PIXELS) {
    throw new PhotoError(
      `${name} claims ${header.width} × ${header.height} pixels; at most ${MAX_PIXELS} are decoded.`,
    );
  }
  const { data, info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: "warning", autoOrient: true })
    .toColourspace("srgb").ensureAlpha().raw({ depth: "uchar" }).toBuffer({ resolveWithObject: true })
    .catch((error) => {
      throw undecodable(error);
    });
  return {
    width: info.width,
    height: info.height,
    rgba: new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength),
    decoder: `sharp ${sharp.versions.sharp} (libvips ${sharp.versions.vips})`,
    decoderCopy: `libvips decodes into a block of its own, ${data.byteLength} bytes, which is handed over: no copy`,
  };
}

/**
 * Writes a grey picture as an 8-bit greyscale PNG.
 *
 * @param path Where to; its folder is made, an existing file replaced. If that fails, an existing file is as it was.
 * @param grey One byte a pixel, row by row: `width` × `height` bytes. They are read until the promise settles, so
 * memory that can be unmapped has to be lent for that long.
 * @returns The file's length in bytes.
 * @throws {PhotoError} If the picture cannot be encoded or the file not be written.
 */
export async function writePng(path: string | URL, grey: Uint8Array, width: number, height: number): Promise<number> {
  try {
    const png = await sharp(grey, { raw: { width, height, channels: 1 } }).toColourspace("b-w").png().toBuffer();
    await Deno.mkdir(dirname(path), { recursive: true });
    writeRegularFile(pathOf(path), png);
    return png.byteLength;
  } catch (error) {
    throw new PhotoError(`${path} cannot be written: ${firstLine(error)}.`, { cause: error });
  }
}

function readFile(path: string | URL): Uint8Array {
  try {
    return readRegularFile(pathOf(path), MAX_FILE_BYTES);
  } catch (error) {
    throw new PhotoError(`${path} cannot be read: ${firstLine(error)}.`, { cause: error });
  }
}

function pathOf(path: string | URL): string {
  return path instanceof URL ? fromFileUrl(path) : path;
}

/** The first line of a library's message, without what ends it. */
function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.trim().split("\n")[0].replace(/[.:\s]+$/, "");
}
