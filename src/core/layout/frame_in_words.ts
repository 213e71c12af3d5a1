import type { FrameInfo } from "./frame_info.ts";

/** What was described last: the frames of a stream share their description, and each of them has a name. */
let described: FrameInfo | undefined;
let description = "";

/** `NV12 1920 × 1080`, `f32 2 channels of 48000 samples`, or `arrow 3 columns of 100 rows`: how messages name a frame. */
export function frameInWords(info: FrameInfo): string {
  if (info === described) return description;
  const words = `${info.format} ${sizeInWords(info)}`;
  if (!Object.isFrozen(info)) return words;
  described = info;
  return description = words;
}

function sizeInWords(info: FrameInfo): string {
  if (info.type === "table") return `${info.columns.length} columns of ${info.rows} rows`;
  if (info.type === "audio") return `${info.channels} channels of ${info.samples} samples`;
  return `${info.width} × ${info.height}`;
}
