/**
 * FFmpeg: its frames (`AVFrame`), shared with other APIs in place.
 *
 * @module
 */
export { type FFmpegChoice, FFmpegContext } from "./context.ts";
export { type MediaAttach, MediaContext } from "../media/context.ts";
export { type DecodeOptions, Decoder } from "./decoder.ts";
export { type EncodedStream, type EncodeOptions, Encoder } from "./encoder.ts";
export type { FileSource } from "../core/file_source.ts";
export type { ProgressWanted } from "../core/progress.ts";
export type { MediaInfo, StreamInfo } from "./streams.ts";
export type { Ratio } from "../core/layout/ratio.ts";
export { FFmpegTensor } from "./memory.ts";
export type { BufferOptions, FrameMemory } from "../core/tensors/native_buffers.ts";
export type { MediaFacts, PictureInfo, PicturePlane } from "../core/layout/frame_info.ts";
