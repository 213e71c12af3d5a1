import { SyclContext } from "../../sycl/context.ts";
import { type SyclDevice, syclDevices } from "../../sycl/device.ts";
import { sycl, syclVersion } from "../../sycl/library.ts";
import type { ApiExaminer, Examination, Examined, Node } from "../api.ts";
import { examineLibrary, factOf, factValue } from "../library.ts";
import { attempt, type DeviceReport, type Fact, type Finding, type Trait } from "../report.ts";
import { examineUnified, memoryTrait } from "../unified.ts";

export const SYCL: ApiExaminer = {
  api: "sycl",
  variables: ["SAMEPAGE_LIB_SYCL", "ONEAPI_DEVICE_SELECTOR", "DPCTL_VERBOSITY"],
  files: [],

  examine(how: Examination): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("sycl", sycl, "DPCTLDeviceMgr_GetDevices", findings);
    const report = { api: SYCL.api, modules: [], findings };
    if (library.opened === undefined) return { report: { ...report, library, drivers: [], devices: [] }, nodes: [] };
    const facts = factOf("DPCTLService_GetDPCPPVersion", syclVersion);
    const version = factValue(facts, "DPCTLService_GetDPCPPVersion");
    const found = attempt(findings, syclDevices) ?? [];
    if (found.length === 0) findings.push(NO_DEVICE);
    const nodes: Node[] = [];
    const devices = found.map((device, i) => examineDevice(device, i, how, nodes));
    const platforms = Map.groupBy(devices, (_, i) => found[i].platform);
    return {
      report: {
        ...report,
        library: { ...library, ...(version === undefined ? {} : { version: `DPC++ ${version}` }), facts },
        drivers: [...platforms].map(([name, of]) => ({ name, facts: [], devices: of.map(({ id }) => id) })),
        devices,
      },
      nodes,
    };
  },
};

const NO_DEVICE: Finding = {
  what: "SYCL has no device.",
  remedy: "Install a driver: pip install intel-opencl-rt. Another TBB that was opened first hides it.",
};

function examineDevice(device: SyclDevice, index: number, how: Examination, nodes: Node[]): DeviceReport {
  const findings: Finding[] = [];
  const id = `sycl:${index}`;
  const open = attempt(findings, () => how.opened.use(SyclContext.open({ index })));
  const unified = open && examineUnified(open.usm, device.usm, id, how);
  if (unified !== undefined) nodes.push(unified.node);
  const aliasing = unified?.aliasing ?? [];
  return { id, name: device.name, facts: factsOf(device), traits: traitsOf(device), aliasing, findings };
}

function factsOf({ vendor, platform, backend, type, driverVersion, globalMemory, maxAllocation }: SyclDevice): Fact[] {
  const facts = { vendor, platform, backend, type, driverVersion, globalMemory, maxAllocation };
  return Object.entries(facts).map(([name, value]) => ({ name, value }));
}

function traitsOf({ type, backend, driverVersion, usm }: SyclDevice): Trait[] {
  return [
    { label: "device", text: `${type}, by ${backend}; driver ${driverVersion}` },
    memoryTrait(usm),
    { label: "closed", text: CLOSED },
  ];
}

const CLOSED = "dma-bufs, other fds and images: DPCTL has no function that exports or imports them";
