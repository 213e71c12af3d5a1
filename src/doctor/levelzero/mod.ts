import { LevelZeroContext } from "../../levelzero/context.ts";
import { type LevelZeroDevice, levelZeroDevices } from "../../levelzero/device.ts";
import { levelZero } from "../../levelzero/library.ts";
import type { ApiExaminer, Examination, Examined, Node } from "../api.ts";
import { examineLibrary } from "../library.ts";
import { attempt, type DeviceReport, type DriverReport, type Fact, type Finding, type Trait } from "../report.ts";
import { identityTraits } from "../traits.ts";
import { examineUnified, memoryTrait } from "../unified.ts";

export const LEVEL_ZERO: ApiExaminer = {
  api: "levelzero",
  variables: ["SAMEPAGE_LIB_LEVELZERO", "ZE_ENABLE_ALT_DRIVERS", "ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY"],
  files: [],

  examine(how: Examination): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("levelzero", levelZero, "zeInit", findings);
    const report = { api: LEVEL_ZERO.api, library, modules: [], findings };
    if (library.opened === undefined) return { report: { ...report, drivers: [], devices: [] }, nodes: [] };
    const found = attempt(findings, levelZeroDevices) ?? [];
    if (found.length === 0) findings.push(NO_DEVICE);
    const nodes: Node[] = [];
    const devices = found.map((device, i) => examineDevice(device, i, how, nodes));
    return { report: { ...report, drivers: driversOf(found, devices), devices }, nodes };
  },
};

const NO_DEVICE: Finding = {
  what: "Level Zero has no device.",
  remedy: "Install a driver: apt install libze-intel-gpu1, or Intel's own package (libze_intel_gpu.so.1).",
};

/** A driver has no name: it is called by the first of its devices. */
function driversOf(found: readonly LevelZeroDevice[], devices: readonly DeviceReport[]): DriverReport[] {
  const drivers = Map.groupBy(devices, (_, i) => found[i].driver);
  return [...drivers.values()].map((of) => ({
    name: `the driver of ${of[0].name}`,
    facts: [],
    devices: of.map(({ id }) => id),
  }));
}

function examineDevice(device: LevelZeroDevice, index: number, how: Examination, nodes: Node[]): DeviceReport {
  const findings: Finding[] = [];
  const id = `levelzero:${index}`;
  const open = attempt(findings, () => how.opened.use(LevelZeroContext.open({ index })));
  const unified = open && examineUnified(open.usm, device.usm, id, how);
  if (unified !== undefined) nodes.push(unified.node);
  const { name, type, maxAllocation, id: { uuid, pci } } = device;
  const facts = Object.entries({ type, maxAllocation, uuid, pci })
    .flatMap(([name, value]): Fact[] => value === undefined ? [] : [{ name, value }]);
  return { id, name, facts, traits: traitsOf(device), aliasing: unified?.aliasing ?? [], findings };
}

function traitsOf({ type, usm, dmaBuf, id }: LevelZeroDevice): Trait[] {
  const ways = [...(dmaBuf.exports ? ["leaves"] : []), ...(dmaBuf.imports ? ["comes"] : [])];
  return [
    { label: "device", text: type },
    memoryTrait(usm),
    ways.length > 0
      ? { label: "dma-bufs", text: `device memory ${ways.join(" and ")} as a dma-buf` }
      : { label: "closed", text: "dma-bufs: the driver reports no external memory of that kind" },
    { label: "closed", text: "images: samepage maps memory of this API as bytes" },
    ...identityTraits(id),
  ];
}
