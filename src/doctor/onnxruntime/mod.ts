import { OnnxRuntimeContext } from "../../onnxruntime/context.ts";
import { type ApiExaminer, LITTLE } from "../api.ts";
import { oneDevice } from "../one_device.ts";
import type { Trait } from "../report.ts";

export const ONNX_RUNTIME: ApiExaminer = oneDevice({
  api: "onnxruntime",
  variables: ["SAMEPAGE_LIB_ONNXRUNTIME"],
  symbol: "OrtGetApiBase",
  open: () => OnnxRuntimeContext.open(),
  version: ({ name }) => name,
  traits: ({ providers }) => traitsOf(providers),
  make: (ort) => ort.allocate(LITTLE),
});

function traitsOf(providers: readonly string[]): readonly Trait[] {
  const cuda = providers.includes(CUDA)
    ? { label: "cuda", text: "memory of a GPU's in place: OnnxRuntimeContext.open({ on: cuda })" }
    : { label: "closed", text: `CUDA's memory: this library has no ${CUDA}` };
  return [
    { label: "models", text: "run on the CPU, on memory of the host's in place" },
    { label: "providers", text: providers.join(", ") },
    cuda,
  ];
}

const CUDA = "CUDAExecutionProvider";
