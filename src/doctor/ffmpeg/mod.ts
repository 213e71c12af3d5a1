import { FFmpegContext } from "../../ffmpeg/context.ts";
import { builtDevices } from "../../ffmpeg/hardware.ts";
import { KINDS } from "../../ffmpeg/hardware_kinds.ts";
import { avutil } from "../../ffmpeg/library.ts";
import { releases, type Structs } from "../../ffmpeg/versions.ts";
import type { ApiExaminer } from "../api.ts";
import { oneDevice } from "../one_device.ts";
import type { Trait } from "../report.ts";

export const FFMPEG: ApiExaminer = oneDevice({
  api: "ffmpeg",
  variables: ["SAMEPAGE_LIB_FFMPEG", "SAMEPAGE_LIB_FFMPEG_CODEC", "SAMEPAGE_LIB_FFMPEG_FORMAT"],
  symbol: "avutil_version",
  open: () => FFmpegContext.open(),
  version: ({ name }) => name,
  traits: () => [
    { label: "frames", text: "in the host's memory, in place" },
    ...hardwareTraits(builtDevices(), avutil().structs),
  ],
});

/** Which hardware frames an FFmpeg has, which of them samepage knows in its version, and what is closed. */
export function hardwareTraits(built: ReadonlyMap<number, string>, structs: Structs): readonly Trait[] {
  const kinds = Object.entries(KINDS).map(([api, kind]) => ({ api, ...kind, name: built.get(kind.device) }));
  const there = kinds.filter(({ name }) => name !== undefined);
  const open = there.filter(({ struct }) => structs[struct] !== undefined).map(({ api, name }) =>
    `${name} (on ${api})`
  );
  const missing = kinds.filter(({ name }) => name === undefined).map(({ api }) => api);
  const others = [...built].filter(([type]) => !kinds.some(({ device }) => device === type)).map(([, name]) => name);
  const closed = [
    ...others.length === 0 ? [] : [`${others.join(", ")}: samepage knows no frames of these`],
    ...there.filter(({ struct }) => structs[struct] === undefined).map(({ name, struct }) => {
      return `${name}: samepage knows these frames in FFmpeg ${releases((structs) => structs[struct] !== undefined)}`;
    }),
  ];
  return [
    { label: "hardware frames", text: open.length === 0 ? "none" : open.join(", ") },
    ...missing.length === 0 ? [] : [{ label: "not built", text: missing.join(", ") }],
    ...closed.length === 0 ? [] : [{ label: "closed", text: closed.join("; ") }],
  ];
}
