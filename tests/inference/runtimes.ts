// Both runtimes, as the tests of what they have in common open them.

import { type DType, type HostTensor, ledger, MapperGraph } from "@samepage/interop";
import type { FileSource } from "../../src/core/file_source.ts";
import { host } from "../../src/host/mod.ts";
import type { InferenceContext } from "../../src/inference/context.ts";
import type { Session } from "../../src/inference/session.ts";
import { OnnxRuntimeContext } from "../../src/onnxruntime/mod.ts";
import { OpenVINOContext } from "../../src/openvino/mod.ts";
import { assertAlive } from "../alive.ts";
import { LIBRARY as ONNX_RUNTIME } from "../onnxruntime/open.ts";
import { LIBRARY as OPENVINO } from "../openvino/open.ts";

/** One runtime. */
export interface Runtime {
  readonly api: "openvino" | "onnxruntime";
  /** What a run is called in errors, on this thread and on another. */
  readonly run: { readonly here: string; readonly elsewhere: string; readonly codeName: string };
  /** The elements that it uses in place. */
  readonly inPlace: readonly (DType | "bool")[];
  /** The path of its library; undefined where it was not set up. */
  readonly library: string | undefined;
  open(): InferenceContext;
  /** A session whose runs may be asynchronous. */
  compile(context: InferenceContext, model: FileSource): Session;
}

export const RUNTIMES: readonly Runtime[] = [
  {
    ...{ api: "openvino", library: OPENVINO, inPlace: ["f32", "f16", "u8", "i8", "i32", "bool"] },
    run: { here: "ov_infer_request_infer", elsewhere: "ov_infer_request_wait", codeName: "GENERAL_ERROR" },
    // As it computes with bf16 where the processor does, a product would be another one.
    open: () => OpenVINOContext.open({ library: OPENVINO!, properties: { INFERENCE_PRECISION_HINT: "f32" } }),
    compile: (context, model) => context.compileSync(model),
  },
  {
    ...{ api: "onnxruntime", library: ONNX_RUNTIME },
    inPlace: ["f32", "f16", "f64", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "bool"],
    run: { here: "Run", elsewhere: "Run", codeName: "ORT_FAIL" },
    open: () => OnnxRuntimeContext.open({ library: ONNX_RUNTIME! }),
    compile: (context, model) => context.compileSync(model, { threads: 2 }),
  },
];

/** What a test has. */
export interface There {
  readonly runtime: Runtime;
  readonly context: InferenceContext;
  readonly graph: MapperGraph;
  /** A session of the test's model. */
  readonly session: Session;
}

/** A test of each runtime with a session of one model, after which no native object is left. It may be skipped. */
export function forEachRuntime(
  name: string,
  model: Uint8Array<ArrayBuffer>,
  use: (there: There) => unknown,
  lacks?: string,
): void {
  for (const runtime of RUNTIMES) {
    const reason = runtime.library === undefined ? "deno task setup inference" : lacks;
    Deno.test({
      name: `${runtime.api}: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
      ignore: reason !== undefined,
      async fn() {
        const before = ledger.alive;
        {
          using context = runtime.open();
          using graph = new MapperGraph([host, context]);
          using session = runtime.compile(context, model);
          await use({ runtime, context, graph, session });
        }
        await assertAlive(before, "what the test has left");
      },
    });
  }
}

/** A number of the process's memory, without samepage: so that no wait of a tensor's hides that something is in flight. */
export function rawNumber({ address }: HostTensor, i: number): number {
  const memory = Deno.UnsafePointer.create(address + BigInt(4 * i))!;
  return new Deno.UnsafePointerView(memory).getFloat32();
}
