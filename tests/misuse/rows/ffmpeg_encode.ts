import {
  AccessError,
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  type ImageInfo,
  imageInfo,
  InteropError,
  MapperGraph,
  PermissionError,
} from "@samepage/interop";
import { type EncodeOptions, type Encoder, FFmpegContext, type FFmpegTensor } from "@samepage/interop/ffmpeg";
import { any, say } from "../kit.ts";
import { type Failure, failuresOf, type Row, table } from "../row.ts";

const RGB = imageInfo({ format: "RGB", width: 16, height: 8 });

interface There {
  readonly ffmpeg: FFmpegContext;
  readonly out: Encoder;
  readonly folder: string;
  readonly write: (info?: ImageInfo) => Promise<void>;
}

/** A row that encodes a file in a folder of its own, which is empty in the end unless the file is closed. */
function row(
  file: string,
  options: EncodeOptions,
  use: (there: There) => unknown,
  fails?: Failure,
): Row {
  return {
    flags: ["--allow-ffi", "--allow-read", "--allow-write", "--allow-env"],
    async run() {
      const folder = await Deno.makeTempDir();
      try {
        using ffmpeg = FFmpegContext.open();
        using graph = new MapperGraph([host, ffmpeg]);
        await using out = ffmpeg.encode(`${folder}/${file}`, options);
        const write = async (info = RGB) => {
          using picture = host.allocateFrame(info, { rowAlign: 64 });
          using mapped = graph.map(picture, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
          await out.write(mapped);
        };
        await use({ ffmpeg, out, folder, write });
      } finally {
        const left = Array.from(Deno.readDirSync(folder), ({ name }) => name);
        if (left.length > 0) say(left.join());
        await Deno.remove(folder, { recursive: true });
      }
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

const { wrong } = failuresOf("ffmpeg");
/** Options that are refused before the file is asked for. */
const asked = (given: unknown, fails: Failure): Row => ({
  run() {
    using ffmpeg = FFmpegContext.open();
    ffmpeg.encode("/tmp/a.png", any(given));
  },
  fails,
});
const at = (path: unknown, fails: Failure, flags = ["-A"]): Row => ({
  flags,
  run() {
    using ffmpeg = FFmpegContext.open();
    ffmpeg.encode(any(path));
  },
  fails,
});

export default table(import.meta, {
  "encode: a picture": {
    ...row("a.png", { threads: 1 }, async ({ out, write }) => {
      await write();
      say(`${out.kept}`);
      await out.close();
    }),
    says: ["0", "a.png"],
  },
  "encode: nowhere": at(undefined, wrong("path", /expected a path or a file: URL, got undefined/)),
  "encode: to an empty path": at("", wrong("path", /expected a path, got ""/)),
  "encode: to a path with a zero byte": at("/tmp/a\0.mp4", wrong("path", /expected a path/)),
  "encode: to the network": at("rtmp://127.0.0.1/x.flv", wrong("path", /expected a file, got the URL rtmp:/)),
  "encode: to a directory": at("/tmp", wrong("path", /\/tmp cannot be written: /)),
  "encode: to a device": at("/dev/null", wrong("path", /is not a regular file/)),
  "encode: to a folder that is not there": at("/nonesuch/a.mp4", wrong("path", /cannot be written: /)),
  "encode: without the permission to write": at("/tmp/a.mp4", {
    ...{ error: PermissionError, api: "ffmpeg", argument: "path", message: /does not permit to write \/tmp\/a.mp4/ },
    ...{ hint: /--allow-write=\/tmp\/a.mp4/, has: { flag: /--allow-write=\/tmp\/a.mp4/ } },
  }, ["--allow-ffi"]),
  "encode: with the permission for the file alone": at("/tmp/a.mp4", {
    ...{ error: PermissionError, api: "ffmpeg", argument: "path", message: /does not permit to write \/tmp\// },
    ...{ hint: /--allow-write=\/tmp\//, has: { flag: /--allow-write=\/tmp\// } },
  }, ["--allow-ffi", "--allow-write=/tmp/a.mp4"]),
  "encode: here, with the permission for the file alone": at("a.mp4", {
    ...{ error: PermissionError, api: "ffmpeg", argument: "path", message: /does not permit to write \.\/\./ },
    ...{ hint: /--allow-write=\.\/\.$/, has: { flag: /--allow-write=\.\// } },
  }, ["--allow-ffi", "--allow-write=a.mp4"]),
  "encode: to a name that stands for nothing": row("a.qqq", {}, () => {}, {
    ...wrong("path", /no format for files like .*a\.qqq/, /\.mkv/),
    fn: "av_guess_format",
  }),
  "encode: to a list of files": row("a.m3u8", {}, () => {}, wrong("path", /format hls does not write one file/)),
  "encode: by no encoder's name": row("a.mkv", { codec: "h265" }, () => {}, {
    ...wrong("codec", /no encoder h265/, /ffmpeg -encoders/),
    fn: "avcodec_find_encoder_by_name",
  }),
  "encode: by a codec's name": row("a.mkv", { codec: "h264" }, () => {}, {
    ...wrong("codec", /no encoder h264/, /encodes h264 here: .*libx264/),
    fn: "avcodec_find_encoder_by_name",
  }),
  "encode: by a number": asked({ codec: 27 }, wrong("codec", /expected a string, got a number/)),
  "encode: a misspelt option": asked({ framerate: 25 }, {
    ...{ error: ArgumentError, api: "core", argument: "options", message: /unknown property framerate/ },
    hint: /frameRate/,
  }),
  "encode: an option of sound that is misspelt": asked({ audio: { bitrate: 1 } }, {
    ...{ error: ArgumentError, api: "core", argument: "audio", message: /unknown property bitrate/ },
    hint: /bitRate/,
  }),
  "encode: no bits": asked({ bitRate: 0 }, wrong("bitRate", /expected an integer from 1/)),
  "encode: a rate that is not an integer": asked(
    { frameRate: 29.97 },
    wrong(
      "frameRate",
      /expected an integer, or \[numerator, denominator\], from 1 to 2147483647, got 29.97/,
      /\[30000, 1001\]/,
    ),
  ),
  "encode: a rate of nothing": asked(
    { frameRate: [0, 1] },
    wrong("frameRate", /from 1 to 2147483647, got \[0, 1\]/, /30000/),
  ),
  "encode: a rate in words": asked({ frameRate: any("25") }, wrong("frameRate", /got "25"/, /30000/)),
  "encode: a time base in words": asked({ timeBase: "1/25" }, wrong("timeBase", /got "1\/25"/, /\[1, 25\]/)),
  "encode: half a thread": asked({ threads: 0.5 }, wrong("threads", /expected an integer from 0 to 1024/)),
  "encode: options as a text": asked({ options: "preset=fast" }, {
    ...{ error: ArgumentError, api: "core", argument: "options", message: /expected/ },
  }),
  "encode: an option that is an object": asked(
    { options: { preset: {} } },
    wrong("options.preset", /expected a string or a number, got/),
  ),
  "encode: an option that FFmpeg does not have": row(
    "a.png",
    { options: { presett: "fast" } },
    ({ write }) => write(),
    {
      ...wrong("options", /neither the encoder nor the file's format has an option presett/, /lists all options/),
    },
  ),
  "encode: progress in a word": asked(
    { progress: "bar" },
    wrong("progress", /expected a boolean or \{ frames \}, got a string/),
  ),
  "encode: progress of nothing": asked(
    { progress: {} },
    wrong("progress.frames", /expected an integer from 1 .* got undefined/),
  ),
  "encode: progress of no frames": asked({ progress: { frames: 0 } }, wrong("progress.frames", /from 1 .* got 0/)),
  "encode: progress by another name": asked(
    { progress: { count: 3 } },
    { error: ArgumentError, api: "core", argument: "progress", message: /count/, hint: /frames/ },
  ),
  "encode: a controller for a signal": asked(
    { signal: new AbortController() },
    wrong("signal", /expected an AbortSignal, got an AbortController/),
  ),
  "encode: a frame of the host's": row("a.png", {}, async ({ out }) => {
    using picture = host.allocateFrame(RGB);
    await out.write(any(picture));
  }, wrong("frame", /belongs to host, and not to FFmpeg/, /Map it/)),
  "encode: no frame": row(
    "a.png",
    {},
    ({ out }) => out.write(any(undefined)),
    wrong("frame", /expected a Frame/, /Frame\.of/),
  ),
  "encode: a tensor": row("a.png", {}, async ({ out }) => {
    using tensor = host.allocate({ shape: [1], dtype: "u8" });
    await out.write(any(tensor));
  }, wrong("frame", /expected a Frame, got a HostTensor/, /Frame\.of/)),
  "encode: a frame of another context": row("a.png", {}, async ({ out }) => {
    using other = FFmpegContext.open();
    using graph = new MapperGraph([host, other]);
    using picture = host.allocateFrame(RGB);
    using mapped = graph.map(picture, other) as Frame<FFmpegTensor>;
    await out.write(mapped);
  }, wrong("frame", /belongs to another context/, /Map it/)),
  "encode: a frame after its end": row("a.png", {}, async ({ ffmpeg, out }) => {
    using graph = new MapperGraph([host, ffmpeg]);
    using picture = host.allocateFrame(RGB);
    const mapped = graph.map(picture, ffmpeg) as Frame<FFmpegTensor>;
    mapped[Symbol.dispose]();
    await out.write(mapped);
  }, { error: DisposedError, api: "core", message: /was disposed/ }),
  "encode: a frame that is lent for writing": row("a.png", {}, async ({ ffmpeg, out }) => {
    using graph = new MapperGraph([host, ffmpeg]);
    using picture = host.allocateFrame(RGB);
    using mapped = graph.map(picture, ffmpeg) as Frame<FFmpegTensor>;
    using child = graph.map(mapped, host, { access: "write" });
    await out.write(mapped);
    void child;
  }, { error: AccessError, api: "core", message: /lent|mapped/, hint: /Dispose/ }),
  "encode: a frame that may not be read": row("a.png", {}, async ({ ffmpeg, out }) => {
    using graph = new MapperGraph([host, ffmpeg]);
    using picture = host.allocateFrame(RGB);
    using mapped = graph.map(picture, ffmpeg, { access: "write" }) as Frame<FFmpegTensor>;
    await out.write(mapped);
  }, { error: AccessError, api: "core", message: /read/, argument: "access", hint: /./ }),
  "encode: pixels that the encoder does not take": row(
    "a.mkv",
    { codec: "ffv1" },
    ({ write }) => write(imageInfo({ format: "RGB", width: 16, height: 8 })),
    wrong("frame", /ffv1 takes .*yuv420p.*, and not rgb24/, /libswscale/),
  ),
  "encode: another size": row("a.png", {}, async ({ write }) => {
    await write();
    await write(imageInfo({ format: "RGB", width: 32, height: 8 }));
  }, wrong("frame", /expected RGB 16 × 8, as the first frame was, got RGB 32 × 8/, /one kind/)),
  "encode: sound into a file of pictures": row("a.mkv", { codec: "ffv1" }, async ({ ffmpeg, out }) => {
    using graph = new MapperGraph([host, ffmpeg]);
    const info = { type: "audio", format: "f32", sampleRate: 8000, channels: 1, samples: 8, layout: "planar" } as const;
    using sound = host.allocateFrame(info);
    using mapped = graph.map(sound, ffmpeg) as Frame<FFmpegTensor>;
    await out.write(mapped);
  }, wrong("codec", /ffv1 encodes no audio/, /audio: \{\}/)),
  "encode: a second kind of stream": row("a.mkv", { codec: "ffv1" }, async ({ ffmpeg, out, write }) => {
    await write(imageInfo({ format: "GRAY8", width: 16, height: 8 }));
    using graph = new MapperGraph([host, ffmpeg]);
    const info = { type: "audio", format: "f32", sampleRate: 8000, channels: 1, samples: 8, layout: "planar" } as const;
    using sound = host.allocateFrame(info);
    using mapped = graph.map(sound, ffmpeg) as Frame<FFmpegTensor>;
    await out.write(mapped);
  }, wrong("frame", /no stream of audio/, /audio: \{\}/)),
  "encode: nothing, and close": row("a.png", {}, ({ out }) => out.close(), {
    ...{ error: InteropError, api: "ffmpeg", message: /not written: no frame came/, hint: /before close/ },
  }),
  "encode: a frame after close": {
    ...row("a.png", {}, async ({ out, write }) => {
      await write();
      await out.close();
      await write();
    }, { error: DisposedError, api: "core", message: /FFmpeg encoder was closed/, hint: /a new one/ }),
    says: ["a.png"],
  },
  "encode: a frame after dispose": row("a.png", {}, async ({ out, write }) => {
    await write();
    out[Symbol.dispose]();
    await write();
  }, { error: DisposedError, api: "core", message: /FFmpeg encoder was disposed/ }),
  "encode: close twice at once": {
    ...row("a.png", {}, async ({ out, write }) => {
      await write();
      await Promise.all([out.close(), out.close()]);
    }),
    says: ["a.png"],
  },
  "encode: in a context that was disposed": {
    run() {
      const ffmpeg = FFmpegContext.open();
      ffmpeg[Symbol.dispose]();
      ffmpeg.encode("/tmp/a.mp4");
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
});
