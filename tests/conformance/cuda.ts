import { MapperGraph } from "../../mod.ts";
import { InteropError, messageOf } from "../../src/core/errors.ts";
import { edgeOf, type Mapper } from "../../src/core/graph/mapper.ts";
import {
  CudaContext,
  type CudaDevice,
  cudaDevices,
  cudaToCuda,
  hostToCuda,
  virtualToCuda,
} from "../../src/cuda/mod.ts";
import { host } from "../../src/host/mod.ts";
import { OpenCLContext, type OpenCLDevice, openclDevices } from "../../src/opencl/mod.ts";
import { OpenCVContext } from "../../src/opencv/mod.ts";
import { CudaEnd, deviceOf, managedOf, type Memory, pinnedOf, virtualOf } from "./cuda_end.ts";
import { hostEnd, oddHostEnd } from "./host_end.ts";
import { ASKED_OF_ACQUIRES, buffersOf, OpenCLEnd } from "./opencl_end.ts";
import { MatEnd } from "./opencv_mat_end.ts";
import { ANY_MAT, PROBES } from "./opencv_variants.ts";
import type { Candidate, End, Subject } from "./subject.ts";

const FROM_HOST = edgeOf(hostToCuda as unknown as Mapper);
const TO_HOST = "cuda→host";
const PINNED_TO_HOST = "cuda.pinned→host";
const MANAGED_TO_HOST = "cuda.managed→host";
const VIRTUAL_TO_HOST = "cuda.virtual→host";
const VIRTUAL_TO_OPENCL = "cuda.virtual→opencl";
const TO_CUDA = edgeOf(cudaToCuda as unknown as Mapper);
const VIRTUAL_TO_CUDA = edgeOf(virtualToCuda as unknown as Mapper);

/** One edge on one device, and why that may be none. */
interface Variant {
  readonly edge: string;
  /** What is special about it, in words. */
  readonly name?: string;
  /** The host's memory, where that is the source, and is not memory of `host.allocate()`. */
  readonly hosts?: End;
  /** Why the device has none. */
  readonly lacks?: (device: CudaDevice) => string | undefined;
  /** Which memory of the device is at CUDA's end. */
  readonly memoryOf: (context: CudaContext) => Memory;
  readonly about: Pick<Subject, "expected" | "withoutCalls">;
}

const VARIANTS: readonly Variant[] = [
  {
    edge: FROM_HOST,
    lacks: lacking("hostRegisterSupported", "registers no memory of the host"),
    memoryOf: deviceOf,
    about: { expected: "as proven" },
  },
  {
    edge: FROM_HOST,
    name: "in the middle of pages",
    hosts: oddHostEnd,
    lacks: ({ attributes }) => {
      return attributes.pageableMemoryAccess === 1 ? "the device reaches any memory of the host" : undefined;
    },
    memoryOf: deviceOf,
    about: { expected: "copy" },
  },
  { edge: TO_HOST, memoryOf: deviceOf, about: { expected: "copy" } },
  {
    edge: PINNED_TO_HOST,
    lacks: lacking("canMapHostMemory", "maps no memory of the host"),
    memoryOf: pinnedOf,
    about: { expected: "as proven", withoutCalls: true },
  },
  {
    edge: MANAGED_TO_HOST,
    lacks: lacking("managedMemory", "has no managed memory"),
    memoryOf: managedOf,
    about: { expected: "as proven", withoutCalls: true },
  },
  {
    edge: VIRTUAL_TO_HOST,
    lacks: lackingHostMemory,
    memoryOf: (context) => virtualOf(context, "host"),
    about: { expected: "as proven", withoutCalls: true },
  },
];

/** Routes that the graph makes of several edges, between CUDA and OpenCV. */
const ROUTES = {
  "cuda.pinned→opencv.mat": [PINNED_TO_HOST, "host→opencv.mat"],
  "opencv.mat→cuda": ["opencv.mat→host", FROM_HOST],
} as const;

type RouteName = keyof typeof ROUTES;

