/** Every native call of FFmpeg's Vulkan frames fails once, on lavapipe: it is typed, and nothing stays. */
import { assertEquals } from "@std/assert";
import { Frame, imageInfo, ledger } from "../../mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import { VulkanContext, type VulkanImage } from "../../src/vulkan/mod.ts";
import { until } from "../conformance/bytes.ts";
import { PROBES } from "../conformance/opencv_variants.ts";
import { CFrame, inC } from "../ffmpeg/frames.ts";
import { withoutVulkan } from "../ffmpeg/open.ts";
import { sweep } from "./sweep.ts";
import { countDevices, devices } from "./ffmpeg_devices.ts";

countDevices();
const missing = withoutVulkan();

const NV12 = imageInfo({ format: "NV12", width: 64, height: 32 });

interface There {
  readonly vulkan: VulkanContext;
  readonly ffmpeg: FFmpegContext;
  readonly made: CFrame;
}

const seen = new Set<string>();

function test(name: string, operation: (there: There) => unknown): void {
  Deno.test({
    name: `faults: ffmpeg: vulkan: ${name}${missing === undefined ? "" : ` (skipped: needs ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      using vulkan = VulkanContext.open();
      using ffmpeg = FFmpegContext.open({ on: vulkan });
      const device = ffmpeg.avDevice();
      using made = CFrame.hardware(device, "vulkan", "nv12", 64, 32);
      inC().unreference(device);
      const there = { vulkan, ffmpeg, made };
      await operation(there);
      const { size } = devices;
      const check = () => assertEquals([made.references, devices.size], [1, size], "references, and devices");
      for (const { call } of await sweep(() => operation(there), check, PROBES)) seen.add(call);
    },
  });
}

test("opening a device", ({ vulkan }) => FFmpegContext.open({ on: vulkan })[Symbol.dispose]());

test("attaching a frame", ({ ffmpeg, made }) => ffmpeg.attach(made.pointer)[Symbol.dispose]());

test("handing over images", async ({ vulkan, ffmpeg }) => {
  try {
    using luma = vulkan.image("R8_UNORM").allocate({ shape: [32, 64] });
    using chroma = vulkan.image("R8G8_UNORM").allocate({ shape: [16, 32, 2] });
    await using picture = Frame.of<VulkanImage>([luma, chroma], NV12);
    inC().freed(ffmpeg.avFrame(picture));
  } finally {
    await until(() => ledger.alive["native.flag"] === undefined);
  }
});

Deno.test({
  name: `faults: ffmpeg: vulkan: every function that can fail was made to${missing === undefined ? "" : " (skipped)"}`,
  ignore: missing !== undefined,
  fn() {
    const calls = [...seen].filter((call) => call.startsWith("ffmpeg.")).map((call) => call.slice("ffmpeg.".length));
    assertEquals(calls.sort(), [
      ...["av_buffer_create", "av_buffer_ref", "av_frame_alloc", "av_frame_ref", "av_hwdevice_ctx_alloc"],
      ...["av_hwdevice_ctx_init", "av_vk_frame_alloc"],
    ]);
  },
});
