import { DisposedError, host, InteropError, NativeCallError } from "@samepage/interop";
import { type InferenceContext, OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
import { onnxModel } from "../../inference/onnx.ts";
import { LIBRARY } from "../../onnxruntime/open.ts";
import { runtimeRows, SIGMOID } from "../inference.ts";
import { any } from "../kit.ts";
import { type Failure, failuresOf, type Row, table } from "../row.ts";

const { wrong } = failuresOf("onnxruntime");

const open = (library: string = LIBRARY!) => OnnxRuntimeContext.open({ library });

function row(use: (ort: OnnxRuntimeContext) => unknown, fails?: Failure): Row {
  return {
    async run() {
      using ort = open();
      await use(ort);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

const GONE = { error: DisposedError, api: "core" } as const;

export default table(import.meta, {
  ...runtimeRows({
    ...{ api: "onnxruntime", kind: "ortvalue", typeFn: "GetTensorElementType", library: LIBRARY, open },
    find: () => OnnxRuntimeContext.open(),
    compile: (context: InferenceContext, model) => context.compileSync(model, { threads: 2 }),
  }),
  "an option that there is not": row(
    () => void OnnxRuntimeContext.open(any({ device: "CPU" })),
    { ...wrong("options", /unknown property device/, /library/), api: "core" },
  ),
  "providers of a context that was disposed": row((ort) => {
    if (ort.providers.length === 0) throw new Error("no provider");
    ort[Symbol.dispose]();
    if (ort.providers.length === 0) throw new Error("no provider");
  }, { ...GONE, message: /onnxruntime context/ }),
  "a model that is none": row((ort) => void ort.compileSync(new Uint8Array(64)), {
    ...{ error: NativeCallError, api: "onnxruntime", fn: "CreateSessionFromArray", message: /./ },
    ...{ code: 7, codeName: "ORT_INVALID_PROTOBUF", hint: /Is it an ONNX model/ },
  }),
  "a model of a sequence": row((ort) => {
    const value = { type: "f32", shape: [2], other: "sequence" } as const;
    ort.compileSync(onnxModel({
      inputs: [{ ...value, name: "x" }],
      outputs: [{ ...value, name: "y" }],
      nodes: [{ op: "Identity", inputs: ["x"], outputs: ["y"] }],
    }));
  }, {
    ...{ error: InteropError, api: "onnxruntime", fn: "GetOnnxTypeFromTypeInfo" },
    ...{ message: /inputs\.x is not a tensor/, hint: /Convert the model/ },
  }),
  "a provider that there is not": row(
    (ort) => void ort.compileSync(SIGMOID, { providers: ["CUDAExecutionProvider"] }),
    wrong("providers[0]", /there is no CUDAExecutionProvider/, /This library has .*CPUExecutionProvider/),
  ),
  "providers that are not a list": row(
    (ort) => void ort.compileSync(SIGMOID, { providers: any("CPUExecutionProvider") }),
    wrong("providers", /expected a list of names, got a string/),
  ),
  "a context that is not CUDA's to stand on": {
    run: () => void OnnxRuntimeContext.open({ library: LIBRARY!, on: host }),
    fails: wrong("on", /runs nothing on host/, /Pass a CudaContext/),
  },
  "no threads": row(
    (ort) => ort.compile(SIGMOID, { threads: 0 }),
    wrong("threads", /an integer from 1 to 1024, got 0/),
  ),
});
