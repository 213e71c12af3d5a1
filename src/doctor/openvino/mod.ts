import { OpenVINOContext } from "../../openvino/context.ts";
import { type ApiExaminer, type Examination, type Examined, LITTLE } from "../api.ts";
import { examineLibrary } from "../library.ts";
import { attempt, type DeviceReport, type Finding, type Trait } from "../report.ts";

export const OPENVINO: ApiExaminer = {
  api: "openvino",
  variables: ["SAMEPAGE_LIB_OPENVINO"],
  files: [],

  examine({ opened }: Examination): Examined {
    const findings: Finding[] = [];
    let ov: OpenVINOContext | undefined;
    const open = () => ov = opened.use(OpenVINOContext.open());
    const library = examineLibrary("openvino", open, "ov_core_create", findings);
    const report = { api: "openvino", library, modules: [], drivers: [], findings };
    if (ov === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    const target = ov;
    const id = OPENVINO.api;
    const traits = attempt(findings, () => traitsOf(target)) ?? [];
    const device: DeviceReport = { id, name: target.name, facts: [], aliasing: [], findings: [], traits };
    return {
      report: { ...report, library: { ...library, version: target.version }, devices: [device] },
      nodes: [{ device: id, target, make: () => target.allocate(LITTLE) }],
    };
  },
};

function traitsOf({ devices, closedRemote: { reason } }: OpenVINOContext): readonly Trait[] {
  return [
    { label: "models", text: "run on the CPU, on memory of the host's in place" },
    { label: "devices", text: devices.join(", ") },
    { label: "closed", text: `memory of a GPU's, surfaces of video: ${reason.replace(/\.$/, "")}` },
  ];
}
