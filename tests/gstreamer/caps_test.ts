/** What caps say of frames, and of which frames they say the same. */
import { assertEquals } from "@std/assert";
import { type AudioInfo, type FrameInfo, imageInfo } from "@samepage/interop";
import { frameInfo } from "../../src/core/layout/frame_info.ts";
import { capsOf, haveSameCaps } from "../../src/gstreamer/caps.ts";
import { gst, takenText } from "../../src/gstreamer/library.ts";
import { unreference } from "../../src/gstreamer/objects.ts";
import { testOpen } from "./open.ts";

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

function textOf(info: FrameInfo): string {
  const caps = capsOf(info);
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
