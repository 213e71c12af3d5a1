/** Every native call of FFmpeg's hardware frames fails once, on the tests' VA-API driver: it is typed, and nothing stays. */
import { assertEquals } from "@std/assert";
import { type Frame, ledger } from "../../mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import { VaapiContext, type VaapiTensor } from "../../src/vaapi/mod.ts";
import { until } from "../conformance/bytes.ts";
import { PROBES } from "../conformance/opencv_variants.ts";
import { clip, missing as noClips } from "../ffmpeg/clips.ts";
import { buildFrames, CFrame, inC } from "../ffmpeg/frames.ts";
import { behave, buildDriver, NODE, useDriver } from "../vaapi/driver.ts";
import { picture } from "../vaapi/pixels.ts";
import { sweep } from "./sweep.ts";
import { countDevices, devices } from "./ffmpeg_devices.ts";

countDevices();
const missing = await buildDriver() ?? await buildFrames();
if (missing === undefined) useDriver();

interface There {
  readonly va: VaapiContext;
  readonly ffmpeg: FFmpegContext;
  readonly surface: Frame<VaapiTensor>;
  readonly made: CFrame;
}

const seen = new Set<string>();

/** What a driver need not do: something else is done then. */
const SILENT = [...PROBES, "vaapi.vaExportSurfaceHandle", "libc.fcntl"];

function test(name: string, operation: (there: There) => unknown, lacks = missing): void {
  Deno.test({
    name: `faults: ffmpeg: ${name}${lacks === undefined ? "" : ` (skipped: needs ${lacks})`}`,
    ignore: lacks !== undefined,
    async fn() {
      behave();
      using va = VaapiContext.open({ node: NODE });
      using ffmpeg = FFmpegContext.open({ on: va });
      await using surface = va.allocateFrame(picture("NV12"));
      const device = ffmpeg.avDevice();
      using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
      inC().unreference(device);
      const there = { va, ffmpeg, surface, made };
      await operation(there);
      const { size } = devices;
      const check = () => assertEquals([made.references, devices.size], [1, size], "references, and devices");
      for (const { call } of await sweep(() => operation(there), check, SILENT)) seen.add(call);
    },
  });
}

test("opening a device", ({ va }) => FFmpegContext.open({ on: va })[Symbol.dispose]());

test("a reference to the device", ({ ffmpeg }) => inC().unreference(ffmpeg.avDevice()));

test("attaching a hardware frame", ({ ffmpeg, made }) => ffmpeg.attach(made.pointer)[Symbol.dispose]());

test("handing over a surface, with its first frames context", async ({ va, surface }) => {
  using ffmpeg = FFmpegContext.open({ on: va });
  try {
    inC().freed(ffmpeg.avFrame(surface));
    await surface.finished();
  } finally {
    await until(() => ledger.alive["native.flag"] === undefined);
  }
});

test("decoding on the device", async ({ ffmpeg }) => {
  for await (using _ of ffmpeg.decode(await clip("small.mp4"), { hardware: true })) { /* each is decoded */ }
}, missing ?? noClips);

Deno.test({
  name: `faults: ffmpeg: every function of hardware frames that can fail was made to${
    missing === undefined ? "" : " (skipped)"
  }`,
  ignore: missing !== undefined,
  fn() {
    const calls = [...seen].filter((call) => call.startsWith("ffmpeg.")).map((call) => call.slice("ffmpeg.".length));
    assertEquals(calls.sort(), [
      ...["av_buffer_create", "av_buffer_ref", "av_frame_alloc", "av_frame_ref", "av_hwdevice_ctx_alloc"],
      ...["av_hwdevice_ctx_init", "av_hwframe_ctx_alloc", "av_hwframe_ctx_init"],
    ]);
  },
});
