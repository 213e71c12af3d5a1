import config from "../../deno.json" with { type: "json" };
import { BOOLEAN, Checks } from "../core/checks.ts";
import { environmentInWords } from "../core/native/library.ts";
import { edgesOf } from "../core/graph/port_mapper.ts";
import type { ApiExaminer, Examined } from "./api.ts";
import { examineEdges } from "./edges.ts";
import { KNOWN_EDGES } from "./known_edges.ts";
import { attempt, type Finding, type Report, type Versions } from "./report.ts";
import { withPackages } from "./packages.ts";
import { permissionsOf } from "./permissions.ts";
import { CUDA } from "./cuda/mod.ts";
import { DMABUF } from "./dmabuf/mod.ts";
import { EGL } from "./egl/mod.ts";
import { FFMPEG } from "./ffmpeg/mod.ts";
import { GSTREAMER } from "./gstreamer/mod.ts";
import { PYTHON } from "./python/mod.ts";
import { HOST } from "./host/mod.ts";
import { LEVEL_ZERO } from "./levelzero/mod.ts";
import { ONNX_RUNTIME } from "./onnxruntime/mod.ts";
import { OPENCL } from "./opencl/mod.ts";
import { OPENCV } from "./opencv/mod.ts";
import { OPENVINO } from "./openvino/mod.ts";
import { SYCL } from "./sycl/mod.ts";
import { UCX } from "./ucx/mod.ts";
import { VAAPI } from "./vaapi/mod.ts";
import { VULKAN } from "./vulkan/mod.ts";

/** The examiners. A new API gets a folder here, and a place in this list. */
const APIS: readonly ApiExaminer[] = [
  HOST,
  OPENCL,
  CUDA,
  OPENCV,
  DMABUF,
  VULKAN,
  EGL,
  VAAPI,
  FFMPEG,
  GSTREAMER,
  ONNX_RUNTIME,
  OPENVINO,
  PYTHON,
  LEVEL_ZERO,
  SYCL,
  UCX,
];

const checks = new Checks("doctor");

/** Options of {@link doctor}. */
export interface DoctorOptions {
  /**
   * Runs the experiments that prove which memory a device uses in place; true by default. They take about a second for each
   * device that does not. Without them, nothing that needs a proof counts as an alias. With them, OpenCV chooses its own
   * OpenCL device, which it then keeps until the process ends, as after its first UMat.
   */
  readonly proofs?: boolean;
}

/**
 * Examines this machine: libraries, devices, and the open and closed edges, with reasons and remedies. It does not throw for
 * findings, and disposes everything that it opens. It needs `--allow-ffi`, prompts for nothing more, and reports what other
 * permissions would show.
 *
 * @throws {ArgumentError} for wrong options.
 *
 * @example
 * ```ts
 * import { doctor, textOf } from "@samepage/interop/doctor";
 *
 * const report = doctor({ proofs: false });
 * console.log(textOf(report));
 * console.log(report.edges.filter((edge) => edge.open).length);
 * ```
 */
export function doctor(options: DoctorOptions = {}): Report {
  const { proofs = true } = checks.optionsIn(options, { proofs: BOOLEAN });
  const findings: Finding[] = [];
  const how = { proofs, opened: new DisposableStack() };
  const examined: Examined[] = [];
  for (const api of APIS) examined.push(api.examine(how, examined.flatMap((it) => it.nodes)));
  const apis = withPackages(examined.map(({ report }, i) => ({ ...report, variables: variablesOf(APIS[i]) })));
  const nodes = examined.flatMap((it) => it.nodes);
  const mappers = edgesOf(new Set(nodes.map(({ target }) => target.context)), KNOWN_EDGES);
  const edges = attempt(findings, () => examineEdges(nodes, mappers, how, apis));
  attempt(findings, () => how.opened.dispose());
  return {
    versions: versions(),
    permissions: permissionsOf(APIS),
    apis,
    ...(edges ?? { targets: [], edges: [], routes: [] }),
    findings,
  };
}

function variablesOf({ variables }: ApiExaminer): Record<string, string> {
  const set = variables.map((name) => [name, environmentInWords(name)] as const);
  return Object.fromEntries(set.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function versions(): Versions {
  const mayTell = Deno.permissions.querySync({ name: "sys", kind: "osRelease" }).state === "granted";
  return {
    samepage: config.version,
    deno: Deno.version.deno,
    system: `${Deno.build.os} ${Deno.build.arch}`,
    ...(mayTell ? { kernel: Deno.osRelease() } : {}),
  };
}
