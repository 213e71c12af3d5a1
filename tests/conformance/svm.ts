import { MapperGraph } from "../../mod.ts";
import { openCLSvmToOpenCL } from "../../src/opencl/edges/mod.ts";
import { InteropError, messageOf } from "../../src/core/errors.ts";
import { edgeOf, type Mapper } from "../../src/core/graph/mapper.ts";
import type { UsmKind } from "../../src/core/tensors/unified.ts";
import { host } from "../../src/host/mod.ts";
import { OpenCLContext, type OpenCLDevice, type OpenCLPointerTensor, type SvmGrain } from "../../src/opencl/mod.ts";
import { hostEnd } from "./host_end.ts";
import { buffersOf, devicesByName, type Memory, objectsIn, OpenCLEnd } from "./opencl_end.ts";
import { PASS } from "./opencl_raw.ts";
import type { Candidate, End, Subject } from "./subject.ts";

const SVM_TO_HOST = "opencl.svm→host";
const SVM_TO_BUFFER = edgeOf(openCLSvmToOpenCL as Mapper);
const HOST_TO_SVM = "host→opencl.svm";
const USM_TO_HOST = "opencl.usm→host";

/** One edge on one device, and why that may be none. */
interface Variant {
  readonly edge: string;
  /** Which memory of the device. */
  readonly name: string;
  /** Why the device has none. */
  readonly lacks: (device: OpenCLDevice) => string | false;
  readonly memoryOf: (context: OpenCLContext) => Memory;
  readonly about: Pick<Subject, "expected" | "withoutCalls">;
}

const IN_PLACE: Variant["about"] = { expected: "as proven", withoutCalls: true };

const VARIANTS: readonly Variant[] = [
  {
    edge: SVM_TO_HOST,
    name: "coarse",
    lacks: ({ svm }) => !svm.coarseGrainBuffer && "the device has no coarse-grained buffer sharing",
    memoryOf: (context) => svmOf(context, "coarse"),
    about: { expected: "as proven" },
  },
  {
    edge: SVM_TO_HOST,
    name: "fine",
    lacks: ({ svm }) => !svm.fineGrainBuffer && "the device has no fine-grained buffer sharing",
    memoryOf: (context) => svmOf(context, "fine"),
    about: IN_PLACE,
  },
  {
    edge: SVM_TO_BUFFER,
    name: "coarse",
    lacks: ({ svm }) => !svm.coarseGrainBuffer && "the device has no coarse-grained buffer sharing",
    memoryOf: (context) => svmOf(context, "coarse"),
    about: { expected: "as proven" },
  },
  {
    edge: SVM_TO_BUFFER,
    name: "fine",
    lacks: ({ svm }) => !svm.fineGrainBuffer && "the device has no fine-grained buffer sharing",
    memoryOf: (context) => svmOf(context, "fine"),
    about: { expected: "as proven" },
  },
  {
    edge: HOST_TO_SVM,
    name: "system",
    lacks: ({ svm }) => !svm.fineGrainSystem && "the device has no fine-grained system sharing",
    memoryOf: (context) => svmOf(context, "fine"),
    about: IN_PLACE,
  },
  ...(["host", "shared", "device"] as const).map((kind): Variant => ({
    edge: USM_TO_HOST,
    name: kind,
    lacks: ({ extensions }) =>
      !extensions.includes("cl_intel_unified_shared_memory") && "the device has no cl_intel_unified_shared_memory",
    memoryOf: (context) => usmOf(context, kind),
    about: kind === "device" ? { expected: "copy" } : IN_PLACE,
  })),
];

/** The edges between the host and memory that kernels reach by its address, shared virtual and unified shared. */
export function svm(): Candidate[] {
  try {
    const devices = devicesByName();
    if (devices.length === 0) return VARIANTS.map(({ edge }) => ({ edge, open: "OpenCL has no device" }));
    return devices.flatMap((device) => VARIANTS.map((variant) => candidate(variant, device)));
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return VARIANTS.map(({ edge }) => ({ edge, open: messageOf(error) }));
  }
}

function candidate(variant: Variant, device: OpenCLDevice): Candidate {
  return {
    edge: variant.edge,
    device: `${device.platform}: ${device.name}, ${variant.name}`,
    openedElsewhere: true,
    open: variant.lacks(device) || (() => open(variant, device)),
  };
}

function open({ edge, memoryOf, about }: Variant, device: OpenCLDevice): Subject {
  const choice = { platform: device.platform, device: device.name };
  // A buffer over shared memory is of the same context: there is no second one to map to.
  const toBuffer = edge === SVM_TO_BUFFER;
  const contexts = Array.from({ length: toBuffer ? 1 : 2 }, () => OpenCLContext.open(choice));
  const memories = contexts.map(memoryOf);
  if (toBuffer) memories.push(buffersOf(contexts[0]));
  const ends = memories.map((memory, i) => new OpenCLEnd(contexts[i] ?? contexts[0], memory));
  const graph = new MapperGraph([host, ...contexts]);
  const [source, target, elsewhere] = endsOf(edge, ends);
  return {
    graph,
    source,
    target,
    ...(elsewhere === undefined ? {} : { elsewhere }),
    ...about,
    alive: () => objectsIn(...contexts),
    openContext: () => OpenCLContext.open(choice),
    quiet: () => ends.forEach((end) => end.quiet()),
    [Symbol.dispose]() {
      using all = new DisposableStack();
      for (const one of [...contexts, ...ends, graph]) all.use(one);
    },
  };
}

function endsOf(edge: string, ends: readonly OpenCLEnd[]): readonly End[] {
  if (edge === HOST_TO_SVM) return [hostEnd, ...ends];
  return edge === SVM_TO_BUFFER ? ends : [ends[0], hostEnd, hostEnd];
}

function svmOf(context: OpenCLContext, grain: SvmGrain): Memory {
  return {
    target: context.svm,
    allocate: (init) => context.svm.allocate({ ...init, grain }),
    ...byPointer(PASS.svm),
  };
}

/** OpenCL's end of an edge of its unified shared memory. */
export function usmEnd(context: OpenCLContext, kind: UsmKind): OpenCLEnd {
  return new OpenCLEnd(context, usmOf(context, kind));
}

function usmOf(context: OpenCLContext, kind: UsmKind): Memory {
  return {
    target: context.usm,
    allocate: (init) => context.usm.allocate({ ...init, kind }),
    ...byPointer((address) => PASS.usm(address, context.device.platformHandle)),
  };
}

function byPointer(pass: typeof PASS.svm): Pick<Memory, "argumentsOf" | "placeOf"> {
  return {
    argumentsOf: (tensor) => [tensor as OpenCLPointerTensor, 0],
    placeOf(tensor) {
      const { rawHandle, layout } = tensor as OpenCLPointerTensor;
      return { pass: pass(rawHandle), offset: layout.byteOffset, length: layout.byteLength };
    },
  };
}
