/**
 * FFmpeg: its frames (`AVFrame`), shared with other APIs in place.
 *
 * @module
 */
export { type FFmpegAttach, type FFmpegChoice, FFmpegContext } from "./context.ts";
export { FFmpegTensor } from "./memory.ts";
export type { MediaFacts, PictureInfo, PicturePlane } from "../core/layout/frame_info.ts";
