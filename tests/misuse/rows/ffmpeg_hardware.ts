import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  imageInfo,
  InteropError,
  LayoutError,
  ledger,
  MapperGraph,
} from "@samepage/interop";
import { dmabuf } from "@samepage/interop/dmabuf";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { VaapiContext } from "@samepage/interop/vaapi";
import { CFrame, cText, inC } from "../../ffmpeg/frames.ts";
import { behave, LIBRARY, NODE, useDriver } from "../../vaapi/driver.ts";
import { any, say } from "../kit.ts";
import { type Failure, failuresOf, type Row, table } from "../row.ts";

const NV12 = imageInfo({ format: "NV12", width: 64, height: 32 });

interface There {
  readonly va: VaapiContext;
  readonly ffmpeg: FFmpegContext;
  /** A hardware frame that FFmpeg has made on that device. */
  readonly made: CFrame;
}

/** A row on the VA-API driver of the tests. */
function row(use: (there: There) => unknown, fails?: Failure): Row {
  return {
    async run() {
      useDriver();
      behave();
      using va = VaapiContext.open({ node: NODE });
      await using ffmpeg = FFmpegContext.open({ on: va });
      const device = ffmpeg.avDevice();
      using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
      inC().unreference(device);
      try {
        await use({ va, ffmpeg, made });
      } finally {
        for (let i = 0; i < 30_000 && ledger.alive["native.flag"] !== undefined; i++) {
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      }
    },
    nodes: [LIBRARY],
    ...(fails === undefined ? {} : { fails }),
  };
}

/** A picture of two by two pixels, as a PPM file. */
const PICTURE = new Uint8Array([...new TextEncoder().encode("P6\n2 2\n255\n"), ...Array(12).fill(7)]);

const { wrong } = failuresOf("ffmpeg");

export default table(import.meta, {
  "a device that is not a context": row(
    () => FFmpegContext.open({ on: any("vaapi") }),
    wrong("on", /expected an open context, got a string/, /whose device/),
  ),
  "a device of an API that FFmpeg has no frames in": row(
    () => FFmpegContext.open({ on: host }),
    wrong("on", /no FFmpeg hardware frames on host/, /dmabuf, vaapi/),
  ),
  "a choice that is misspelt": row(
    () => FFmpegContext.open(any({ om: dmabuf })),
    { error: ArgumentError, api: "core", argument: "options", message: /unknown property om/, hint: /Use on/ },
  ),
  "a device that has ended": row(() => {
    const va = VaapiContext.open({ node: NODE });
    va[Symbol.dispose]();
    FFmpegContext.open({ on: va });
  }, { error: DisposedError, api: "core", message: /was disposed/ }),
  "the device of a context that is on none": row(() => {
    using plain = FFmpegContext.open();
    plain.avDevice();
  }, wrong("device", /is on no device/, /^Open it on one: .*open\(\{ on/)),
  "the device of a context that has ended": row(({ ffmpeg }) => {
    void ffmpeg[Symbol.asyncDispose]();
    ffmpeg.avDevice();
  }, { error: DisposedError, api: "core", message: /was disposed/ }),
  "a hardware frame on no device": row(({ made }) => {
    using plain = FFmpegContext.open();
    plain.attach(made.pointer);
  }, wrong("pointer", /vaapi: its pixels are a device's, and this context is on no device/, /a context of vaapi/)),
  "a hardware frame of another API than the device's": row(({ made }) => {
    using drm = FFmpegContext.open({ on: dmabuf });
    drm.attach(made.pointer);
  }, wrong("pointer", /its format is vaapi: .* on dmabuf/, /a context of vaapi/)),
  "a hardware frame of another frames context's display": row(({ ffmpeg }) => {
    using other = VaapiContext.open({ node: NODE });
    using theirs = FFmpegContext.open({ on: other });
    const device = theirs.avDevice();
    using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
    inC().unreference(device);
    ffmpeg.attach(made.pointer);
  }, wrong("pointer", /its frames context is on display 0x/, /VaapiContext\.attach\(\d+n\)/)),
  "a hardware frame without a frames context": row(({ ffmpeg, made }) => {
    const context = inC().swap_frames_context(made.pointer, 0n);
    try {
      ffmpeg.attach(made.pointer);
    } finally {
      inC().swap_frames_context(made.pointer, context);
    }
  }, wrong("pointer", /no frames context/, /av_hwframe_get_buffer/)),
  "pixels in memory that are called DRM's": row(() => {
    using drm = FFmpegContext.open({ on: dmabuf });
    using pixels = CFrame.picture("nv12", 64, 32);
    inC().set_format(pixels.pointer, inC().format_of(cText("drm_prime")));
    drm.attach(pixels.pointer);
  }, wrong("pointer", /AVDRMFrameDescriptor has \d+ objects, and 1 to 4 fit/)),
  "a crop that begins inside a surface": row(({ ffmpeg, made }) => {
    inC().set_crop(made.pointer, 2, 2, 0, 0);
    ffmpeg.attach(made.pointer);
  }, { ...wrong("pointer", /begins at pixel 2, 2/, /crop_left/), error: LayoutError }),
  "a write of a surface that others hold": row(({ ffmpeg, made }) => {
    using _other = made.clone();
    ffmpeg.attach(made.pointer, { access: "write", copy: "allow" });
  }, {
    ...{ error: AccessError, api: "ffmpeg", fn: "av_frame_is_writable", argument: "access" },
    ...{ message: /others refer to/, hint: /av_hwframe_transfer_data/ },
  }),
  "a surface of ours that comes back": row(async ({ va, ffmpeg }) => {
    await using surface = va.allocateFrame(NV12);
    using given = new CFrame(ffmpeg.avFrame(surface));
    ffmpeg.attach(given.pointer);
  }, wrong("pointer", /over a tensor's memory/, /that ffmpeg\.avFrame\(\) was given/)),
  "a surface of another display handed over": row(({ ffmpeg }) => {
    using other = VaapiContext.open({ node: NODE });
    using surface = other.allocateFrame(NV12);
    ffmpeg.avFrame(surface);
  }, wrong("frame", /belongs to samepage's test driver, and not to FFmpeg/, /Map it/)),
  "a surface that FFmpeg keeps, mapped for writing": {
    ...row(async ({ va, ffmpeg }) => {
      using graph = new MapperGraph([host, va]);
      await using surface = va.allocateFrame(NV12);
      const given = new CFrame(ffmpeg.avFrame(surface));
      inC().freed_later(given.pointer);
      using mapped = graph.map(surface, host, { copy: "allow" }); // it waits for that
      say(mapped.planes.length);
    }),
    says: ["2"],
  },
  "a surface for an encoder, which reads memory of the host's": {
    ...row(async ({ ffmpeg, made }) => {
      const folder = await Deno.makeTempDir();
      try {
        using frame = ffmpeg.attach(made.pointer);
        await using out = ffmpeg.encode(`${folder}/a.mkv`, { codec: "ffv1" });
        await out.write(any(frame));
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    }, wrong("frame", /belongs to .*, and not to FFmpeg/, /graph\.map\(frame, ffmpeg\)/)),
    flags: ["-A"],
  },
  "a hardware frame that is freed under its frame": {
    ...row(({ ffmpeg, made }) => {
      const clone = made.clone();
      using frame = ffmpeg.attach(clone.pointer);
      clone[Symbol.dispose]();
      say(frame.info.format, frame.access, made.references);
    }),
    says: ["NV12 read 2"],
  },
  "a decoder on the device of a context that is on none": row(() => {
    using plain = FFmpegContext.open();
    plain.decode(PICTURE, { hardware: true });
  }, wrong("hardware", /is on no device/, /^Open it on one: .*open\(\{ on/)),
  "a decoder on a device that is a context": row(
    ({ va, ffmpeg }) => ffmpeg.decode(PICTURE, { hardware: any(va) }),
    wrong("hardware", /expected true, false or "required", got a VaapiContext/, /open\(\{ on \}\)/),
  ),
  "a decoder on a device by a name": row(
    ({ ffmpeg }) => ffmpeg.decode(PICTURE, { hardware: any("vaapi") }),
    wrong("hardware", /expected true, false or "required", got "vaapi"/, /open\(\{ on \}\)/),
  ),
  "a decoder on a device, into memory of the host's": row(
    ({ ffmpeg }) => ffmpeg.decode(PICTURE, { hardware: true, into: host }),
    wrong("into", /a device decodes into memory of its own/, /Leave out into or hardware/),
  ),
  "a picture that no device decodes": {
    ...row(async ({ ffmpeg }) => {
      for await (using frame of ffmpeg.decode(PICTURE, { hardware: true })) say(frame.target === ffmpeg);
    }),
    says: ["true"],
  },
  "a picture that a device has to decode, and none does": row(async ({ ffmpeg }) => {
    await using decoder = ffmpeg.decode(PICTURE, { hardware: "required" });
    await decoder.info();
  }, {
    ...{ error: InteropError, api: "ffmpeg", fn: "avcodec_get_hw_config" },
    ...{ message: /does not decode this stream of ppm on samepage's test driver/, hint: /hardware: true/ },
  }),
  "a display that ends before what FFmpeg has of it": {
    ...row(async () => {
      const va = VaapiContext.open({ node: NODE });
      const ffmpeg = FFmpegContext.open({ on: va });
      const device = ffmpeg.avDevice();
      const made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
      const frame = ffmpeg.attach(made.pointer);
      const end = va[Symbol.asyncDispose]();
      say(frame.resource.state, made.references, va.resource.state);
      made[Symbol.dispose]();
      inC().unreference(device);
      await end;
      say(va.resource.state);
    }),
    says: ["freed 1 closing", "freed"],
  },
});
