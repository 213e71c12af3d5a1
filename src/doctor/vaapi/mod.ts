import type { VaapiConfig } from "../../vaapi/abilities.ts";
import { VaapiContext } from "../../vaapi/context.ts";
import { libva } from "../../vaapi/library.ts";
import { type VaapiNode, vaapiNodes } from "../../vaapi/nodes.ts";
import { type ApiExaminer, type Examination, type Examined, LITTLE, type Node } from "../api.ts";
import { examineLibrary } from "../library.ts";
import { attempt, type DeviceReport, type Finding, type Trait } from "../report.ts";

export const VAAPI: ApiExaminer = {
  api: "vaapi",
  variables: ["SAMEPAGE_LIB_VAAPI", "SAMEPAGE_LIB_VAAPI_DRM", "LIBVA_DRIVER_NAME", "LIBVA_DRIVERS_PATH"],
  files: [],

  examine(how: Examination): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("vaapi", libva, "vaInitialize", findings);
    const report = { api: VAAPI.api, library, modules: [], drivers: [], findings };
    if (library.opened === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    const nodes: Node[] = [];
    const devices: DeviceReport[] = [];
    for (const one of attempt(findings, vaapiNodes) ?? []) {
      if (one.open) devices.push(examineNode(one, `vaapi:${devices.length}`, how, nodes));
      else findings.push({ what: `VA-API: ${one.reason}`, remedy: one.remedy! });
    }
    return { report: { ...report, devices }, nodes };
  },
};

function examineNode({ node }: VaapiNode, id: string, how: Examination, nodes: Node[]): DeviceReport {
  const findings: Finding[] = [];
  const open = attempt(findings, () => how.opened.use(VaapiContext.open({ node })));
  const name = open?.name ?? `${node}, without a driver`;
  if (open === undefined) {
    return { id, name, facts: [{ name: "node", value: node }], traits: [], aliasing: [], findings };
  }
  const canMake = open.formats.includes("RGBA");
  nodes.push({ device: id, target: open, make: canMake ? () => open.allocate(LITTLE) : undefined });
  const facts = [{ name: "node", value: node }, { name: "version", value: open.version! }];
  return { id, name, facts, traits: traitsOf(open), aliasing: [], findings };
}

function traitsOf({ configs, formats, hasPrime2 }: VaapiContext): Trait[] {
  const able = (entrypoint: string) =>
    configs.filter((config) => config.entrypoint === entrypoint).map(codecOf).join(", ") || "nothing";
  return [
    { label: "formats", text: formats.join(", ") || "none that samepage knows" },
    { label: "decodes", text: able("VAEntrypointVLD") },
    {
      label: "processes",
      text: configs.some(({ entrypoint }) => entrypoint === "VAEntrypointVideoProc") ? "video" : "nothing",
    },
    { label: "fds", text: hasPrime2 ? "surfaces come and go as dma-bufs" : "none: the driver has no DRM_PRIME_2" },
  ];
}

function codecOf({ profile }: VaapiConfig): string {
  return profile.slice("VAProfile".length);
}
