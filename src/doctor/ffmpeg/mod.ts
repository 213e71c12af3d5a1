import { Graph } from "../../core/graph/graph.ts";
import { edgesOf } from "../../core/graph/port_mapper.ts";
import { FFmpegContext } from "../../ffmpeg/context.ts";
import { builtDevices } from "../../ffmpeg/hardware.ts";
import { KINDS } from "../../ffmpeg/hardware_kinds.ts";
import { avutil } from "../../ffmpeg/library.ts";
import { host } from "../../host/context.ts";
import { type ApiExaminer, type Examination, type Examined, LITTLE, type Node } from "../api.ts";
import { examineLibrary } from "../library.ts";
import { attempt, type DeviceReport, type Finding, type Trait } from "../report.ts";

export const FFMPEG: ApiExaminer = {
  api: "ffmpeg",
  variables: ["SAMEPAGE_LIB_FFMPEG", "SAMEPAGE_LIB_FFMPEG_CODEC", "SAMEPAGE_LIB_FFMPEG_FORMAT"],
  files: [],

  examine(how: Examination): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("ffmpeg", avutil, "avutil_version", findings);
    const report = { api: FFMPEG.api, library, modules: [], drivers: [], findings };
    if (findings.length > 0) return { report: { ...report, devices: [] }, nodes: [] };
    const ffmpeg = attempt(findings, () => how.opened.use(FFmpegContext.open()));
    if (ffmpeg === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    const id = FFMPEG.api;
    const device: DeviceReport = {
      ...{ id, name: ffmpeg.name, facts: [], aliasing: [], findings: [] },
      traits: [{ label: "frames", text: "in the host's memory, in place" }, ...hardwareTraits()],
    };
    const described = { ...library, version: ffmpeg.name };
    return { report: { ...report, library: described, devices: [device] }, nodes: [nodeOf(ffmpeg, id, how)] };
  },
};

/** Which hardware frames this FFmpeg has, which of them samepage knows, and what is closed. */
function hardwareTraits(): readonly Trait[] {
  const built = builtDevices();
  const known = Object.entries(KINDS).map(([api, { device }]) => [api, built.get(device)] as const);
  const open = known.filter(([, name]) => name !== undefined).map(([api, name]) => `${name} (on ${api})`);
  const missing = known.filter(([, name]) => name === undefined).map(([api]) => api);
  const others = [...built].filter(([type]) => !Object.values(KINDS).some(({ device }) => device === type));
  return [
    { label: "hardware frames", text: open.length === 0 ? "none" : open.join(", ") },
    ...missing.length === 0 ? [] : [{ label: "not built", text: missing.join(", ") }],
    ...others.length === 0
      ? []
      : [{ label: "closed", text: `${others.map(([, name]) => name).join(", ")}: samepage knows no frames of these` }],
  ];
}

/** Frames are made by other code: memory of the host's stands for theirs. */
function nodeOf(ffmpeg: FFmpegContext, device: string, { opened }: Examination): Node {
  const graph = opened.use(new Graph([host, ffmpeg], edgesOf));
  return { device, target: ffmpeg, make: () => graph.map(opened.use(host.allocate(LITTLE)), ffmpeg) };
}
