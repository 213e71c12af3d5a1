/**
 * How the functions of ONNX Runtime fail: by a status, which is released once it was read.
 *
 * @module
 */
import type { OnnxRuntime } from "../../ffi/onnxruntime/functions.ts";
import type { OrtApiFunctions } from "../../ffi/onnxruntime_api/functions.ts";
import type { OrtApiBaseFunctions } from "../../ffi/onnxruntime_base/functions.ts";
import { RUN } from "../../src/onnxruntime/run_code.ts";
import { newStatus } from "../onnxruntime/status.ts";
import type { Failure, Failures } from "./failures.ts";

/** A new status each time. */
function failing(about: Pick<Failure, "release"> = {}): Failure {
  return {
    ...about,
    get result() {
      return newStatus();
    },
  };
}

const status = failing();

/** It gives something back, and fails then. */
const release = failing({ release: true });

const { sem_post } = Deno.dlopen("libc.so.6", { sem_post: { parameters: ["u64"], result: "i32" } }).symbols;

/** On its thread, Run has failed: the status is kept, and the run's semaphore posted. */
const elsewhere: Failure = {
  result: 0,
  also(run) {
    const view = Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(run as bigint)!, 8 * RUN.values);
    const words = new BigUint64Array(view);
    words[RUN.status] = newStatus();
    sem_post(words[RUN.flag]);
  },
};

export const ONNXRUNTIME_RUN = { RunElsewhere: elsewhere };

export const ONNXRUNTIME: Failures<OnnxRuntime> = { OrtGetApiBase: undefined };

export const ONNXRUNTIME_BASE: Failures<OrtApiBaseFunctions> = { GetApi: { result: 0n }, GetVersionString: undefined };

export const ONNXRUNTIME_API: Failures<OrtApiFunctions> = {
  GetErrorCode: undefined,
  GetErrorMessage: undefined,
  ReleaseStatus: undefined,
  ReleaseEnv: undefined,
  ReleaseSessionOptions: undefined,
  ReleaseSession: undefined,
  ReleaseTypeInfo: undefined,
  ReleaseMemoryInfo: undefined,
  ReleaseTensorTypeAndShapeInfo: undefined,
  ReleaseValue: undefined,
  ReleaseRunOptions: undefined,
  CreateEnv: status,
  GetAvailableProviders: status,
  ReleaseAvailableProviders: release,
  CreateSessionOptions: status,
  SetIntraOpNumThreads: status,
  RunOptionsSetTerminate: status,
  RunOptionsUnsetTerminate: status,
  CreateSessionFromArray: status,
  CreateSessionFromArrayAsync: status,
  SessionGetInputCount: status,
  SessionGetOutputCount: status,
  SessionGetInputName: status,
  SessionGetOutputName: status,
  SessionGetInputTypeInfo: status,
  SessionGetOutputTypeInfo: status,
  GetAllocatorWithDefaultOptions: status,
  AllocatorFree: release,
  GetOnnxTypeFromTypeInfo: status,
  CastTypeInfoToTensorInfo: status,
  GetTensorElementType: status,
  GetDimensionsCount: status,
  GetDimensions: status,
  CreateMemoryInfo: status,
  ReleaseCUDAProviderOptions: undefined,
  CreateCUDAProviderOptions: status,
  UpdateCUDAProviderOptions: status,
  SessionOptionsAppendExecutionProvider_CUDA_V2: status,
  SessionOptionsAppendExecutionProvider: status,
  CreateTensorWithDataAsOrtValue: status,
  GetTensorMutableData: status,
  GetTensorTypeAndShape: status,
  CreateRunOptions: status,
  Run: status,
};
