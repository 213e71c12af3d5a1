import { fromFileUrl } from "@std/path";
import type { ClassEntry, Library } from "../library.ts";
import { avcodec59 } from "./avcodec59.ts";
import { avformat59 } from "./avformat59.ts";
import { avhwcontext57 } from "./avhwcontext57.ts";
import { avutil57 } from "./avutil57.ts";

/** Where later releases of FFmpeg have what 5.1 has elsewhere. */
const MOVED: Readonly<Record<string, string>> = { key_flags: "flags", duration: "duration" };

/** What FFmpeg 9 no longer has. */
const GONE = ["ThreadSafety", "SupportedFormats"];

/** The later releases, by the major versions of libavutil, and of libavcodec and libavformat. */
const LATER = [[59, 61], [60, 62], [61, 63]] as const;

/** The structs and constants of later releases, under the names that 5.1's have. The functions are 5.1's. */
export const LATER_FFMPEG: readonly Library[] = LATER.flatMap(([util, coding]) => {
  const about = {
    folders: [fromFileUrl(new URL(`../../../.ffmpeg/${util}/include`, import.meta.url))],
    mayLack: util > 59, // no suite of Debian keeps them for good
    functions: [],
  };
  const { errors: _, ...avutil } = avutil57;
  return [
    {
      ...{ ...avutil, ...about, name: `avutil${util}`, structs: avutil.structs.map(moved) },
      constants: [...avutil.constants, { type: "int", names: ["AV_FRAME_FLAG_KEY"] }],
    },
    { ...avhwcontext57, ...about, name: `avhwcontext${util}` },
    { ...avcodec59, ...about, name: `avcodec${coding}`, structs: avcodec59.structs.filter(isKept) },
    { ...avformat59, ...about, name: `avformat${coding}` },
  ];
});

function isKept(struct: string | ClassEntry): boolean {
  return typeof struct === "string" || !GONE.includes(struct.as ?? "");
}

function moved(struct: string | ClassEntry): string | ClassEntry {
  if (typeof struct === "string" || struct.type !== "AVFrame") return struct;
  const fields = struct.fields.map((field) => typeof field === "string" ? [field, field] as const : field);
  return { ...struct, fields: fields.map(([name, at]) => [name, MOVED[name] ?? at]) };
}
