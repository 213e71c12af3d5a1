/**
 * GStreamer: its buffers (`GstBuffer`), shared with other APIs in place.
 *
 * @module
 */
export { type GStreamerAttach, type GStreamerChoice, GStreamerContext } from "./context.ts";
export { GStreamerTensor } from "./memory.ts";
