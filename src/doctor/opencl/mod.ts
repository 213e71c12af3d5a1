import type { ClDeviceId, ClPlatformId } from "../../../ffi/opencl/handles.ts";
import { PAGE } from "../../core/native/blocks.ts";
import { fileAt } from "../../core/native/loaded.ts";
import { OpenCLContext } from "../../opencl/context.ts";
import { deviceHandles, deviceOf, platformHandles } from "../../opencl/device.ts";
import { chosenDevice } from "../../opencl/devices/choice.ts";
import { opencl } from "../../opencl/library.ts";
import { addressInDriver } from "../../opencl/loader.ts";
import { type ApiExaminer, type Examination, type Examined, LITTLE, type Node } from "../api.ts";
import { attempt, type DeviceReport, type DriverReport, type Finding } from "../report.ts";
import { examineLibrary, factValue, located } from "../library.ts";
import { deviceFacts, loaderFacts, platformFacts } from "./facts.ts";
import { installedDrivers, noDevices, noPlatforms, VENDORS } from "./remedies.ts";
import { traitsOf, unread, verdictsOf } from "./traits.ts";

const VARIABLES = [
  "SAMEPAGE_LIB_OPENCL",
  "SAMEPAGE_OPENCL_DEVICE",
  "OCL_ICD_VENDORS",
  "OCL_ICD_FILENAMES",
  "OPENCL_LAYERS",
  "RUSTICL_ENABLE",
  "POCL_DEVICES",
];

export const OPENCL: ApiExaminer = {
  api: "opencl",
  variables: VARIABLES,
  files: [VENDORS],

  examine(how: Examination): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("opencl", opencl, "clGetPlatformIDs", findings);
    const drivers: DriverReport[] = [];
    const devices: DeviceReport[] = [];
    const nodes: Node[] = [];
    const facts = library.opened === undefined ? [] : loaderFacts();
    if (library.opened !== undefined) {
      const platforms = attempt(findings, platformHandles) ?? [];
      for (const platform of platforms) examinePlatform(platform, how, { findings, drivers, devices, nodes });
      if (platforms.length === 0) findings.push(noPlatforms());
      findings.push(...installedDrivers(drivers));
      if (devices.length > 0) attempt(findings, () => chosenDevice({})); // a variable may name a missing one
    }
    const [name, version] = [factValue(facts, "CL_ICDL_NAME"), factValue(facts, "CL_ICDL_VERSION")];
    const described = name === undefined || version === undefined ? {} : { version: `${name} ${version}` };
    return {
      report: {
        api: OPENCL.api,
        library: { ...library, ...described, facts },
        modules: [],
        drivers,
        devices,
        findings,
      },
      nodes,
    };
  },
};

interface Found {
  readonly findings: Finding[];
  readonly drivers: DriverReport[];
  readonly devices: DeviceReport[];
  readonly nodes: Node[];
}

function examinePlatform(platform: ClPlatformId, how: Examination, found: Found): void {
  const facts = platformFacts(platform);
  const name = factValue(facts, "CL_PLATFORM_NAME") ?? "a platform without a name";
  const handles = attempt(found.findings, () => deviceHandles(platform)) ?? [];
  if (handles.length === 0) found.findings.push(noDevices(name));
  const ids = handles.map((handle) => examineDevice(handle, how, found));
  found.drivers.push({ name, ...located(() => fileAt(addressInDriver(platform))), facts, devices: ids });
}

/** Returns the device's name in the report. */
function examineDevice(handle: ClDeviceId, how: Examination, found: Found): string {
  const id = `opencl:${found.devices.length}`;
  const facts = deviceFacts(handle);
  const findings: Finding[] = [];
  const cl = attempt(findings, () => how.opened.use(OpenCLContext.create([deviceOf(handle)])));
  const traits = cl === undefined ? [] : traitsOf(cl, how.proofs);
  found.devices.push({
    id,
    name: factValue(facts, "CL_DEVICE_NAME") ?? "a device without a name",
    facts,
    traits: [...traits, ...unread(facts)],
    aliasing: (cl !== undefined && how.proofs ? attempt(findings, () => verdictsOf(cl)) : undefined) ?? [],
    findings,
  });
  if (cl !== undefined) found.nodes.push(...nodesOf(cl, id), ...attempt(findings, () => imageNodesOf(cl, id)) ?? []);
  return id;
}

/** The kinds of memory of a device, with samples, aligned: the report does not depend on where a driver puts them. */
function nodesOf(cl: OpenCLContext, device: string): Node[] {
  const made: Node[] = [
    { device, target: cl, make: () => cl.allocate(LITTLE) },
    { device, target: cl.svm, make: () => cl.svm.allocate({ ...LITTLE, align: PAGE }) },
    { device, target: cl.usm, make: () => cl.usm.allocate({ ...LITTLE, kind: "shared", align: PAGE }) },
  ];
  const others = cl.targets.filter((target) => made.every((node) => node.target !== target));
  return [...made, ...others.map((target) => ({ device, target, make: undefined }))];
}

/** One image format stands for all: every device with images has it. @throws {NativeCallError} if the query fails. */
function imageNodesOf(cl: OpenCLContext, device: string): Node[] {
  if (cl.device.images === undefined) return [];
  const target = cl.image({ order: "RGBA", type: "UNORM_INT8" });
  return [{ device, target, make: () => target.allocate({ shape: LITTLE.shape }) }];
}
