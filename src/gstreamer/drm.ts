/**
 * How caps of dma-bufs have a format by DRM's code and modifier, since GStreamer 1.24: `NV12:0x0100000000000002`.
 *
 * @module
 */
import { fourccOf, fourccText, imageFormatOf, type ImageInfo } from "../core/layout/frame_info.ts";
import { formats } from "./formats.ts";
import { checks } from "./library.ts";

/** In the text of caps. */
const FORMAT = /(?<!drm-)format=\(string\)\w+/;

const DRM_FORMAT = /^([^:]{1,4})(?::(0x[0-9a-f]{1,16}))?$/i;

/** The caps of a picture that elements of the CPU's cannot read, by those of one in the CPU's memory. */
export function inDrm(caps: string, { fourcc, modifier }: ImageInfo): string {
  const drm = `${fourccText(fourcc).padEnd(4)}:0x${modifier.toString(16).padStart(16, "0")}`;
  return caps.replace("video/x-raw", "video/x-raw(memory:DMABuf)")
    .replace(FORMAT, `format=(string)DMA_DRM, drm-format=(string)"${drm}"`);
}

/** The caps by GStreamer's own format, and the modifier. @throws {ArgumentError} for a code that samepage has no name for. */
export function outOfDrm(caps: string, drm: string): { readonly caps: string; readonly modifier: bigint } {
  const [, code, modifier = "0"] = DRM_FORMAT.exec(drm) ?? [];
  const format = imageFormatOf(fourccOf((code ?? "").padEnd(4)));
  const name = format === undefined ? undefined : formats.nameOf(format);
  if (name !== undefined) return { caps: caps.replace(FORMAT, `format=(string)${name}`), modifier: BigInt(modifier) };
  throw checks.wrong("caps", `no samepage format is DRM's ${drm}.`, "Put vapostproc in front.");
}
