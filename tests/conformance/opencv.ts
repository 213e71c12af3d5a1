import { openCLToOpenCVUMat, openCVUMatToOpenCL } from "../../src/opencv/mod.ts";
import { MapperGraph } from "../../mod.ts";
import { InteropError, messageOf } from "../../src/core/errors.ts";
import { edgeOf, type Mapper } from "../../src/core/graph/mapper.ts";
import { host } from "../../src/host/mod.ts";
import { OpenCLContext, type OpenCLDevice } from "../../src/opencl/mod.ts";
import { OpenCVContext } from "../../src/opencv/mod.ts";
import { freeSlots } from "../faults/slots.ts";
import { SIZE } from "./case.ts";
import { buffersOf, devicesByName, objectsIn, OpenCLEnd } from "./opencl_end.ts";
import { hostOfPlanes } from "./opencv_bytes.ts";
import { MatEnd, matOfOpenCV } from "./opencv_mat_end.ts";
import { foreignUMat, UMatEnd, umatOfOpenCV } from "./opencv_umat_end.ts";
import { ALIGNED_MAT, ANY_MAT, MAT_OF_OPENCV, PROBES } from "./opencv_variants.ts";
import type { Candidate, End, Subject } from "./subject.ts";

const TO_MAT = "host→opencv.mat";
const FROM_MAT = "opencv.mat→host";
const TO_UMAT = edgeOf(openCLToOpenCVUMat as unknown as Mapper);
const FROM_UMAT = edgeOf(openCVUMatToOpenCL as unknown as Mapper);

/** Routes that the graph makes of several edges. */
const ROUTES: Readonly<Record<string, readonly string[]>> = {
  "host→opencv.umat": ["host→opencl", TO_UMAT],
  "opencv.umat→opencv.mat": [FROM_UMAT, "opencl→host", TO_MAT],
  "opencv.mat→opencv.umat": [FROM_MAT, "host→opencl", TO_UMAT],
};

/** What a Mat or UMat that is mapped from lies in. */
type Memory = "memory of samepage's" | "memory of OpenCV's";

/** OpenCV uses no CPU by itself unless it is told to; it asks once. */
if (Deno.env.get("OPENCV_OPENCL_DEVICE") === undefined) Deno.env.set("OPENCV_OPENCL_DEVICE", ":CPU:");

/** The edges of OpenCV's Mats, and of its UMats on every device of every platform, and the routes that lead through them. */
export function opencv(): Candidate[] {
  const onDevices = [TO_UMAT, FROM_UMAT, ...Object.keys(ROUTES)];
  try {
    OpenCVContext.open()[Symbol.dispose]();
  } catch (error) {
    return [TO_MAT, FROM_MAT, ...onDevices].map((edge) => ({ edge, open: reasonOf(error) }));
  }
  return [...mats(), ...umats(onDevices)];
}

function mats(): Candidate[] {
  return [
    { edge: TO_MAT, open: () => openMat(TO_MAT, "memory of samepage's") },
    ...(["memory of samepage's", "memory of OpenCV's"] as const).map((memory) => (
      { edge: FROM_MAT, device: memory, open: () => openMat(FROM_MAT, memory) }
    )),
  ];
}

function umats(edges: readonly string[]): Candidate[] {
  try {
    const devices = devicesByName();
    if (devices.length === 0) return edges.map((edge) => ({ edge, open: "OpenCL has no device" }));
    const everywhere = devices.flatMap((device) => {
      const problem = problemOf(device);
      const where = `${device.platform}: ${device.name}`;
      return edges.map((edge) => ({
        edge,
        device: where,
        covered: edge in ROUTES,
        open: problem ?? (() => openUMat(edge, device)),
      }));
    });
    return [...everywhere, { edge: FROM_UMAT, device: "memory of OpenCV's", open: openOwnUMat() }];
  } catch (error) {
    return edges.map((edge) => ({ edge, open: reasonOf(error) }));
  }
}

/** Why OpenCV cannot use a device. */
function problemOf(device: OpenCLDevice): string | undefined {
  using cl = open(device);
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([cl, cv]);
  using buffer = cl.allocate({ shape: [1], dtype: "u8" });
  return graph.explain(buffer, cv.umat).refused[0]?.reason;
}

function open({ platform, name }: OpenCLDevice): OpenCLContext {
  return OpenCLContext.open({ platform, device: name });
}

