import { CudaContext } from "../../cuda/context.ts";
import { type CudaDevice, cudaDevices, cudaVersions } from "../../cuda/device.ts";
import { cudaDriver, cudart, nvrtc } from "../../cuda/library.ts";
import { version } from "../../cuda/versions.ts";
import { type ApiExaminer, type Examination, type Examined, LITTLE, type Node } from "../api.ts";
import { cudaVerdictsOf, traitsOfCuda } from "./traits.ts";
import {
  attempt,
  type DeviceReport,
  type Fact,
  type Finding,
  type LibraryReport,
  type ModuleReport,
} from "../report.ts";
import { examineLibrary, factOf } from "../library.ts";

const VARIABLES = [
  "SAMEPAGE_LIB_CUDART",
  "SAMEPAGE_LIB_CUDA",
  "SAMEPAGE_LIB_NVRTC",
  "CUDA_VISIBLE_DEVICES",
  "CUDA_DEVICE_ORDER",
  "CUDA_MODULE_LOADING",
];

export const CUDA: ApiExaminer = {
  api: "cuda",
  variables: VARIABLES,
  files: [],

  examine(how: Examination): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("cudart", cudart, "cudaGetDeviceCount", findings);
    const report = { api: CUDA.api, modules: [], drivers: [], devices: [], findings };
    if (library.opened === undefined) return { report: { ...report, library }, nodes: [] };
    const devices = attempt(findings, cudaDevices) ?? [];
    const modules = devices.length === 0 ? [] : examineModules(findings);
    const nodes: Node[] = [];
    const reports = devices.map((device) => examineDevice(device, how, nodes));
    return { report: { ...report, library: withVersion(library), modules, devices: reports }, nodes };
  },
};

function withVersion(library: LibraryReport): LibraryReport {
  const facts: Fact[] = [
    ...factOf("cudaRuntimeGetVersion", () => cudaVersions().runtime),
    ...factOf("cudaDriverGetVersion", () => cudaVersions().driver),
  ];
  const [runtime, driver] = facts.map(({ value }) => typeof value === "number" ? version(value) : "unknown");
  return { ...library, version: `CUDA ${runtime}, ${driver === "0.0" ? "no driver" : `driver for ${driver}`}`, facts };
}

function examineModules(findings: Finding[]): ModuleReport[] {
  return [
    { name: "driver", ...examineLibrary("cuda", cudaDriver, "cuInit", findings) },
    { name: "nvrtc", ...examineLibrary("nvrtc", nvrtc, "nvrtcVersion", findings) },
  ];
}

function examineDevice(device: CudaDevice, how: Examination, nodes: Node[]): DeviceReport {
  const id = `cuda:${device.ordinal}`;
  const findings: Finding[] = [];
  const cuda = attempt(findings, () => how.opened.use(CudaContext.open({ ordinal: device.ordinal })));
  if (cuda !== undefined) nodes.push(...nodesOf(cuda, id));
  const proofs = cuda !== undefined && how.proofs;
  return {
    id,
    name: device.name,
    facts: Object.entries(device.attributes).map(([name, value]) => ({ name, value })),
    traits: traitsOfCuda(device),
    aliasing: (proofs ? attempt(findings, () => cudaVerdictsOf(cuda)) : undefined) ?? [],
    findings,
  };
}

function nodesOf(cuda: CudaContext, device: string): Node[] {
  return [
    { device, target: cuda, make: () => cuda.allocate(LITTLE) },
    { device, target: cuda.pinned, make: () => cuda.pinned.allocate(LITTLE) },
    { device, target: cuda.managed, make: () => cuda.managed.allocate(LITTLE) },
    { device, target: cuda.virtual, make: () => cuda.virtual.allocate({ ...LITTLE, location: "host" }) },
  ];
}
