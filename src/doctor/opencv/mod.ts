import { SYMBOLS as CORE } from "../../../ffi/opencv_core/symbols.ts";
import { SYMBOLS as IMGCODECS } from "../../../ffi/opencv_imgcodecs/symbols.ts";
import { SYMBOLS as IMGPROC } from "../../../ffi/opencv_imgproc/symbols.ts";
import type { Context } from "../../core/graph/context.ts";
import { Graph } from "../../core/graph/graph.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import { guardOf } from "../../guard/guard.ts";
import { OpenCLContext } from "../../opencl/context.ts";
import { OpenCVContext } from "../../opencv/context.ts";
import { EDGES } from "../../opencv/edges/mod.ts";
import { assertOpenCL } from "../../opencv/execution.ts";
import { core, imgcodecs, imgproc } from "../../opencv/library.ts";
import { type ApiExaminer, type Examination, type Examined, LITTLE, type Node } from "../api.ts";
import { examineLibrary, factOf, factValue } from "../library.ts";
import { attempt, type DeviceReport, type Fact, type Finding, type ModuleReport, type Trait } from "../report.ts";
import { ownDeviceOf } from "./device.ts";

const VARIABLES = [
  "SAMEPAGE_LIB_OPENCV_CORE",
  "SAMEPAGE_LIB_OPENCV_IMGPROC",
  "SAMEPAGE_LIB_OPENCV_IMGCODECS",
  "OPENCV_OPENCL_RUNTIME",
  "OPENCV_OPENCL_DEVICE",
];

export const OPENCV: ApiExaminer = {
  api: "opencv",
  variables: VARIABLES,
  files: [],

  examine(how: Examination, before: readonly Node[]): Examined {
    const findings: Finding[] = [];
    const opened = examineModules(findings);
    const [{ name: _, ...library }, ...modules] = opened;
    const facts = library.opened === undefined ? [] : versionFacts();
    const version = factValue(facts, "CV_VERSION");
    const described = { ...library, ...(version === undefined ? {} : { version: `OpenCV ${version}` }), facts };
    const cv = library.opened === undefined ? undefined : attempt(findings, () => how.opened.use(OpenCVContext.open()));
    const report = { api: OPENCV.api, library: described, modules, drivers: [], findings };
    if (cv === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    const own = ownDeviceOf(how, before, findings);
    const device: DeviceReport = {
      id: OPENCV.api,
      name: cv.name,
      facts: own.facts,
      traits: [guardTrait(opened), ...own.traits, cudaTrait(core().cuda_getCudaEnabledDeviceCount())],
      aliasing: [],
      findings: [],
    };
    return { report: { ...report, devices: [device] }, nodes: openCVNodesOf(cv, OPENCV.api, how, before) };
  },
};

function versionFacts(): readonly Fact[] {
  const ask = () => [core().getVersionMajor(), core().getVersionMinor(), core().getVersionRevision()].join(".");
  return factOf("CV_VERSION", ask);
}

const MODULES = [
  { name: "core", open: core, symbol: CORE.getVersionMajor.name },
  { name: "imgproc", open: imgproc, symbol: IMGPROC.cvtColor.name },
  { name: "imgcodecs", open: imgcodecs, symbol: IMGCODECS.imread.name },
] as const;

/** Opens every module, the core first; a missing one is a finding. */
function examineModules(findings: Finding[]): ModuleReport[] {
  return MODULES.map(({ name, open, symbol }) => {
    const api = `opencv_${name}`;
    const library = examineLibrary(api, open, symbol, findings);
    const guard = guardOf(api);
    return { name, ...library, ...(guard === undefined ? {} : { guard }) };
  });
}

export function guardTrait(modules: readonly ModuleReport[]): Trait {
  const open = modules.flatMap(({ name, guard }) => guard === undefined ? [] : [{ name, guard }]);
  const names = (guarded: boolean) => open.filter(({ guard }) => guard.guarded === guarded).map(({ name }) => name);
  const [safe, unsafe] = [names(true).join(", "), names(false).join(", ")];
  const reasons = new Set(open.flatMap(({ guard }) => guard.guarded ? [] : [guard.reason]));
  const parts = [
    ...(safe === "" ? [] : [`of ${safe} are caught: each is a typed error`]),
    ...(unsafe === "" ? [] : [`of ${unsafe} are not caught: each ends the process. ${[...reasons].join(" ")}`]),
  ];
  return { label: "exceptions", text: parts.join("; ") };
}

/** OpenCV's support for CUDA, by its own count of devices. The functions of `cv::cuda` need it, samepage's edges do not. */
export function cudaTrait(count: number): Trait {
  const text = count > 0
    ? `cv::cuda has ${count} ${count === 1 ? "device" : "devices"}; gpuMatHeader() makes headers for it`
    : count === 0
    ? "no cv::cuda: this OpenCV was built without CUDA, or there is no GPU"
    : "no cv::cuda: this OpenCV was built with CUDA, and finds no driver that fits";
  return { label: "CUDA", text };
}

/** Mats, and UMats over a buffer of each OpenCL device. */
function openCVNodesOf(
  cv: OpenCVContext,
  device: string,
  { opened }: Examination,
  before: readonly Node[],
): Node[] {
  const contexts = before.flatMap(({ target }) => target instanceof OpenCLContext ? [target] : []);
  const homes = contexts.map((cl): [Context, () => Mapped] => [cl, () => umatIn(cl, cv, opened)]);
  return [
    { device, target: cv.mat, make: () => cv.mat.create(LITTLE) },
    { device, target: cv.umat, make: undefined, homes: new Map(homes) },
  ];
}

function umatIn(cl: OpenCLContext, cv: OpenCVContext, opened: DisposableStack): Mapped {
  assertOpenCL();
  const buffer = opened.use(cl.allocate(LITTLE));
  const graph = opened.use(new Graph([cl, cv], EDGES));
  return graph.map(buffer, cv.umat);
}
