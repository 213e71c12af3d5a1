import { LIBRARY, openOnnxRuntime } from "../onnxruntime/open.ts";
import { runtimeEdges } from "./inference.ts";
import type { Candidate } from "./subject.ts";

const MISSING = LIBRARY === undefined ? "there is no ONNX Runtime: deno task setup inference" : undefined;

/** The edges of OrtValues. */
export function onnxRuntimes(): Candidate[] {
  return runtimeEdges("ortvalue", MISSING, openOnnxRuntime);
}
