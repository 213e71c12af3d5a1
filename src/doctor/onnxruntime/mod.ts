import { OnnxRuntimeContext } from "../../onnxruntime/context.ts";
import { type ApiExaminer, type Examination, type Examined, LITTLE } from "../api.ts";
import { examineLibrary } from "../library.ts";
import { attempt, type DeviceReport, type Finding, type Trait } from "../report.ts";

export const ONNX_RUNTIME: ApiExaminer = {
  api: "onnxruntime",
  variables: ["SAMEPAGE_LIB_ONNXRUNTIME"],
  files: [],

  examine(how: Examination): Examined {
    const { opened } = how;
    const findings: Finding[] = [];
    let ort: OnnxRuntimeContext | undefined;
    const open = () => ort = opened.use(OnnxRuntimeContext.open());
    const library = examineLibrary("onnxruntime", open, "OrtGetApiBase", findings);
    const report = { api: "onnxruntime", library, modules: [], drivers: [], findings };
    if (ort === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    const target = ort;
    const id = ONNX_RUNTIME.api;
    const traits = attempt(findings, () => traitsOf(target.providers)) ?? [];
    const device: DeviceReport = { id, name: target.name, facts: [], aliasing: [], findings: [], traits };
    return {
      report: { ...report, library: { ...library, version: target.name }, devices: [device] },
      nodes: [{ device: id, target, make: () => target.allocate(LITTLE) }],
    };
  },
};

function traitsOf(providers: readonly string[]): readonly Trait[] {
  const cuda = providers.includes(CUDA)
    ? { label: "cuda", text: "memory of a GPU's in place: OnnxRuntimeContext.open({ on: cuda })" }
    : { label: "closed", text: `memory of CUDA's: this library has no ${CUDA}` };
  return [
    { label: "models", text: "run on the CPU, on memory of the host's in place" },
    { label: "providers", text: providers.join(", ") },
    cuda,
  ];
}

const CUDA = "CUDAExecutionProvider";
