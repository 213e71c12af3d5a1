/**
 * Pipelines: sources, transforms and sinks that hand frames on, in the memory that costs the least to reach.
 *
 * @module
 */
export { StageError } from "./errors.ts";
export { Figures, type StageFigures } from "./figures.ts";
export { type Origin, type Piece, Pipeline, pipeline, type PipelineOptions, Source } from "./pipeline.ts";
export { type Given, type HandOver, Plan } from "./plan.ts";
export {
  Flow,
  type FlowInit,
  type OwnFrames,
  type Run,
  Sink,
  type SinkInit,
  type Size,
  type SourceInit,
  type StageInit,
  type Takes,
  Transform,
  type TransformInit,
} from "./stage.ts";
export {
  decode,
  type DecodeStageOptions,
  encode,
  images,
  writeImages,
  type WriteImagesOptions,
} from "./stages/ffmpeg.ts";
export { appSink, appSource } from "./stages/gstreamer.ts";
export { infer, type InferOptions } from "./stages/infer.ts";
export { kernel, type KernelOptions } from "./stages/kernel.ts";
export { operation, type OperationOptions } from "./stages/operation.ts";
export { convert, type ConvertedFormat, type ConvertOptions } from "./stages/convert.ts";
export { join, type JoinOptions, latest, pace, rate } from "./stages/flows.ts";
export { jsonLines } from "./stages/lines.ts";
export { copy, crop, type Part } from "./stages/pixels.ts";
export { fromRing, type FromRingOptions, type Rings, toRing, type ToRingOptions } from "./stages/ring.ts";
export { tee } from "./stages/tee.ts";
export { svgOf } from "./picture.ts";
export { viewer, type ViewerOptions } from "./stages/viewer.ts";
