import {
  ArgumentError,
  DisposedError,
  type Frame,
  InteropError,
  LibraryNotFoundError,
  NativeCallError,
  PermissionError,
} from "@samepage/interop";
import { type DecodeOptions, FFmpegContext, type FileSource } from "@samepage/interop/ffmpeg";
import { any, say } from "../kit.ts";
import { type Failure, failuresOf, type Row, table } from "../row.ts";

/** A picture of two by two pixels, as a PPM file. */
const PICTURE = new Uint8Array([...new TextEncoder().encode("P6\n2 2\n255\n"), ...Array(12).fill(7)]);

/** A row that decodes something. */
function row(
  source: FileSource,
  options: DecodeOptions,
  fails?: Failure,
  use: (frame: Frame) => unknown = () => {},
): Row {
  return {
    async run() {
      using ffmpeg = FFmpegContext.open();
      await using decoder = ffmpeg.decode(source, options);
      for await (using frame of decoder) await use(frame);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

const { wrong } = failuresOf("ffmpeg");
const native = (fn: string, code: number, codeName: string, message = new RegExp(codeName)): Failure => (
  { error: NativeCallError, api: "ffmpeg", fn, code, codeName, message }
);
const options = (given: unknown, fails: Failure): Row => row(PICTURE, any(given), fails);
const allowed = (one: Row): Row => ({ ...one, flags: ["--allow-ffi", "--allow-read"] });

const INVALID = -1094995529;
const MEDIA = /^Pass a media file that is whole, and not a playlist/;

export default table(import.meta, {
  "decode: a picture in bytes": row(PICTURE, {}, undefined, (frame) => {
    if (`${frame.info.format}` !== "RGB") throw new Error(frame.info.format);
  }),
  "decode: nothing": row(any(undefined), {}, wrong("source", /expected a path, a file: URL, or bytes, got undefined/)),
  "decode: a number": row(any(3), {}, wrong("source", /expected a path, .* got a number/)),
  "decode: an empty path": row("", {}, wrong("source", /expected a path, got ""/)),
  "decode: a path with a zero byte": row("a.mp4\0.png", {}, wrong("source", /expected a path/)),
  "decode: a URL of the network": row(
    "https://example.org/clip.mp4",
    {},
    wrong("source", /expected a file, got the URL https:/, /pass its bytes/),
  ),
  "decode: a URL of a data: protocol": row(
    new URL("data:video/mp4;base64,AAAA"),
    {},
    wrong("source", /expected a file, got the URL data:/, /pass its bytes/),
  ),
  "decode: a camera's URL": row(
    "rtsp://127.0.0.1/x",
    {},
    wrong("source", /expected a file, got the URL rtsp:/, /pass its bytes/),
  ),
  "decode: a URL that is none": allowed(row("file://host/%zz", {}, wrong("source", /cannot be read: /))),
  "decode: a protocol of FFmpeg's is a path": allowed(
    row("concat:/etc/hostname|/etc/hostname", {}, wrong("source", /cannot be read: .*(No such|ENOENT)/i)),
  ),
  "decode: a pattern of FFmpeg's is a path": allowed(row("/tmp/%03d.png", {}, wrong("source", /cannot be read/))),
  "decode: progress in a word": options({ progress: "bar" }, wrong("progress", /expected a boolean, got a string/)),
  "decode: a directory": allowed(row("/etc", {}, wrong("source", /is not a regular file|EISDIR/))),
  "decode: a device": { ...row("/dev/zero", {}, wrong("source", /is not a regular file/)), flags: ["-A"] },
  "decode: a file that is not there": allowed(row("/nonesuch.mp4", {}, wrong("source", /nonesuch.mp4 cannot be read/))),
  "decode: without the permission to read": row("clip.mp4", {}, {
    ...{ error: PermissionError, api: "ffmpeg", argument: "source", message: /does not permit to read clip.mp4/ },
    ...{ hint: /--allow-read=clip.mp4/, has: { flag: /--allow-read=clip.mp4/ } },
  }),
  "decode: a view of moved bytes": {
    run() {
      using ffmpeg = FFmpegContext.open();
      const bytes = PICTURE.slice();
      structuredClone(bytes, { transfer: [bytes.buffer] });
      ffmpeg.decode(bytes);
    },
    fails: wrong("source", /the view is stale/, /Take the view again/),
  },
  "decode: a picture whose half is missing": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      const decoder = ffmpeg.decode(PICTURE.subarray(0, 17));
      try {
        for await (using frame of decoder) say(`${frame}`);
      } finally {
        say(`${decoder.damaged > 0}`);
      }
    },
    says: ["true"],
    fails: native("avcodec_send_packet", INVALID, "AVERROR_INVALIDDATA"),
  },
  "decode: no bytes": row(
    new Uint8Array(),
    {},
    {
      ...native("avformat_open_input", INVALID, "AVERROR_INVALIDDATA", /: Invalid data found when processing input\)/),
      hint: MEDIA,
    },
  ),
  "decode: bytes of no format": row(
    new Uint8Array(100).fill(1),
    {},
    { ...native("avformat_open_input", INVALID, "AVERROR_INVALIDDATA"), hint: MEDIA },
  ),
  "decode: a playlist that names another file": {
    ...row(
      new TextEncoder().encode("ffconcat version 1.0\nfile /etc/hostname\n"),
      {},
      { ...native("avformat_open_input", 1, "EPERM"), hint: MEDIA },
    ),
    warns: /^samepage: FFmpeg: \[concat\] Unsafe file name '\/etc\/hostname'\n$/,
  },
  "decode: without libavformat": {
    ...row(PICTURE, {}, {
      ...{ error: LibraryNotFoundError, api: "ffmpeg_format", fn: "dlopen", message: /nonesuch/ },
      ...{ hint: /SAMEPAGE_LIB_FFMPEG_FORMAT names it/, has: { attempts: /nonesuch/ } },
    }),
    flags: ["--allow-ffi", "--allow-env"],
    env: { SAMEPAGE_LIB_FFMPEG_FORMAT: "/nonesuch/libavformat.so.59" },
  },
  "decode: a misspelt option": options({ streem: "video" }, {
    ...{ error: ArgumentError, api: "core", argument: "options", message: /unknown property streem/ },
    hint: /Use stream, from, threads, signal/,
  }),
  "decode: a stream by another name": options(
    { stream: "subtitle" },
    wrong("stream", /expected one of "video", "audio"/),
  ),
  "decode: a stream of no number": options({ stream: NaN }, wrong("stream", /expected an integer from 0/)),
  "decode: a stream that is negative": options({ stream: -1 }, wrong("stream", /expected an integer from 0/)),
  "decode: a stream beyond all": options(
    { stream: 7 },
    wrong("stream", /has no stream 7 of video or audio\. It has 0: video \(ppm\)/),
  ),
  "decode: sound of a picture": options({ stream: "audio" }, wrong("stream", /has no audio\. It has 0: video \(ppm\)/)),
  "decode: from a text": options({ from: "3" }, wrong("from", /expected a number, got a string/)),
  "decode: from no number": options({ from: NaN }, wrong("from", /expected seconds from 0/)),
  "decode: from before the start": options({ from: -1 }, wrong("from", /expected seconds from 0/)),
  "decode: half a thread": options({ threads: 0.5 }, wrong("threads", /expected an integer from 0/)),
  "decode: too many threads": options({ threads: 1e6 }, wrong("threads", /expected an integer from 0 to 1024/)),
  "decode: a controller for a signal": options(
    { signal: new AbortController() },
    wrong("signal", /expected an AbortSignal, got an AbortController/),
  ),
  "decode: in a context that was disposed": {
    run() {
      const ffmpeg = FFmpegContext.open();
      ffmpeg[Symbol.dispose]();
      ffmpeg.decode(PICTURE);
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "decode: a second loop": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      const decoder = ffmpeg.decode(PICTURE);
      for await (using _first of decoder) { /* it is over */ }
      for await (using _second of decoder) { /* none comes */ }
    },
    fails: { error: InteropError, api: "ffmpeg", message: /taken by another loop/, hint: /decode\(\) again/ },
  },
  "decode: info() of a decoder that was disposed": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      const decoder = ffmpeg.decode(PICTURE);
      decoder[Symbol.dispose]();
      await decoder.info();
    },
    fails: { error: DisposedError, api: "core", message: /FFmpeg decoder was disposed/ },
  },
  "decode: disposed in its own loop": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      const decoder = ffmpeg.decode(PICTURE);
      for await (using _ of decoder) decoder[Symbol.dispose]();
    },
    fails: { error: DisposedError, api: "core", message: /FFmpeg decoder was disposed/ },
  },
  "decode: a frame that is used after its block": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      let kept: Frame | undefined;
      for await (using frame of ffmpeg.decode(PICTURE)) kept = frame;
      kept!.assertUsable("read");
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "decode: several takers of one loop": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      const frames = ffmpeg.decode(PICTURE)[Symbol.asyncIterator]();
      const taken = await Promise.all([frames.next(), frames.next(), frames.next()]);
      for (const { value } of taken) (value as Frame | undefined)?.[Symbol.dispose]();
      say(taken.map(({ done }) => done).join());
    },
    says: ["false,true,true"],
  },
});
