/**
 * npm's onnxruntime-node, as far as the bench uses it. It is not a dependency here.
 *
 * @module
 */
import { createRequire } from "node:module";
import { npmUrl, ONNX_RUNTIME_NODE } from "../../tasks/setup/npm.ts";

/** Numbers in a buffer of JavaScript's. */
export interface NodeTensor {
  readonly data: Float32Array<ArrayBuffer>;
  readonly dims: readonly number[];
}

/** A model. */
export interface NodeSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(
    feeds: Readonly<Record<string, NodeTensor>>,
    fetches?: Readonly<Record<string, NodeTensor>>,
  ): Promise<Readonly<Record<string, NodeTensor>>>;
}

/** The package. */
export interface OnnxRuntimeNode {
  readonly InferenceSession: {
    create(path: string, options: { readonly intraOpNumThreads: number }): Promise<NodeSession>;
  };
  readonly Tensor: new (type: "float32", data: Float32Array, dims: readonly number[]) => NodeTensor;
}

/** Its own library, which samepage opens as well where both are in one process. */
export const NODE_LIBRARY: string = npmUrl(
  ONNX_RUNTIME_NODE,
  "onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1",
).pathname;

/** Loads it. It is CommonJS. */
export function loadOnnxRuntimeNode(): OnnxRuntimeNode {
  return createRequire(npmUrl(ONNX_RUNTIME_NODE, "index.js"))("onnxruntime-node");
}
