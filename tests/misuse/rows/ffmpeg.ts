import {
  AccessError,
  ArgumentError,
  DisposedError,
  Frame,
  type FrameInfo,
  host,
  imageInfo,
  InteropError,
  layout,
  ledger,
  LibraryNotFoundError,
  MapperGraph,
} from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { CFrame, cText, inC, NEWER } from "../../ffmpeg/frames.ts";
import { any, say } from "../kit.ts";
import { type Failure, failuresOf, ofCore, type Row, table } from "../row.ts";

const NV12 = imageInfo({ format: "NV12", width: 16, height: 8 });
const PLANE = { dtype: "u8", elements: 1, step: 1, rows: 1 } as const;

/** The memory of a flag that FFmpeg has set is freed soon, and not at once. */
async function settled(): Promise<void> {
  for (let i = 0; i < 30_000 && ledger.alive["native.flag"] !== undefined; i++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** A row with a context, and a frame of the program's own. */
function row(use: (there: { ffmpeg: FFmpegContext; made: CFrame }) => unknown, fails?: Failure): Row {
  return {
    async run() {
      try {
        using ffmpeg = FFmpegContext.open();
        using made = CFrame.picture("yuv420p", 16, 8);
        await use({ ffmpeg, made });
      } finally {
        await settled();
      }
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

/** The same with a frame of the host's that is mapped to FFmpeg. */
function mappedRow(info: FrameInfo, use: (ffmpeg: FFmpegContext, mapped: Frame) => unknown, fails?: Failure): Row {
  return row(async ({ ffmpeg }) => {
    using graph = new MapperGraph([host, ffmpeg]);
    using picture = host.allocateFrame(info);
    await using mapped = graph.map(picture, ffmpeg);
    await use(ffmpeg, mapped);
  }, fails);
}

const { wrong, unfit } = failuresOf("ffmpeg");

/** A picture whose format is set to another, for which its memory was not made. */
const called = (format: string, fails: Failure): Row =>
  row(({ ffmpeg, made }) => {
    inC().set_format(made.pointer, inC().format_of(cText(format)));
    ffmpeg.attach(made.pointer);
  }, fails);

export default table(import.meta, {
  "a pointer that is null": row(({ ffmpeg }) => ffmpeg.attach(0n), wrong("pointer", /expected a handle, got null/)),
  "a pointer that is a number": row(
    ({ ffmpeg }) => ffmpeg.attach(any(4096)),
    wrong("pointer", /expected a bigint, got a number/),
  ),
  "a pointer to no memory": row(({ ffmpeg }) => ffmpeg.attach(4096n), {
    ...wrong("pointer", /cannot be read/, /still there/),
    fn: "process_vm_readv",
  }),
  "a pointer to other memory": row(({ ffmpeg }) => {
    using bytes = host.allocate({ shape: [4096], dtype: "u8" });
    ffmpeg.attach(bytes.address);
  }, wrong("pointer", /expected an AVFrame: extended_data/, /of this same version/)),
  "the pixels in place of their frame": row(
    ({ ffmpeg, made }) => ffmpeg.attach(inC().plane_of(made.pointer, 0)),
    wrong("pointer", /expected an AVFrame: extended_data/, /of this same version/),
  ),
  "a frame without memory": row(({ ffmpeg }) => {
    using empty = new CFrame(inC().empty());
    ffmpeg.attach(empty.pointer);
  }, wrong("pointer", /is empty: it has no memory/)),
  "a frame whose memory has no reference count": row(({ ffmpeg, made }) => {
    using _kept = made.clone(); // the buffers are freed by this one
    inC().forget_buffers(made.pointer);
    ffmpeg.attach(made.pointer);
  }, wrong("pointer", /counts no references/, /av_frame_get_buffer.*host\.wrap/)),
  "hardware frames": called(
    "vaapi",
    wrong("pointer", /is vaapi: its pixels are a device's/, /av_hwframe_transfer_data/),
  ),
  "a palette": called("pal8", wrong("pointer", /is pal8: .*palette/, /sws_scale/)),
  "pixels of bits": called("monob", wrong("pointer", /is monob: .*parts of bytes/, /sws_scale/)),
  "big-endian numbers": called("gray16be", wrong("pointer", /is gray16be: .*big-endian/, /little-endian/)),
  "a format that takes more planes than there are": called(
    "yuva420p",
    unfit("pointer", /linesize\[3\] .* is 0: a row has 16 bytes/, /av_frame_copy/),
  ),
  "a format that takes more bytes than there are": called(
    "rgba64le",
    unfit("pointer", /linesize\[0\] .* is \d+: a row has 128 bytes/, /av_frame_copy/),
  ),
  "a plane elsewhere": row(({ ffmpeg, made }) => {
    inC().misplace(made.pointer, 1, 4096n);
    ffmpeg.attach(made.pointer);
  }, unfit("pointer", /plane 1 of its AVFrame lies in none of the frame's buffers/, /host\.wrap/)),
  "rows that go upwards": row(({ ffmpeg, made }) => {
    inC().flip(made.pointer);
    ffmpeg.attach(made.pointer);
  }, unfit("pointer", /linesize\[0\] .* upwards/, /av_frame_copy/)),
  "more rows than there are": row(({ ffmpeg, made }) => {
    inC().stretch(made.pointer, 1_000_000);
    ffmpeg.attach(made.pointer);
  }, unfit("pointer", /it reaches to byte \d+; the memory has \d+/)),
  "a crop of more than there is": row(({ ffmpeg, made }) => {
    inC().set_crop(made.pointer, 0, 5, 0, 5);
    ffmpeg.attach(made.pointer);
  }, unfit("pointer", /its AVFrame shows .* and there are 16 × 8/)),
  "a write of a frame that others read": row(({ ffmpeg, made }) => {
    using _other = made.clone();
    ffmpeg.attach(made.pointer, { access: "read-write" });
  }, {
    ...{ error: AccessError, api: "ffmpeg", fn: "av_frame_is_writable", argument: "access" },
    ...{ message: /others refer to/, hint: /copy: "allow"/ },
  }),
  "a write through a map of a frame that others read": row(({ ffmpeg, made }) => {
    using graph = new MapperGraph([host, ffmpeg]);
    using _other = made.clone();
    using frame = ffmpeg.attach(made.pointer);
    graph.map(frame, host, { access: "write" });
  }, ofCore(AccessError, /read/, { argument: "access", hint: /read-write/ })),
  "two writers of one frame": row(({ ffmpeg, made }) => {
    using _one = ffmpeg.attach(made.pointer, { access: "write" });
    ffmpeg.attach(made.pointer, { access: "write" });
  }, {
    ...{ error: AccessError, api: "ffmpeg", fn: "av_frame_is_writable", argument: "access" },
    ...{ message: /others refer to/, hint: /copy: "allow"/ },
  }),
  "a copy that is true": row(
    ({ ffmpeg, made }) => ffmpeg.attach(made.pointer, { copy: any(true) }),
    wrong("copy", /expected one of "allow", got true/),
  ),
  "an option that is misspelt": row(
    ({ ffmpeg, made }) => ffmpeg.attach(made.pointer, any({ acces: "read" })),
    ofCore(ArgumentError, /unknown property acces/, { argument: "options", hint: /access, after, owner, copy/ }),
  ),
  "an AVFrame that is freed under its frame": {
    ...row(({ ffmpeg }) => {
      const made = CFrame.picture("gray", 16, 8);
      using frame = ffmpeg.attach(made.pointer);
      made[Symbol.dispose]();
      using graph = new MapperGraph([host, ffmpeg]);
      using mapped = graph.map(frame, host, { access: "read" });
      say(mapped.planes[0].view()[0], frame.handle !== made.pointer);
    }),
    says: ["1 true"],
  },
  "a frame of a context that has ended": row(({ made }) => {
    const ffmpeg = FFmpegContext.open();
    ffmpeg[Symbol.dispose]();
    ffmpeg.attach(made.pointer);
  }, ofCore(DisposedError, /FFmpeg .* was disposed/)),
  "what a context is, and is not": {
    ...row(({ ffmpeg, made }) => {
      using frame = ffmpeg.attach(made.pointer);
      using other = host.allocate({ shape: [1], dtype: "u8" });
      say(ffmpeg.kind, ffmpeg.is(frame.planes[0]), ffmpeg.is(other), ffmpeg.is(any(undefined)), ffmpeg.bytesCopied);
    }),
    says: ["avframe true false false 0"],
  },
  "a host's frame handed over": row(({ ffmpeg }) => {
    using picture = host.allocateFrame(NV12);
    ffmpeg.avFrame(any(picture));
  }, wrong("frame", /belongs to host, and not to FFmpeg/, /Map it/)),
  "a tensor handed over": row(({ ffmpeg }) => {
    using tensor = host.allocate({ shape: [1], dtype: "u8" });
    ffmpeg.avFrame(any(tensor));
  }, wrong("frame", /expected a Frame, got a HostTensor/, /Frame\.of/)),
  "nothing handed over": row(
    ({ ffmpeg }) => ffmpeg.avFrame(any(undefined)),
    wrong("frame", /expected a Frame, got undefined/, /Frame\.of/),
  ),
  "a frame handed over after its end": mappedRow(NV12, async (ffmpeg, mapped) => {
    await mapped[Symbol.asyncDispose]();
    ffmpeg.avFrame(any(mapped));
  }, ofCore(DisposedError, /was disposed/)),
  "a format that FFmpeg has not": mappedRow(
    imageInfo({ format: "YV12", width: 4, height: 4 }),
    (ffmpeg, mapped) => ffmpeg.avFrame(any(mapped)),
    wrong("frame", /FFmpeg has no format YV12/, /^Convert the picture to one of these: .*GRAY8.*, I420, /),
  ),
  "a format by a name of the program's": mappedRow(
    { type: "picture", format: "mine", width: 4, height: 4, planes: [PLANE] },
    (ffmpeg, mapped) => ffmpeg.avFrame(any(mapped)),
    wrong("frame", /FFmpeg has no format mine/, /Or name its pixels as FFmpeg does/),
  ),
  "other planes than a format has": mappedRow(
    { type: "picture", format: "yuv422p", width: 4, height: 4, planes: [PLANE] },
    (ffmpeg, mapped) => ffmpeg.avFrame(any(mapped)),
    wrong("frame", /its planes are not those of FFmpeg's yuv422p/, /attach/),
  ),
  "a device's format handed over": mappedRow(
    { type: "picture", format: "vaapi", width: 4, height: 4, planes: [PLANE] },
    (ffmpeg, mapped) => ffmpeg.avFrame(any(mapped)),
    wrong("frame", /is vaapi: its pixels are a device's/, /av_hwframe_transfer_data/),
  ),
  "a time that is a number": row(
    () => host.allocateFrame(any({ ...NV12, media: { pts: 40 } })),
    ofCore(ArgumentError, /media\.pts: expected a bigint of 64 bits, got 40/, { argument: "media.pts" }),
  ),
  "sound of a type that FFmpeg has not": mappedRow(
    { type: "audio", format: "u32", sampleRate: 8000, channels: 1, samples: 8, layout: "planar" },
    (ffmpeg, mapped) => ffmpeg.avFrame(any(mapped)),
    wrong("frame", /no sound of u32/),
  ),
  "sound of more planes than an AVFrame has": mappedRow(
    { type: "audio", format: "f32", sampleRate: 8000, channels: 9, samples: 8, layout: "planar" },
    (ffmpeg, mapped) => ffmpeg.avFrame(any(mapped)),
    wrong("frame", /at most 8 planes, got 9/),
  ),
  "gaps within rows handed over": row(({ ffmpeg }) => {
    using graph = new MapperGraph([host, ffmpeg]);
    using wide = host.allocate({ shape: [4, 8], dtype: "u8" });
    using every = wide.slice(layout({ shape: [4, 4], dtype: "u8", strides: [8, 2] }));
    using picture = Frame.of([every], imageInfo({ format: "GRAY8", width: 4, height: 4 }));
    using mapped = graph.map(picture, ffmpeg);
    ffmpeg.avFrame(mapped);
  }, unfit("frame", /gaps within the rows of plane 0/)),
  "a frame that was handed over, attached": mappedRow(NV12, (ffmpeg, mapped) => {
    using lent = new CFrame(ffmpeg.avFrame(any(mapped)));
    ffmpeg.attach(lent.pointer);
  }, wrong("pointer", /over a tensor's memory/, /avFrame/)),
  "a write while FFmpeg has the frame": row(async ({ ffmpeg }) => {
    using graph = new MapperGraph([host, ffmpeg]);
    using picture = host.allocateFrame(NV12);
    await using mapped = graph.map(picture, ffmpeg);
    using _lent = new CFrame(ffmpeg.avFrame(mapped));
    picture.planes[0].view();
  }, ofCore(AccessError, /lent|mapped/, { hint: /./ })),
  "metadata that FFmpeg's side data has no room for": mappedRow(NV12, (ffmpeg, mapped) => {
    mapped.metadata.add("displayMatrix", { matrix: [1, 0, 0, 1] });
    ffmpeg.avFrame(any(mapped));
  }, wrong("frame", /displayMatrix.matrix: expected integers, 9 of 32 bits/)),
  "a light that is not a whole number of 32 bits": mappedRow(NV12, (ffmpeg, mapped) => {
    mapped.metadata.add("contentLight", { most: 2 ** 40, average: 1 });
    ffmpeg.avFrame(any(mapped));
  }, wrong("frame", /contentLight: expected integers/)),
  "a library of another version": {
    run: () => FFmpegContext.open(),
    flags: ["--allow-ffi", "--allow-env"],
    env: { SAMEPAGE_LIB_FFMPEG: NEWER },
    fails: {
      ...{
        error: InteropError,
        api: "ffmpeg",
        fn: "avutil_version",
        message: /has version 99, .* the structs of 57, 59, 60, 61/,
      },
      hint: /apt install libavutil57.*SAMEPAGE_LIB_FFMPEG/,
    },
  },
  "a library that is not there": {
    run: () => FFmpegContext.open(),
    flags: ["--allow-ffi", "--allow-env"],
    env: { SAMEPAGE_LIB_FFMPEG: "/nonesuch/libavutil.so.57" },
    fails: {
      ...{ error: LibraryNotFoundError, api: "ffmpeg", fn: "dlopen", message: /nonesuch/ },
      ...{ hint: /SAMEPAGE_LIB_FFMPEG names it/, has: { attempts: /nonesuch/ } },
    },
  },
});