function openMat(edge: string, memory: Memory): Subject {
  const contexts = [OpenCVContext.open(), OpenCVContext.open()];
  const graph = new MapperGraph([host, ...contexts]);
  const foreign = memory === "memory of OpenCV's";
  const mats = contexts.map((cv) => foreign ? rowsOf(cv) : new MatEnd(cv));
  const [source, target, elsewhere] = edge === TO_MAT ? [hostOfPlanes, ...mats] : [mats[0], hostOfPlanes, hostOfPlanes];
  return {
    graph,
    source,
    target,
    elsewhere,
    expected: "alias",
    ...(foreign ? { variants: MAT_OF_OPENCV, silent: PROBES } : { variants: ANY_MAT }),
    silentAtAttaching: PROBES,
    withoutCalls: true,
    alive: () => -freeSlots(),
    openContext: () => OpenCVContext.open(),
    [Symbol.dispose]: () => disposeAll(...contexts, graph),
  };
}

/** Mats that OpenCV has made: they have two dimensions. */
function rowsOf(cv: OpenCVContext): End {
  return Object.assign(new MatEnd(cv, (init) => matOfOpenCV(cv, init)), ROWS);
}

/** Parts of such memory are rows, which begin at a multiple of 64 bytes. */
const ROWS: Pick<End, "shapeOf"> = { shapeOf: (bytes) => [bytes / 64, 64] };

/** True where host memory is a buffer in place; elsewhere a UMat of it has to begin where OpenCV's kernels load vectors. */
function usesInPlace(cl: OpenCLContext): boolean {
  using graph = new MapperGraph([host, cl]);
  using memory = host.allocate({ shape: [SIZE], dtype: "u8" });
  return graph.explain(memory, cl).steps.every(({ transfer }) => transfer === "alias");
}

function openUMat(edge: string, device: OpenCLDevice): Subject {
  const contexts = [OpenCVContext.open(), OpenCVContext.open()];
  // Overlapping host memory can be mapped to UMats through two OpenCL contexts, and not through one.
  const cls = [open(device), open(device)];
  const [cl] = cls;
  const graph = new MapperGraph([host, ...cls, ...contexts]);
  const buffers = new OpenCLEnd(cl, buffersOf(cl));
  const umats = contexts.map((cv) => new UMatEnd(cls, cv));
  const parts = ROUTES[edge]?.includes("host→opencl") && !usesInPlace(cl) ? ROWS : undefined;
  const kinds: Record<string, readonly End[]> = {
    "host": [{ ...hostOfPlanes, ...parts }],
    "opencl": [buffers],
    "opencv.mat": contexts.map((cv) => Object.assign(new MatEnd(cv), parts)),
    "opencv.umat": umats,
  };
  const [from, to] = edge.split("→").map((kind) => kinds[kind]);
  return {
    graph,
    source: from[0],
    target: to[0],
    ...(to.length > 1 ? { elsewhere: to[1] } : {}),
    ...(edge in ROUTES ? { via: ROUTES[edge] } : {}),
    ...(edge in ROUTES ? { expected: "as proven" } : { expected: "alias", withoutCalls: true }),
    variants: parts === undefined ? ANY_MAT : ALIGNED_MAT,
    silentAtAttaching: PROBES,
    alive: () => objectsIn(cl) - freeSlots(),
    openContext: () => OpenCVContext.open(),
    quiet: () => [buffers, ...umats].forEach((end) => end.quiet()),
    [Symbol.dispose]: () => disposeAll(...cls, ...contexts, buffers, ...umats, graph),
  };
}

/** UMats that OpenCV has made, in the OpenCL context that it uses by itself. */
function openOwnUMat(): Candidate["open"] {
  using asked = OpenCVContext.open();
  const handle = asked.openCLContext;
  return handle === undefined ? "OpenCV uses no OpenCL by itself" : () => openUMatIn(handle);
}

function openUMatIn(handle: bigint): Subject {
  const cv = OpenCVContext.open();
  const cl = OpenCLContext.attach(handle);
  const graph = new MapperGraph([host, cl, cv]);
  const buffers = new OpenCLEnd(cl, buffersOf(cl));
  const umats = new UMatEnd([cl], cv, (init) => umatOfOpenCV(cv, init));
  return {
    graph,
    source: Object.assign(umats, {
      shapeOf: (bytes: number) => [bytes / 64, 64],
      foreign: () => foreignUMat(cv.umat, { shape: [SIZE / 64, 64], dtype: "u8" }),
    }),
    target: buffers,
    expected: "alias",
    withoutCalls: true,
    variants: MAT_OF_OPENCV,
    silent: PROBES,
    alive: () => objectsIn(cl) - freeSlots(),
    openContext: () => OpenCVContext.open(),
    quiet: () => [buffers, umats].forEach((end) => end.quiet()),
    [Symbol.dispose]: () => disposeAll(cl, cv, buffers, umats, graph),
  };
}

function disposeAll(...all: readonly Disposable[]): void {
  using stack = new DisposableStack();
  for (const one of all) stack.use(one);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof InteropError)) throw error;
  return messageOf(error);
}
