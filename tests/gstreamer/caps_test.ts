/** What caps say of frames, and of which frames they say the same. */
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { ArgumentError, type AudioInfo, type FrameInfo, imageInfo } from "@samepage/interop";
import { frameInfo } from "../../src/core/layout/frame_info.ts";
import { capsOf, haveSameCaps } from "../../src/gstreamer/caps.ts";
import { formats } from "../../src/gstreamer/formats.ts";
import { cString } from "../../src/core/native/text.ts";
import { gst, takenText, version } from "../../src/gstreamer/library.ts";
import { DmaBufs } from "../../src/gstreamer/dmabuf.ts";
import type { NativeMemory } from "../../src/gstreamer/native_memory.ts";
import { unreference } from "../../src/gstreamer/objects.ts";
import { CBuffer, memory } from "./buffers.ts";
import { missing, Open, testOpen } from "./open.ts";

const IMAGE = imageInfo({ format: "NV12", width: 64, height: 48 });
const SOUND: AudioInfo = {
  ...{ type: "audio", format: "f32", sampleRate: 8000, channels: 2, samples: 800, layout: "interleaved" },
};

/** Infos that differ in one fact each: of the moment, and of the stream. */
const INFOS: readonly FrameInfo[] = [
  IMAGE,
  imageInfo({ format: "I420", width: 64, height: 48 }),
  imageInfo({ format: "NV12", width: 32, height: 48 }),
  imageInfo({ format: "NV12", width: 64, height: 24 }),
  { ...IMAGE, colour: { matrix: "bt709", range: "limited" } },
  { ...IMAGE, colour: { matrix: "bt709", range: "full" } },
  { ...IMAGE, colour: { matrix: "bt601", range: "full" } },
  { ...IMAGE, media: {} },
  { ...IMAGE, media: { pts: 1n, timeBase: [1, 25] } },
  { ...IMAGE, media: { pts: 2n, timeBase: [1, 25], keyFrame: true, duration: 1n } },
  { ...IMAGE, media: { frameRate: [25, 1] } },
  { ...IMAGE, media: { frameRate: [25, 1], pts: 1n, timeBase: [1, 25] } },
  { ...IMAGE, media: { frameRate: [25, 2] } },
  { ...IMAGE, media: { sampleAspect: [4, 3] } },
  { ...IMAGE, media: { matrix: "bt2020nc" } },
  { ...IMAGE, media: { transfer: "smpte2084" } },
  { ...IMAGE, media: { primaries: "bt2020" } },
  { ...IMAGE, media: { chromaLocation: "topleft" } },
  SOUND,
  { ...SOUND, samples: 100 },
  { ...SOUND, format: "i16" },
  { ...SOUND, sampleRate: 16000 },
  { ...SOUND, channels: 1 },
  { ...SOUND, layout: "planar" },
];

function textOf(info: FrameInfo, native?: NativeMemory): string {
  const caps = capsOf(info, native);
  const text = takenText(gst().gst_caps_to_string(caps))!;
  unreference(caps);
  return text;
}

testOpen("haveSameCaps() is true of infos that caps say the same of, and of no others", () => {
  const [ones, others] = [INFOS.map(frameInfo), INFOS.map((info) => frameInfo(structuredClone(info)))];
  let same = 0;
  for (const one of ones) {
    for (const other of others) {
      const isSame = textOf(one) === textOf(other);
      assertEquals(haveSameCaps(one, other), isSame, `${textOf(one)} and ${textOf(other)}`);
      same += Number(isSame);
    }
  }
  assertEquals(same, INFOS.length + 4 * 3 + 2 + 2);
});

testOpen("capsOf() has the format of dma-bufs as DRM does where their rows do not follow one another", ({ gst }) => {
  const dmaBufs = new DmaBufs([]);
  assertEquals(textOf(IMAGE, dmaBufs), textOf(IMAGE));
  for (const [format, code] of [["NV12", "NV12"], ["I420", "YU12"], ["BGRA", "AR24"], ["GRAY8", "R8  "]] as const) {
    const caps = textOf(imageInfo({ format, width: 64, height: 48, modifier: 2n ** 56n + 2n }), dmaBufs);
    assertMatch(caps, /^video\/x-raw\(memory:DMABuf\), format=\(string\)DMA_DRM, /);
    const drm = /drm-format=\(string\)"?([^",]*)/.exec(caps)![1].replaceAll("\\", "");
    assertEquals(drm, `${code}:0x0100000000000002`);
    const { pictures } = gst.caps.of(caps);
    assertEquals([formats.at(pictures!.format, "format").name, pictures!.modifier], [
      formats.nameOf(format),
      2n ** 56n + 2n,
    ]);
  }
});

const isNew = missing === undefined && version()[1] >= 24;

Deno.test({
  name: `capsOf() has a DRM format as GStreamer itself reads it${isNew ? "" : " (not here: GStreamer 1.24)"}`,
  ignore: !isNew,
  fn() {
    using open = new Open();
    const { symbols: theirs } = Deno.dlopen("libgstvideo-1.0.so.0", {
      gst_video_info_dma_drm_from_caps: { parameters: ["buffer", "u64"], result: "i32" },
      gst_video_dma_drm_fourcc_from_string: { parameters: ["buffer", "buffer"], result: "u32" },
    });
    const modifier = new BigUint64Array(1);
    for (const format of ["NV12", "I420", "BGRA"] as const) {
      const info = imageInfo({ format, width: 64, height: 48, modifier: 2n ** 56n + 2n });
      const caps = capsOf(info, new DmaBufs([]));
      assertEquals(theirs.gst_video_info_dma_drm_from_caps(new Uint8Array(1024), caps), 1, textOf(info));
      const { groups } = /drm-format=\(string\)"?(?<drm>[^",]*)/.exec(takenText(gst().gst_caps_to_string(caps))!)!;
      const code = theirs.gst_video_dma_drm_fourcc_from_string(cString(groups!.drm.replaceAll("\\", "")), modifier);
      assertEquals([code, modifier[0]], [info.fourcc, info.modifier]);
      assertEquals(open.gst.caps.of(caps).pictures!.modifier, info.modifier);
      unreference(caps);
    }
  },
});

testOpen("attach() reads linear dma-bufs of caps that DRM names, and says where other layouts go", ({ gst }) => {
  using made = new CBuffer(memory(24));
  const drm = (format: string) =>
    `video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=(string)"${format}",width=4,height=4`;
  using frame = gst.attach(made.address, { caps: drm("NV12") });
  assertEquals([frame.info.format, frame.planes.length], ["NV12", 2]);
  const tiled = drm("NV12:0x0100000000000002");
  assertThrows(() => gst.attach(made.address, { caps: tiled }), ArgumentError, "the DRM modifier 0x100000000000002");
  for (const wrong of ["NV99", "NV12:2", "NV12:0x10000000000000000", ""]) {
    assertThrows(
      () => gst.attach(made.address, { caps: drm(wrong) }),
      ArgumentError,
      `no format of samepage's is DRM's ${wrong}`,
    );
  }
});
