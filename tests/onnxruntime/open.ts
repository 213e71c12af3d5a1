import type { OnnxRuntimeContext as Context } from "../../src/onnxruntime/mod.ts";
import { OnnxRuntimeContext } from "../../src/onnxruntime/mod.ts";
import { ONNX_RUNTIME } from "../../tasks/setup/wheels.ts";
import { ifThere } from "../inference/there.ts";

/** The wheels, where `deno task setup` has unpacked them. */
const FOLDER = ONNX_RUNTIME.folder;

/** The text detector of rapidocr. */
export const DETECTOR = `${FOLDER}/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx`;

/** ONNX Runtime; undefined where it was not set up. */
export const LIBRARY = ifThere(`${FOLDER}/onnxruntime/capi/libonnxruntime.so.${ONNX_RUNTIME.wheels[0].version}`);

/** Opens it. */
export function openOnnxRuntime(): Context {
  return OnnxRuntimeContext.open({ library: LIBRARY! });
}

/** A test that is skipped, and says so, where there is no ONNX Runtime. */
export function test(name: string, fn: () => unknown): void {
  const ignore = LIBRARY === undefined;
  Deno.test({
    name: `onnxruntime: ${name}${ignore ? " (skipped: deno task setup inference)" : ""}`,
    ignore,
    async fn() {
      await fn();
    },
  });
}
