/**
 * OpenVINO: models that run on memory of other APIs, in place.
 *
 * @module
 */
export { type OpenVINOChoice, type OpenVINOCompile, OpenVINOContext } from "./context.ts";
export { OpenVINOTensor } from "./memory.ts";
export type { Preprocess } from "./preprocess.ts";
export { OpenVINOSession } from "./session.ts";
export type { ModelValue, RunInputs, RunOptions, RunOutputs } from "../inference/session.ts";
