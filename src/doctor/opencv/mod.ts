import { OpenCVContext } from "../../opencv/context.ts";
import { core } from "../../opencv/library.ts";
import type { ApiExaminer, Examination, Examined, Node } from "../api.ts";
import { attempt, type DeviceReport, type Fact, type Finding } from "../report.ts";
import { factOf, told } from "../library.ts";
import { ownDeviceOf } from "./device.ts";
import { examineModules, guardTrait } from "./modules.ts";
import { openCVNodesOf } from "./nodes.ts";

/** The variables that name its modules, and configure its OpenCL. */
const VARIABLES = [
  "SAMEPAGE_LIB_OPENCV_CORE",
  "SAMEPAGE_LIB_OPENCV_IMGPROC",
  "SAMEPAGE_LIB_OPENCV_IMGCODECS",
  "OPENCV_OPENCL_RUNTIME",
  "OPENCV_OPENCL_DEVICE",
];

/** OpenCV: its modules, its Mats and UMats, and its own OpenCL device. */
export const OPENCV: ApiExaminer = {
  api: "opencv",
  variables: VARIABLES,
  files: [],

  examine(how: Examination, before: readonly Node[]): Examined {
    const findings: Finding[] = [];
    const opened = examineModules(findings);
    const [{ name: _, ...library }, ...modules] = opened;
    const facts = library.opened === undefined ? [] : versionFacts();
    const version = told(facts, "CV_VERSION");
    const described = { ...library, ...(version === undefined ? {} : { version: `OpenCV ${version}` }), facts };
    const cv = library.opened === undefined ? undefined : attempt(findings, () => how.opened.use(OpenCVContext.open()));
    const report = { api: OPENCV.api, library: described, modules, drivers: [], findings };
    if (cv === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    const own = ownDeviceOf(how, before, findings);
    const device: DeviceReport = {
      id: OPENCV.api,
      name: cv.name,
      facts: own.facts,
      traits: [guardTrait(opened), ...own.traits],
      aliasing: [],
      findings: [],
    };
    return { report: { ...report, devices: [device] }, nodes: openCVNodesOf(cv, OPENCV.api, how, before) };
  },
};

/** The facts, also of a version that the context refuses. */
function versionFacts(): readonly Fact[] {
  const ask = () => [core().getVersionMajor(), core().getVersionMinor(), core().getVersionRevision()].join(".");
  return factOf("CV_VERSION", ask);
}
