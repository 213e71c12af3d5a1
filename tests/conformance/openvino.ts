import { LIBRARY, openOpenVINO } from "../openvino/open.ts";
import { runtimeEdges } from "./inference.ts";
import type { Candidate } from "./subject.ts";

const MISSING = LIBRARY === undefined ? "there is no OpenVINO: deno task setup inference" : undefined;

/** The edges of OpenVINO's tensors. */
export function openvinos(): Candidate[] {
  return runtimeEdges("openvino", MISSING, openOpenVINO);
}
