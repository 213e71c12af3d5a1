/**
 * ONNX Runtime: models that run on memory of other APIs, in place.
 *
 * @module
 */
export { type OnnxRuntimeChoice, type OnnxRuntimeCompile, OnnxRuntimeContext } from "./context.ts";
export { OnnxRuntimeTensor } from "./memory.ts";
export { OnnxRuntimeSession } from "./session.ts";
export type { InferenceContext } from "../inference/context.ts";
export type { ElementKind, ElementNames, Elements } from "../inference/elements.ts";
export type { ModelValue, RunInputs, RunOptions, RunOutputs, Session, SessionInit } from "../inference/session.ts";
export type { InferenceTensor, ValueInfo, Values } from "../inference/tensor.ts";
