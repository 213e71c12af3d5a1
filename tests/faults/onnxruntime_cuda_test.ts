/** Every native call of a session on a GPU fails once: the library and the GPU are of the tests. */
import { assert } from "@std/assert";
import { CudaContext } from "../../src/cuda/mod.ts";
import { OnnxRuntimeContext } from "../../src/onnxruntime/mod.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { unary } from "../inference/onnx.ts";
import { FAKES, freeAll, simulated } from "../onnxruntime/cuda.ts";
import { LIBRARY } from "../onnxruntime/open.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

const test = recordedTests(FAKES);

const lacks = LIBRARY === undefined ? "deno task setup inference" : undefined;

test(
  "faults: onnxruntime: opening it on a GPU, and compiling there",
  async () => {
    installTap(); // the recording's functions are there already: ONNX Runtime's alone are made to fail
    const faults = await (async () => {
      using cuda = CudaContext.open();
      return await sweep(() => {
        using ort = OnnxRuntimeContext.open({ library: simulated(), on: cuda });
        ort.compileSync(unary("Sigmoid", "f32", [64]))[Symbol.dispose]();
      });
    })();
    freeAll();
    for (
      const fn of [
        "CreateCUDAProviderOptions",
        "UpdateCUDAProviderOptions",
        "SessionOptionsAppendExecutionProvider_CUDA_V2",
      ]
    ) {
      assert(faults.some(({ call }) => call === `onnxruntime_api.${fn}`), fn);
    }
  },
  {},
  lacks,
);
