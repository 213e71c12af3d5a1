/**
 * Pipelines: sources, transforms and sinks that hand frames on, in the memory that costs the least to reach.
 *
 * @example A clip from a shell
 * ```sh
 * deno run -A jsr:@samepage/interop/pipeline run clip.mp4 --filter=edges.cl --detect=model.onnx --out=out.mp4
 * ```
 *
 * @module
 */
import { main } from "./command.ts";

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
  Stage,
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
export { fromGStreamer, toGStreamer } from "./stages/gstreamer.ts";
export { infer, type InferOptions } from "./stages/infer.ts";
export { type PictureInput, pictureInput, type PictureInputOptions } from "./stages/picture_input.ts";
export { kernel, type KernelOf, type KernelOptions } from "./stages/kernel.ts";
export { outline } from "./stages/outline.ts";
export { operation, type OperationOptions } from "./stages/operation.ts";
export { convert, type ConvertOptions } from "./stages/convert.ts";
export type { ConvertedFormat } from "./stages/resample.ts";
export { join, type JoinOptions, latest, pace, rate } from "./stages/flows.ts";
export { jsonLines } from "./stages/lines.ts";
export { copy, crop, type Part } from "./stages/pixels.ts";
export { fromRing, type FromRingOptions, type Rings, toRing, type ToRingOptions } from "./stages/ring.ts";
export { tee } from "./stages/tee.ts";
export { svgOf } from "./picture.ts";
export { viewer, type ViewerOptions } from "./stages/viewer.ts";

if (import.meta.main) Deno.exitCode = await main(Deno.args);
