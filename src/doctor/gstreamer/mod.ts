import { Graph } from "../../core/graph/graph.ts";
import { edgesOf } from "../../core/graph/port_mapper.ts";
import { GStreamerContext } from "../../gstreamer/context.ts";
import { initializeSync } from "../../gstreamer/library.ts";
import { PLUGINS, pluginVersion } from "./plugins.ts";
import { host } from "../../host/context.ts";
import { type ApiExaminer, type Examination, type Examined, LITTLE, type Node } from "../api.ts";
import { examineLibrary } from "../library.ts";
import { attempt, type DeviceReport, type Finding, type Trait } from "../report.ts";

export const GSTREAMER: ApiExaminer = {
  api: "gstreamer",
  variables: ["", "_GLIB", "_GOBJECT", "_APP", "_VIDEO", "_AUDIO", "_ALLOCATORS", "_GL", "_VA"].map((part) =>
    `SAMEPAGE_LIB_GSTREAMER${part}`
  ),
  files: [],

  examine(how: Examination): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("gstreamer", initializeSync, "gst_version", findings);
    const report = { api: GSTREAMER.api, library, modules: [], drivers: [], findings };
    if (findings.length > 0) return { report: { ...report, devices: [] }, nodes: [] };
    const gst = attempt(findings, () => how.opened.use(GStreamerContext.openSync()));
    if (gst === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    const id = GSTREAMER.api;
    const device: DeviceReport = {
      ...{ id, name: gst.name, facts: [], aliasing: [], findings: [] },
      traits: [{ label: "buffers", text: "in the host's memory, in place" }, ...pluginTraits()],
    };
    const described = { ...library, version: gst.name };
    return { report: { ...report, library: described, devices: [device] }, nodes: [nodeOf(gst, id, how)] };
  },
};

/** Which of its plugins that matter are there, and what is closed. */
function pluginTraits(): readonly Trait[] {
  const found = PLUGINS.map((plugin) => ({ ...plugin, version: pluginVersion(plugin.name) }));
  const there = found.filter(({ version }) => version !== undefined);
  const missing = found.filter(({ version }) => version === undefined);
  return [
    { label: "plugins", text: there.map(({ name, version }) => `${name} ${version}`).join(", ") || "none" },
    { label: "dma-bufs", text: "frames of dmabuf: GStreamerContext.open({ on: dmabuf })" },
    ...there.flatMap(({ gives, becomes }) => becomes === undefined ? [] : [{ label: gives, text: becomes }]),
    ...there.flatMap(({ gives, closed }) =>
      closed === undefined ? [] : [{ label: "closed", text: `${gives}: ${closed}` }]
    ),
    ...missing.map(({ name, gives, inDebian }) => ({
      label: "closed",
      text: `${gives}: there is no plugin ${name} (apt install ${inDebian})`,
    })),
  ];
}

/** Buffers are made by other code: memory of the host's stands for theirs. */
function nodeOf(gst: GStreamerContext, device: string, { opened }: Examination): Node {
  const graph = opened.use(new Graph([host, gst], edgesOf));
  return { device, target: gst, make: () => graph.map(opened.use(host.allocate(LITTLE)), gst) };
}
