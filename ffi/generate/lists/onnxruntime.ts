import { fromFileUrl } from "@std/path";
import type { FunctionEntry, Library } from "../library.ts";

/** Where `deno task setup` unpacks the headers: of version 21 of the API, which later ones only append to. */
const HEADERS = {
  headers: ["onnxruntime_c_api.h"],
  folders: [fromFileUrl(new URL("../../../.inference/onnxruntime_include", import.meta.url))],
  defines: {},
};

/** ONNX Runtime exports one function, through which its tables of functions are found. */
export const onnxruntime: Library = {
  name: "onnxruntime",
  interface: "OnnxRuntime",
  ...HEADERS,
  functions: ["OrtGetApiBase"],
  constants: [
    { type: "uint32_t", names: ["ORT_API_VERSION"] },
    { type: "ONNXTensorElementDataType", names: ["ONNX_TENSOR_ELEMENT_DATA_TYPE_*"] },
    { type: "ONNXType", names: ["ONNX_TYPE_*"] },
    { type: "OrtLoggingLevel", names: ["ORT_LOGGING_LEVEL_*"] },
    { type: "OrtAllocatorType", names: ["OrtDeviceAllocator"] },
    { type: "OrtMemType", names: ["OrtMemTypeDefault"] },
  ],
  errors: {
    type: "OrtErrorCode",
    names: [
      "ORT_FAIL",
      "ORT_INVALID_ARGUMENT",
      "ORT_NO_SUCHFILE",
      "ORT_NO_MODEL",
      "ORT_ENGINE_ERROR",
      "ORT_RUNTIME_EXCEPTION",
      "ORT_INVALID_PROTOBUF",
      "ORT_MODEL_LOADED",
      "ORT_NOT_IMPLEMENTED",
      "ORT_INVALID_GRAPH",
      "ORT_EP_FAIL",
    ],
  },
  structs: [],
};

/** The table by which a version of the API is asked for. */
export const onnxruntimeBase: Library = {
  name: "onnxruntime_base",
  interface: "OrtApiBaseFunctions",
  ...HEADERS,
  byPointer: true,
  table: "OrtApiBase",
  functions: ["GetApi", "GetVersionString"],
  constants: [],
  structs: [{ type: "OrtApiBase", fields: ["GetApi", "GetVersionString"] }],
};

/** What ONNX Runtime makes is passed by its address; texts, and what comes back, are buffers. */
function taking(address: readonly string[], ...names: readonly string[]): FunctionEntry[] {
  return names.map((name) => ({ name, address }));
}

const LOADING = { name: "CreateSessionFromArray", address: ["env", "model_data", "options"] };

/** The functions of that version. */
const FUNCTIONS: readonly FunctionEntry[] = [
  ...taking(["status"], "GetErrorCode", "GetErrorMessage"),
  ...taking(
    ["input"],
    ...["ReleaseStatus", "ReleaseEnv", "ReleaseSessionOptions", "ReleaseSession", "ReleaseTypeInfo"],
    ...["ReleaseMemoryInfo", "ReleaseTensorTypeAndShapeInfo", "ReleaseValue", "ReleaseRunOptions"],
    "ReleaseCUDAProviderOptions",
  ),
  { name: "CreateEnv" },
  { name: "GetAvailableProviders" },
  ...taking(["ptr"], "ReleaseAvailableProviders"),
  { name: "CreateSessionOptions" },
  ...taking(["options"], "SetIntraOpNumThreads", "RunOptionsSetTerminate", "RunOptionsUnsetTerminate"),
  { name: "CreateCUDAProviderOptions" },
  ...taking(["cuda_options"], "UpdateCUDAProviderOptions"),
  ...taking(["options", "cuda_options"], "SessionOptionsAppendExecutionProvider_CUDA_V2"),
  ...taking(["options"], "SessionOptionsAppendExecutionProvider"),
  LOADING,
  { ...LOADING, as: "CreateSessionFromArrayAsync", nonblocking: true },
  ...taking(["session"], "SessionGetInputCount", "SessionGetOutputCount"),
  ...taking(["session", "allocator"], "SessionGetInputName", "SessionGetOutputName"),
  ...taking(["session"], "SessionGetInputTypeInfo", "SessionGetOutputTypeInfo"),
  { name: "GetAllocatorWithDefaultOptions" },
  ...taking(["ort_allocator", "p"], "AllocatorFree"),
  ...taking(["type_info"], "GetOnnxTypeFromTypeInfo", "CastTypeInfoToTensorInfo"),
  ...taking(["info"], "GetTensorElementType", "GetDimensionsCount", "GetDimensions"),
  { name: "CreateMemoryInfo" },
  ...taking(["info", "p_data"], "CreateTensorWithDataAsOrtValue"),
  ...taking(["value"], "GetTensorMutableData", "GetTensorTypeAndShape"),
  { name: "CreateRunOptions" },
  ...taking(["session", "run_options", "input_names", "inputs", "output_names", "outputs"], "Run"),
];

/** The table of that version. */
export const onnxruntimeApi: Library = {
  name: "onnxruntime_api",
  interface: "OrtApiFunctions",
  ...HEADERS,
  byPointer: true,
  table: "OrtApi",
  functions: FUNCTIONS,
  constants: [],
  structs: [{
    type: "OrtApi",
    fields: [...new Set(FUNCTIONS.map(({ name }) => name))],
  }],
};
