/**
 * GStreamer: its buffers (`GstBuffer`), shared with other APIs in place.
 *
 * @module
 */
export { type GStreamerAttach, type GStreamerChoice, GStreamerContext } from "./context.ts";
export { type MediaAttach, MediaContext } from "../media/context.ts";
export { GStreamerTensor } from "./memory.ts";
export { type LaunchOptions, Pipeline, type SeekOptions } from "./pipeline.ts";
export { PipelineError } from "./bus.ts";
export { PipelineSink, type SinkOptions } from "./sink.ts";
export type { SourceOptions } from "./source.ts";
export type { BufferOptions, FrameMemory } from "../core/tensors/native_buffers.ts";