/** The edges of CUDA's memory, on every GPU, and the routes that lead through them. */
export function cuda(): Candidate[] {
  const routes = Object.keys(ROUTES) as RouteName[];
  const edges = [...VARIANTS.map(({ edge }) => edge), TO_CUDA, VIRTUAL_TO_CUDA, VIRTUAL_TO_OPENCL, ...routes];
  try {
    const devices = cudaDevices();
    return devices.flatMap((device) => [
      ...VARIANTS.map((variant) => candidate(variant, device)),
      ...[TO_CUDA, VIRTUAL_TO_CUDA].flatMap((edge) => devices.map((other) => between(edge, device, other))),
      ...(["device", "host"] as const).map((location) => toOpenCL(device, location)),
      ...routes.map((route) => routeOn(route, device)),
    ]);
  } catch (error) {
    return edges.map((edge) => ({ edge, open: reasonOf(error) }));
  }
}

/** The host's memory by cuMemCreate: from CUDA 12.2 on, and not on every system. */
function lackingHostMemory({ ordinal }: CudaDevice): string | undefined {
  using context = CudaContext.open({ ordinal });
  try {
    context.virtual.allocate({ shape: [1], dtype: "u8", location: "host" })[Symbol.dispose]();
  } catch (error) {
    return reasonOf(error);
  }
}

/** Why virtual memory of one device cannot be for another. */
function lackingVirtual(owner: CudaDevice, reader: CudaDevice): string | undefined {
  using context = CudaContext.open({ ordinal: owner.ordinal });
  using other = CudaContext.open({ ordinal: reader.ordinal });
  try {
    context.virtual.allocate({ shape: [1], dtype: "u8", devices: [other] })[Symbol.dispose]();
  } catch (error) {
    return reasonOf(error);
  }
}

/** From one device to another, or to another context of the same. */
function between(edge: string, owner: CudaDevice, reader: CudaDevice): Candidate {
  const device = owner === reader ? inWords(owner) : `${inWords(owner)} → ${inWords(reader)}`;
  const lacks = edge === VIRTUAL_TO_CUDA ? lackingVirtual(owner, reader) : undefined;
  return { edge, device, open: lacks ?? (() => openBetween(edge, owner, reader)) };
}

function openBetween(edge: string, owner: CudaDevice, reader: CudaDevice): Subject {
  const to = opened(reader, deviceOf);
  const memoryOf: Variant["memoryOf"] = edge === TO_CUDA
    ? deviceOf
    : (context) => virtualOf(context, "device", to.contexts);
  const from = opened(owner, memoryOf);
  const graph = new MapperGraph([host, ...from.contexts, ...to.contexts]);
  const [source] = from.ends;
  const [target, elsewhere] = to.ends;
  const reached = edge === VIRTUAL_TO_CUDA || to.contexts[0].peers.canReach(owner.ordinal);
  return {
    ...{ graph, source, target, elsewhere },
    expected: reached ? "as proven" : "copy",
    ...(reached ? { withoutCalls: true } : {}), // access is enabled once
    ...from.rest,
    quiet: () => [from, to].forEach(({ rest }) => rest.quiet()),
    [Symbol.dispose]: () => from.closeAll({ [Symbol.dispose]: () => to.closeAll(graph) }),
  };
}

/** To OpenCL, where it has the same device. */
function toOpenCL(device: CudaDevice, location: "device" | "host"): Candidate {
  const about = { edge: VIRTUAL_TO_OPENCL, device: `${inWords(device)}, ${location}` };
  try {
    const same = openclDevices().find(({ id }) => id.uuid === device.id.uuid);
    if (same === undefined) return { ...about, open: "OpenCL does not have the device" };
    const lacks = location === "host" ? lackingHostMemory(device) : undefined;
    return { ...about, open: lacks ?? (() => openInOpenCL(device, location, same)) };
  } catch (error) {
    return { ...about, open: reasonOf(error) };
  }
}

