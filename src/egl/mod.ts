/**
 * EGL and OpenGL ES: images, buffers, streams and syncs, shared between OpenGL ES and other APIs.
 *
 * @module
 */
export { GlBuffer } from "./buffer.ts";
export { EglBuffers, EglBufferTensor } from "./buffers.ts";
export { type EglChoice, EglContext, type EglHandles } from "./context.ts";
export { type EglDevice, eglDevices, type EglPlatform } from "./display.ts";
export { type EglImageInit, EglImages } from "./images.ts";
export { EglPicture, type Origin, type Storage } from "./picture.ts";
export type { CommandOptions } from "../core/device/queue.ts";
export { EglQueue, type GlFunctions } from "./queue.ts";
export type { GlUse, Picture } from "./uses.ts";
export type { AcquireOptions } from "../gl/stream_ends.ts";
export type { EglStream, EglStreamInit, EglStreamState } from "./stream.ts";
export type { EglStreamConsumer, EglStreamFrame } from "./stream_consumer.ts";
export type { EglProducerInit, EglStreamProducer } from "./stream_producer.ts";
export { ReusableSync } from "./syncs.ts";
export { EglTensor } from "./tensor.ts";
export type { EglBase } from "./base.ts";
export type { Display } from "./display.ts";
export type { EglDriver } from "./driver.ts";
export type { GlFormat } from "./formats.ts";
export type { EglLane, Sync } from "./lane.ts";
export type { ExtensionName, GlFacts, OpenContext } from "./open_context.ts";
export type { PlaneFormat } from "../core/layout/frame_info.ts";
export type { GLES } from "../../ffi/gles/functions.ts";
export type { GLsync } from "../../ffi/gles/handles.ts";
