import { type Names, object } from "../core/argument.ts";
import { integer, SIGNAL, TEXT } from "../core/checks.ts";
import { createFile } from "../core/file_source.ts";
import { type Ratio, ratioIn } from "../core/layout/ratio.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing } from "../core/life/undo.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { PROGRESS, type ProgressWanted } from "../core/progress.ts";
import { frameIn } from "../media/given.ts";
import type { FFmpegContext } from "./context.ts";
import { type Asked, Encoding } from "./encoding.ts";
import { checks } from "./library.ts";
import type { FFmpegTensor } from "./memory.ts";

/** How one stream is encoded. Its size, format, colours and sample rate are those of its first frame. */
export interface EncodedStream {
  /** FFmpeg's name of the encoder: `"libx264"`; by default the file format's usual one. */
  readonly codec?: string;
  /** Bits per second; the encoder chooses by default. */
  readonly bitRate?: number;
  /**
   * Frames per second, for video: an integer, or a ratio as in `[30000, 1001]`; by default the first frame's
   * `media.frameRate`.
   */
  readonly frameRate?: number | Ratio;
  /**
   * Seconds that the encoder counts in. If it is left out: one frame of `frameRate`, else the time base of the first frame,
   * else `[1, 25]`. Sound counts samples.
   */
  readonly timeBase?: number | Ratio;
  /** How many threads encode; by default FFmpeg chooses by the number of processors. */
  readonly threads?: number;
  /** FFmpeg's own options, of the encoder and of the file's format: `{ preset: "ultrafast", movflags: "+faststart" }`. */
  readonly options?: Readonly<Record<string, string | number>>;
}

/** Options of {@link FFmpegContext.encode}: of the stream, or of pictures where there is `audio`, too. */
export interface EncodeOptions extends EncodedStream {
  /** A second stream, for sound beside the pictures. */
  readonly audio?: Omit<EncodedStream, "frameRate" | "timeBase">;
  /** Ends the encoder: calls then throw the signal's reason, and no file is left. */
  readonly signal?: AbortSignal;
  /**
   * True to show on stderr, if that is a terminal, how many frames were encoded and how many a second. Where you know how
   * many will come, `{ frames: 250 }` shows how much is left as well. One line is shown at a time, whatever else has
   * `progress`.
   */
  readonly progress?: ProgressWanted;
}

const MAX_THREADS = 1024;

const SOUND: Names<NonNullable<EncodeOptions["audio"]>> = {
  ...{ codec: TEXT, bitRate: integer(1, Number.MAX_SAFE_INTEGER) },
  ...{ threads: integer(0, MAX_THREADS), options: true },
};
const NAMES: Names<EncodeOptions> = {
  ...{ ...SOUND, frameRate: true, timeBase: true },
  ...{ audio: true, signal: SIGNAL, progress: PROGRESS },
};
function streamIn(
  { codec, bitRate, frameRate, timeBase, threads = 0, options = {} }: EncodedStream,
  medium: Asked["medium"],
): Asked {
  const pairs = Object.entries(object(options, "options"));
  for (const [name, value] of pairs) {
    if (typeof value !== "string" && typeof value !== "number") {
      throw checks.wrongKind(`options.${name}`, "a string or a number", value);
    }
  }
  return {
    ...{ medium, codec, bitRate, threads, options: pairs.map(([name, value]) => [name, `${value}`]) },
    frameRate: frameRate === undefined
      ? undefined
      : ratioIn(checks, frameRate, "frameRate", "Write 29.97 as [30000, 1001]."),
    timeBase: timeBase === undefined
      ? undefined
      : ratioIn(checks, timeBase, "timeBase", "Write 1/25 of a second as [1, 25]."),
  };
}

/**
 * A file that frames are encoded into: {@link FFmpegContext.encode} makes it. The file is there, under its name, once
 * `close` has returned. What ends before, by an error, a dispose or a signal, leaves the folder as it was.
 */
export class Encoder extends NativeObject {
  /** Its end of life. */
  readonly resource: Resource;
  readonly #context: FFmpegContext;
  readonly #encoding: Encoding;

  /** Made by a context. */
  constructor(context: FFmpegContext, path: string | URL, given: EncodeOptions) {
    super();
    context.resource.assertLive();
    const { audio, signal, progress = false, ...own } = checks.optionsIn(given, NAMES);
    const streams = [streamIn(own, audio === undefined ? undefined : "video")];
    if (audio !== undefined) streams.push(streamIn(checks.optionsIn(audio, SOUND, "audio"), "audio"));
    signal?.throwIfAborted();
    this.#context = context;
    this.#encoding = allOrNothing("opening a file to write", (undo) => {
      return new Encoding(context, streams, { signal, progress }, createFile("ffmpeg", path, undo), undo);
    });
    this.resource = this.#encoding.calls.resource;
    finalizers.register(this, this.resource, this);
  }

  /** How many frames the encoder keeps. They must not change. */
  get kept(): number {
    return this.#encoding.keep.count;
  }

  /**
   * Encodes a frame, once all work on it is over. Its bytes are not copied for that: from the call on, and while the encoder
   * keeps a reference to them, they can be read and not written. A frame over samepage's memory ends once the encoder
   * has released it. Calls are done in order. A frame's `media.pts` and `timeBase` say when it is shown; one without
   * follows the one before.
   *
   * @param frame a frame of this context: decoded, attached, or `graph.map(frame, ffmpeg)`
   * @throws {ArgumentError} for a frame that differs from the first, is not later than the one before, or has a format that
   * the encoder does not take. The encoder goes on.
   * @throws {DisposedError} if the frame was disposed before its turn came. The encoder goes on.
   * @throws {AccessError} if the bytes are lent for writing.
   * @throws {NativeCallError} if FFmpeg or the disk fails. It ends the encoder.
   */
  async write(frame: Frame<FFmpegTensor>): Promise<void> {
    using _ = frameIn(checks, this.#context, frame).borrow("read"); // it may wait for its turn
    await this.#encoding.write(frame);
  }

  /**
   * Encodes what is kept, ends the file, and puts it in its place. Idempotent.
   *
   * @throws {InteropError} if a stream has no frame.
   * @throws {NativeCallError} if FFmpeg or the disk fails.
   */
  async close(): Promise<void> {
    await this.#encoding.close();
  }
}