function openInOpenCL(device: CudaDevice, location: "device" | "host", same: OpenCLDevice): Subject {
  const from = opened(device, (context) => virtualOf(context, location));
  const choice = { platform: same.platform, uuid: device.id.uuid };
  const cls = [OpenCLContext.open(choice), OpenCLContext.open(choice)];
  const buffers = cls.map((cl) => new OpenCLEnd(cl, buffersOf(cl)));
  const graph = new MapperGraph([host, ...from.contexts, ...cls]);
  return {
    graph,
    source: from.ends[0],
    target: buffers[0],
    elsewhere: buffers[1],
    expected: "as proven",
    silent: ASKED_OF_ACQUIRES,
    ...from.rest,
    quiet: () => [from.rest, ...buffers].forEach((end) => end.quiet()),
    [Symbol.dispose]: () => from.closeAll(...cls, ...buffers, graph),
  };
}

function lacking(attribute: keyof CudaDevice["attributes"], what: string): NonNullable<Variant["lacks"]> {
  return ({ attributes }) => attributes[attribute] === 1 ? undefined : `the device ${what} (${attribute} is 0)`;
}

function candidate(variant: Variant, device: CudaDevice): Candidate {
  return {
    edge: variant.edge,
    device: variant.name === undefined ? inWords(device) : `${inWords(device)}, ${variant.name}`,
    open: variant.lacks?.(device) ?? (() => open(variant, device)),
  };
}

function open({ edge, memoryOf, hosts = hostEnd, about }: Variant, device: CudaDevice): Subject {
  const { contexts, ends, closeAll, rest } = opened(device, memoryOf);
  const graph = new MapperGraph([host, ...contexts]);
  const [source, target, elsewhere] = edge === FROM_HOST ? [hosts, ...ends] : [ends[0], hosts, hosts];
  return { graph, source, target, elsewhere, ...about, ...rest, [Symbol.dispose]: () => closeAll(graph) };
}

function routeOn(route: RouteName, device: CudaDevice): Candidate {
  try {
    OpenCVContext.open()[Symbol.dispose]();
  } catch (error) {
    return { edge: route, open: reasonOf(error) };
  }
  return { edge: route, device: inWords(device), open: () => openRoute(route, device) };
}

function openRoute(route: RouteName, device: CudaDevice): Subject {
  const fromMat = route === "opencv.mat→cuda";
  const { contexts, ends, closeAll, rest } = opened(device, fromMat ? deviceOf : pinnedOf);
  const cvs = [OpenCVContext.open(), OpenCVContext.open()];
  const graph = new MapperGraph([host, ...contexts, ...cvs]);
  const mats: End[] = cvs.map((cv) => new MatEnd(cv));
  const [[source], [target, elsewhere]] = fromMat ? [mats, ends] : [ends, mats];
  return {
    ...{ graph, source, target, elsewhere },
    via: ROUTES[route],
    expected: "as proven",
    variants: ANY_MAT,
    silentAtAttaching: PROBES,
    ...(fromMat ? {} : { withoutCalls: true }),
    ...rest,
    [Symbol.dispose]: () => closeAll(...cvs, graph),
  };
}

/** Two contexts on a device, their ends, and what every subject has of them. */
function opened({ ordinal }: CudaDevice, memoryOf: Variant["memoryOf"]) {
  const contexts = [CudaContext.open({ ordinal }), CudaContext.open({ ordinal })];
  const ends = contexts.map((context) => new CudaEnd(context, memoryOf(context)));
  const rest = {
    quiet: () => ends.forEach((end) => end.quiet()),
    alive: () => inUse(contexts[0]),
    openContext: () => CudaContext.open({ ordinal }),
    silentAtOpening: ["cudart.cudaDeviceGetAttribute", "cuda.cuDeviceGetAttribute"], // a device may not know one
  };
  const closeAll = (...also: readonly Disposable[]) => {
    using all = new DisposableStack();
    for (const one of [...contexts, ...ends, ...also]) all.use(one);
  };
  return { contexts, ends, rest, closeAll };
}

/** Memory of the device that somebody uses, in pieces of 16 MiB: what a driver keeps at hand changes by less. */
function inUse(cuda: CudaContext): number {
  const { free, total } = cuda.memory();
  return Math.floor((total - free) / 2 ** 24);
}

function inWords({ ordinal, name }: CudaDevice): string {
  return `${ordinal}: ${name}`;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof InteropError)) throw error;
  return messageOf(error);
}
