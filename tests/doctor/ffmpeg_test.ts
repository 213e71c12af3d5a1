// What the doctor says of FFmpeg: which one it is, or why none is used.

import { assert, assertEquals, assertMatch } from "@std/assert";
import * as hw from "../../ffi/avhwcontext57/constants.ts";
import { hardwareTraits } from "../../src/doctor/ffmpeg/mod.ts";
import { VERSIONS } from "../../src/ffmpeg/versions.ts";
import { buildFrames, NEWER } from "../ffmpeg/frames.ts";
import { reported } from "./run.ts";

const missing = await buildFrames();
const QUICK = ["--no-proof"];
const FLAGS = ["--allow-ffi", "--allow-env"];

async function ffmpegIn(library?: string) {
  const env = library === undefined ? {} : { SAMEPAGE_LIB_FFMPEG: library };
  const { apis, targets, edges } = await reported(QUICK, { env, flags: FLAGS });
  const about = apis.find(({ api }) => api === "ffmpeg")!;
  return { ...about, targets: targets.filter(({ api }) => api === "ffmpeg"), edges };
}

Deno.test({
  name: `doctor: FFmpeg's version, and its edges to the host${missing ? ` (not here: ${missing})` : ""}`,
  ignore: missing !== undefined,
  async fn() {
    const { library, findings, devices, targets, edges } = await ffmpegIn();
    assertMatch(library.version!, /^FFmpeg 5\.1/);
    assert(library.opened!.includes("libavutil.so.57"));
    assertEquals([findings, devices.map(({ name }) => name), targets.length], [[], [library.version!], 1]);
    const trait = (label: string) => devices[0].traits.find((one) => one.label === label)?.text ?? "";
    assertMatch(trait("hardware frames"), /drm \(on dmabuf\), vaapi \(on vaapi\)/);
    assertMatch(trait("closed"), /vdpau.*: samepage knows no frames of these/);
    for (const edge of ["avframe→host", "host→avframe"]) {
      assertEquals(edges.filter((one) => one.edge === edge).map(({ open }) => open), [true], edge);
    }
  },
});

Deno.test("doctor: FFmpeg's frames of Vulkan are closed in the releases whose are not known", () => {
  const built = new Map([[hw.AV_HWDEVICE_TYPE_VAAPI, "vaapi"], [hw.AV_HWDEVICE_TYPE_VULKAN, "vulkan"]]);
  const said = (major: number) =>
    Object.fromEntries(hardwareTraits(built, VERSIONS.get(major)!).map(({ label, text }) => [label, text]));
  assertEquals(said(57)["hardware frames"], "vaapi (on vaapi), vulkan (on vulkan)");
  assertEquals([said(59)["hardware frames"], said(59).closed], [
    "vaapi (on vaapi)",
    "vulkan: samepage knows these frames in FFmpeg 5.1",
  ]);
});

Deno.test("doctor: without FFmpeg all else is there", async () => {
  const { library, findings, devices, targets, edges } = await ffmpegIn("/nonexistent/libavutil.so.57");
  assertEquals([library.opened, devices, targets], [undefined, [], []]);
  assertEquals(library.attempts.map(({ path }) => path), ["/nonexistent/libavutil.so.57"]);
  assertMatch(findings[0].remedy ?? "", /SAMEPAGE_LIB_FFMPEG/);
  assert(edges.some(({ open }) => open) || edges.length === 0);
});

Deno.test({
  name: `doctor: FFmpeg of another version is not used, and why${missing ? ` (not here: ${missing})` : ""}`,
  ignore: missing !== undefined,
  async fn() {
    const { library, findings, devices, targets } = await ffmpegIn(NEWER);
    assertEquals([library.opened, devices, targets], [NEWER, [], []]);
    assertMatch(findings[0].what, /libavutil has version 99/);
    assertMatch(findings[0].remedy ?? "", /apt install libavutil57 or libavutil59/);
  },
});
