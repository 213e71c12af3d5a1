import { FFmpegContext } from "../../ffmpeg/context.ts";
import { builtDevices } from "../../ffmpeg/hardware.ts";
import { KINDS } from "../../ffmpeg/hardware_kinds.ts";
import type { ApiExaminer } from "../api.ts";
import { oneDevice } from "../one_device.ts";
import type { Trait } from "../report.ts";

export const FFMPEG: ApiExaminer = oneDevice({
  api: "ffmpeg",
  variables: ["SAMEPAGE_LIB_FFMPEG", "SAMEPAGE_LIB_FFMPEG_CODEC", "SAMEPAGE_LIB_FFMPEG_FORMAT"],
  symbol: "avutil_version",
  open: () => FFmpegContext.open(),
  version: ({ name }) => name,
  traits: () => [{ label: "frames", text: "in the host's memory, in place" }, ...hardwareTraits()],
});

/** Which hardware frames this FFmpeg has, which of them samepage knows, and what is closed. */
function hardwareTraits(): readonly Trait[] {
  const built = builtDevices();
  const known = Object.entries(KINDS).map(([api, { device }]) => [api, built.get(device)] as const);
  const open = known.filter(([, name]) => name !== undefined).map(([api, name]) => `${name} (on ${api})`);
  const missing = known.filter(([, name]) => name === undefined).map(([api]) => api);
  const others = [...built].filter(([type]) => !Object.values(KINDS).some(({ device }) => device === type));
  return [
    { label: "hardware frames", text: open.length === 0 ? "none" : open.join(", ") },
    ...missing.length === 0 ? [] : [{ label: "not built", text: missing.join(", ") }],
    ...others.length === 0
      ? []
      : [{ label: "closed", text: `${others.map(([, name]) => name).join(", ")}: samepage knows no frames of these` }],
  ];
}
