import { ArgumentError, DisposedError, Frame, imageInfo, LayoutError, ledger } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { VulkanContext, type VulkanImage } from "@samepage/interop/vulkan";
import { CFrame, inC } from "../../ffmpeg/frames.ts";
import { say } from "../kit.ts";
import { type Failure, failuresOf, type Row, table } from "../row.ts";

const GRAY8 = imageInfo({ format: "GRAY8", width: 64, height: 32 });

interface There {
  readonly vulkan: VulkanContext;
  readonly ffmpeg: FFmpegContext;
  /** A frame of Vulkan's that FFmpeg has made on that device. */
  readonly made: CFrame;
}

/** A row on the first device of Vulkan's. */
function row(use: (there: There) => unknown, fails?: Failure): Row {
  return {
    async run() {
      using vulkan = VulkanContext.open();
      await using ffmpeg = FFmpegContext.open({ on: vulkan });
      const device = ffmpeg.avDevice();
      using made = CFrame.hardware(device, "vulkan", "gray", 64, 32);
      inC().unreference(device);
      try {
        await use({ vulkan, ffmpeg, made });
      } finally {
        for (let i = 0; i < 30_000 && ledger.alive["native.flag"] !== undefined; i++) {
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      }
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

const { wrong } = failuresOf("ffmpeg");

export default table(import.meta, {
  "a frame of FFmpeg's on another VkDevice": row(({ made }) => {
    using other = VulkanContext.open();
    using ffmpeg = FFmpegContext.open({ on: other });
    ffmpeg.attach(made.pointer);
  }, wrong("pointer", /its frames context is on act_dev 0x/, /VulkanContext\.attach\(\{ device: \d+n/)),
  "an AVFrame without an AVVkFrame": row(({ ffmpeg, made }) => {
    const frame = inC().plane_of(made.pointer, 0);
    inC().misplace(made.pointer, 0, 0n);
    try {
      ffmpeg.attach(made.pointer);
    } finally {
      inC().misplace(made.pointer, 0, frame);
    }
  }, wrong("pointer", /has no AVVkFrame: data\[0\] is null/)),
  "a crop that begins inside an image": row(({ ffmpeg, made }) => {
    inC().set_crop(made.pointer, 2, 2, 0, 0);
    ffmpeg.attach(made.pointer);
  }, { ...wrong("pointer", /begins at pixel 2, 2/, /crop_left/), error: LayoutError }),
  "an image that comes back": row(async ({ vulkan, ffmpeg }) => {
    await using picture = Frame.of([vulkan.image("R8_UNORM").allocate({ shape: [32, 64] })], GRAY8);
    using given = new CFrame(ffmpeg.avFrame(picture));
    ffmpeg.attach(given.pointer);
  }, wrong("pointer", /over a tensor's memory/, /that ffmpeg\.avFrame\(\) was given/)),
  "a buffer handed over": row(({ vulkan, ffmpeg }) => {
    using buffer = Frame.of([vulkan.allocate({ shape: [32, 64], dtype: "u8" })], GRAY8);
    ffmpeg.avFrame(buffer);
  }, {
    ...{ error: ArgumentError, api: "vulkan", argument: "frame", message: /images of R8_UNORM, got vulkan/ },
    hint: /vulkan\.image\("R8_UNORM"\)/,
  }),
  "an image of FFmpeg's after its frame has ended": row(({ vulkan, ffmpeg, made }) => {
    const frame = ffmpeg.attach(made.pointer) as Frame<VulkanImage>;
    frame[Symbol.dispose]();
    vulkan.queue.write(frame.planes[0], new Uint8Array(64 * 32));
  }, { error: DisposedError, api: "core", argument: "to", message: /was disposed/ }),
  "a frame of FFmpeg's that is freed under ours": row(({ vulkan, ffmpeg, made }) => {
    const theirs = inC().beside(made.pointer);
    using frame = ffmpeg.attach(theirs) as Frame<VulkanImage>;
    inC().freed(theirs); // ours has a reference
    vulkan.queue.write(frame.planes[0], new Uint8Array(64 * 32));
  }),
  "a context of FFmpeg's that ends before the work on its frame": {
    ...row(({ vulkan, ffmpeg, made }) => {
      const frame = ffmpeg.attach(made.pointer) as Frame<VulkanImage>;
      vulkan.queue.write(frame.planes[0], new Uint8Array(64 * 32));
      void ffmpeg[Symbol.asyncDispose]();
      say(frame.resource.state, made.references);
    }),
    says: ["freed 1"],
  },
});
