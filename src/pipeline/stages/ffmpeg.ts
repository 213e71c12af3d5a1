import { object } from "../../core/argument.ts";
import type { FileSource } from "../../core/file_source.ts";
import { withMoment } from "../../core/layout/frame_info.ts";
import { ReusedFrame } from "../../core/tensors/reused.ts";
import type { FFmpegContext } from "../../ffmpeg/context.ts";
import type { DecodeOptions } from "../../ffmpeg/decoder.ts";
import type { EncodedStream, EncodeOptions, Encoder } from "../../ffmpeg/encoder.ts";
import type { FFmpegTensor } from "../../ffmpeg/memory.ts";
import { Source } from "../pipeline.ts";
import { checks, Sink } from "../stage.ts";
import { contextIn } from "./given.ts";

/** The options of a decoder, except those that the pipeline sets. */
export type DecodeStageOptions = Omit<DecodeOptions, "signal" | "progress">;

/**
 * The frames of a file, decoded by FFmpeg, in the memory that it decodes into: with `{ hardware: true }`, that of the
 * context in `FFmpegContext.open({ on: va })`. A new decoder opens the file for each run.
 *
 * @param file a path, a `file:` URL, or the bytes of a file
 * @throws {ArgumentError} for anything but an FFmpegContext. The run throws what the decoder throws.
 *
 * @example
 * ```ts
 * import { FFmpegContext } from "@samepage/interop/ffmpeg";
 * import { decode } from "@samepage/interop/pipeline";
 *
 * using ffmpeg = FFmpegContext.open();
 * for await (using frame of decode(ffmpeg, "examples/edges/photo.jpg")) console.log(frame.info.type); // image
 * ```
 */
export function decode(ffmpeg: FFmpegContext, file: FileSource, options: DecodeStageOptions = {}): Source {
  return new Source({
    name: "decode",
    contexts: contextsOf(ffmpeg),
    async *frames({ signal }) {
      await using decoder = ffmpeg.decode(file, { ...options, signal });
      yield* decoder;
    },
  });
}

/**
 * Encodes frames into a file with FFmpeg. The file appears once the pipeline has ended without an error; after an error,
 * the folder is as it was. An encoder may keep frames for a while: give the pipeline more frames than it keeps.
 *
 * @param path a path or a `file:` URL, whose ending names the format
 * @throws {ArgumentError} for anything but an FFmpegContext. The run throws what the encoder throws.
 *
 * @example
 * ```ts
 * import { FFmpegContext } from "@samepage/interop/ffmpeg";
 * import { decode, encode } from "@samepage/interop/pipeline";
 *
 * using ffmpeg = FFmpegContext.open();
 * const folder = Deno.makeTempDirSync();
 * const { frames } = await decode(ffmpeg, "examples/edges/photo.jpg")
 *   .pipeTo(encode(ffmpeg, `${folder}/photo.mkv`, { codec: "ffv1" }));
 * console.log(frames); // 1
 * Deno.removeSync(folder, { recursive: true });
 * ```
 */
export function encode(
  ffmpeg: FFmpegContext,
  path: string | URL,
  options: Omit<EncodeOptions, "signal" | "progress"> = {},
): Sink<FFmpegTensor> {
  let encoder: Encoder | undefined;
  const ended = () => {
    const last = encoder ??= ffmpeg.encode(path, options); // without frames: so that close() throws the encoder's error
    encoder = undefined;
    return last;
  };
  return new Sink<FFmpegTensor>({
    name: "encode",
    contexts: contextsOf(ffmpeg),
    takes: { memory: ffmpeg },
    write: (frame) => (encoder ??= ffmpeg.encode(path, options)).write(frame),
    async close() {
      await using last = ended();
      await last.close();
    },
    async abort() {
      if (encoder !== undefined) await ended()[Symbol.asyncDispose]();
    },
  });
}

/**
 * Pictures, each from its own file, in the order of the list. They have no time: a file that they are encoded into
 * counts them.
 *
 * @param files paths or `file:` URLs, or the bytes of files
 * @throws {ArgumentError} for anything but an FFmpegContext and a list.
 */
export function images(ffmpeg: FFmpegContext, files: Iterable<FileSource> | AsyncIterable<FileSource>): Source {
  if (typeof files === "string" || typeof files !== "object" || files === null || ArrayBuffer.isView(files)) {
    throw checks.wrongKind("files", "a list of files", files, "One file alone: [path].");
  }
  return new Source({
    name: "images",
    contexts: contextsOf(ffmpeg),
    async *frames({ signal }) {
      for await (const file of files) {
        await using decoder = ffmpeg.decode(file, { signal });
        for await (const frame of decoder) {
          const { pts: _, timeBase: __, duration: ___, frameRate: ____, ...media } = frame.info.media ?? {};
          const info = withMoment({ ...frame.info, media: {} }, media);
          yield new ReusedFrame(frame, frame.name).lend(frame.access, () => frame[Symbol.dispose](), { info });
          break;
        }
      }
    },
  });
}

/** Options of {@link writeImages}. */
export interface WriteImagesOptions extends Pick<EncodedStream, "codec" | "options"> {
  /** How many are written at a time; 1 if left out. */
  readonly concurrency?: number;
}

/**
 * Writes each frame as a picture into its own file.
 *
 * @param path the files' path, with a place for the frame's number, which counts from 0: `"out/%04d.png"` for 4 digits
 * @throws {ArgumentError} for anything but an FFmpegContext, or a path without a place for the number.
 *
 * @example
 * ```ts
 * import { FFmpegContext } from "@samepage/interop/ffmpeg";
 * import { images, writeImages } from "@samepage/interop/pipeline";
 *
 * using ffmpeg = FFmpegContext.open();
 * const folder = Deno.makeTempDirSync();
 * const photo = "examples/edges/photo.jpg";
 * await images(ffmpeg, [photo, photo]).pipeTo(writeImages(ffmpeg, `${folder}/%03d.mkv`, { codec: "ffv1" }));
 * console.log(Array.from(Deno.readDirSync(folder), ({ name }) => name).sort()); // [ "000.mkv", "001.mkv" ]
 * Deno.removeSync(folder, { recursive: true });
 * ```
 */
export function writeImages(ffmpeg: FFmpegContext, path: string, options: WriteImagesOptions = {}): Sink<FFmpegTensor> {
  const { concurrency = 1, ...how } = object(options, "options");
  checks.assertText(path, "path");
  if (!NUMBER.test(path)) throw checks.wrong("path", `"${path}" has no place for a number.`, 'Write "out/%04d.png".');
  let count = 0;
  const reset = () => void (count = 0);
  return new Sink<FFmpegTensor>({
    ...{ name: "writeImages", contexts: contextsOf(ffmpeg), takes: { memory: ffmpeg }, concurrency },
    ...{ close: reset, abort: reset },
    async write(frame) {
      const number = `${count++}`;
      await using encoder = ffmpeg.encode(path.replace(NUMBER, (_, digits) => number.padStart(+digits, "0")), how);
      await encoder.write(frame);
      await encoder.close();
    },
  });
}

const NUMBER = /%(\d*)d/;

/** FFmpeg, and the context whose frames its hardware frames are. */
function contextsOf(ffmpeg: FFmpegContext) {
  const { on } = contextIn(ffmpeg, "ffmpeg", "ffmpeg");
  return on === undefined ? [ffmpeg] : [ffmpeg, on];
}
