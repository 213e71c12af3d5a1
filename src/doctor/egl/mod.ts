import { EglContext } from "../../egl/context.ts";
import { type EglDevice, eglDevices } from "../../egl/display.ts";
import { egl, gles } from "../../egl/library.ts";
import type { ApiExaminer, Examination, Examined, Node } from "../api.ts";
import { examineLibrary } from "../library.ts";
import { openclTraits } from "./opencl.ts";
import { attempt, type DeviceReport, type Fact, type Finding, type Trait } from "../report.ts";
import { identityTraits, lackingTraits } from "../traits.ts";

const VARIABLES = [
  "SAMEPAGE_LIB_EGL",
  "SAMEPAGE_LIB_GLES",
  "__EGL_VENDOR_LIBRARY_FILENAMES",
  "__EGL_VENDOR_LIBRARY_DIRS",
  "EGL_PLATFORM",
  "LIBGL_ALWAYS_SOFTWARE",
  "MESA_LOADER_DRIVER_OVERRIDE",
];

export const EGL: ApiExaminer = {
  api: "egl",
  variables: VARIABLES,
  files: ["/usr/share/glvnd/egl_vendor.d"],

  examine(how: Examination): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("egl", egl, "eglInitialize", findings);
    const report = { api: EGL.api, library, modules: [], drivers: [], findings };
    if (library.opened === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    attempt(findings, gles);
    const nodes: Node[] = [];
    const found = attempt(findings, eglDevices) ?? [];
    const devices = found.length === 0
      ? [examineDevice(undefined, "egl:0", how, nodes)]
      : found.map((device) => examineDevice(device, `egl:${device.index}`, how, nodes));
    return { report: { ...report, devices }, nodes };
  },
};

function examineDevice(device: EglDevice | undefined, id: string, how: Examination, nodes: Node[]): DeviceReport {
  const findings: Finding[] = [];
  const choice = device === undefined ? {} : { device: device.index };
  const open = attempt(findings, () => how.opened.use(EglContext.open(choice)));
  if (open !== undefined) {
    const make = () => open.image.allocate({ format: "RGBA", width: 64, height: 16 });
    nodes.push({ device: id, target: open.image, make });
    nodes.push({ device: id, target: open.buffer, make: () => open.buffer.allocate({ shape: [64], dtype: "u8" }) });
  }
  return {
    id,
    name: open?.name ?? device?.renderNode ?? "an EGL device",
    facts: factsOf(device, open),
    traits: open === undefined ? [] : [...traitsOf(open), ...openclTraits(open)],
    aliasing: [],
    findings,
  };
}

function factsOf(device: EglDevice | undefined, open: EglContext | undefined): Fact[] {
  const facts: Record<string, Fact["value"]> = {
    ...(open === undefined ? {} : { version: open.version, gl: open.glVersion, deviceUUID: open.id.uuid }),
    ...{ node: device?.node, renderNode: device?.renderNode, cuda: device?.cuda, software: device?.software },
  };
  return Object.entries(facts).map(([name, value]) => ({ name, ...(value === undefined ? {} : { value }) }));
}

function traitsOf({ absent, name, version, glVersion, id }: EglContext): Trait[] {
  const ways = {
    EGL_EXT_image_dma_buf_import: "imports dma-bufs as images",
    EGL_MESA_image_dma_buf_export: "exports images as dma-bufs",
    EGL_ANDROID_native_fence_sync: "syncs as sync files",
    EGL_KHR_reusable_sync: "reusable syncs",
  };
  const able = Object.entries(ways).filter(([name]) => !absent.has(name)).map(([, text]) => text);
  return [
    { label: "device", text: `EGL ${version}; ${glVersion}` },
    { label: "shares", text: able.join(", ") || "nothing" },
    ...lackingTraits(name, absent),
    ...identityTraits(id),
  ];
}
