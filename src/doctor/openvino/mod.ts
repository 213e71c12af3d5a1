import { OpenVINOContext } from "../../openvino/context.ts";
import { type ApiExaminer, LITTLE } from "../api.ts";
import { oneDevice } from "../one_device.ts";
import type { Trait } from "../report.ts";

export const OPENVINO: ApiExaminer = oneDevice({
  api: "openvino",
  variables: ["SAMEPAGE_LIB_OPENVINO"],
  symbol: "ov_core_create",
  open: () => OpenVINOContext.open(),
  version: ({ version }) => version,
  traits: traitsOf,
  make: (ov) => ov.allocate(LITTLE),
});

function traitsOf({ devices, closedRemote: { reason } }: OpenVINOContext): readonly Trait[] {
  return [
    { label: "models", text: "run on the CPU, on memory of the host's in place" },
    { label: "devices", text: devices.join(", ") },
    { label: "closed", text: `memory of a GPU's, surfaces of video: ${reason.replace(/\.$/, "")}` },
  ];
}
