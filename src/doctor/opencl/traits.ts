import { messageOf } from "../../core/errors.ts";
import type { Verdict } from "../../core/device/proofs.ts";
import type { OpenCLContext } from "../../opencl/context.ts";
import type { OpenCLDevice } from "../../opencl/device.ts";
import type { Fact, Trait } from "../report.ts";
import { identityOf } from "../traits.ts";

/** The traits of an open device that matter for sharing, the most important first. They fail one by one. */
export function traitsOf(cl: OpenCLContext, proofs: boolean): Trait[] {
  const { device } = cl;
  const lines: Readonly<Record<string, () => string | undefined>> = {
    "device": () => `${device.type}, ${device.computeUnits} compute units; ${device.version}; driver ${device.driver}`,
    "memory": () => memoryOf(device),
    "in place": () => proofs ? inPlace(cl) : "not tried (--no-proof)",
    "parts": () => `a sub-buffer begins at a multiple of ${device.subBufferAlign} bytes`,
    "SVM": () => svmOf(device),
    "images": () => imagesOf(device),
    "sharing": () => sharingOf(device),
    "not shared": () => lackingOf(device),
    "identity": () => identityOf(device.id),
  };
  return Object.entries(lines).flatMap(([label, ask]) => {
    const text = valueOrWhy(ask);
    return text === undefined ? [] : [{ label, text }];
  });
}

function valueOrWhy(ask: () => string | undefined): string | undefined {
  try {
    return ask();
  } catch (error) {
    return `could not be found out: ${messageOf(error)}`;
  }
}

export function unread(facts: readonly Fact[]): Trait[] {
  const failed = facts.filter(({ problem }) => problem !== undefined);
  return failed.map(({ name, problem }) => ({ label: "unread", text: `${name} could not be read: ${problem}` }));
}

function memoryOf(device: OpenCLDevice): string {
  const unified = device.unifiedMemory ? "it says that it shares the CPU's" : "of its own";
  return `${bytes(device.globalMemory)}, ${unified}; one buffer up to ${bytes(device.maxAllocation)}`;
}

/** The verdicts on host memory of the best alignment, of the least that is used in place, and on driver memory. */
export function verdictsOf(cl: OpenCLContext): readonly Verdict[] {
  const rule = cl.aliasRule();
  const least = rule === undefined ? [] : [cl.memory.classOf(BigInt(rule.address), rule.length)];
  const classes = [cl.memory.classOf(4096n, 64), ...least, cl.memory.classOf(undefined, 0)];
  return [...new Set(classes)].map((each) => cl.proofs.judge(each));
}

function inPlace(cl: OpenCLContext): string {
  const rule = cl.aliasRule();
  const driversOwn = cl.memory.classOf(undefined, 0);
  cl.proofs.tryToProve(driversOwn);
  const own = cl.proofs.judge(driversOwn).aliases ? "its own memory is the CPU's too" : "not its own memory";
  if (rule === undefined) return `not host memory; ${own}`;
  const address = rule.address === 1 ? "any address" : `addresses % ${rule.address} = 0`;
  const length = rule.length === 1 ? "any length" : `lengths % ${rule.length} = 0`;
  return `host memory at ${address}, ${length}; ${own}`;
}

function svmOf({ svm }: OpenCLDevice): string {
  const kinds = [
    svm.coarseGrainBuffer ? "coarse buffers" : "",
    svm.fineGrainBuffer ? "fine buffers" : "",
    svm.fineGrainSystem ? "all of the host's memory" : "",
    svm.atomics ? "atomics" : "",
  ].filter((kind) => kind !== "");
  return kinds.length === 0 ? "none" : kinds.join(", ");
}

function imagesOf({ images }: OpenCLDevice): string {
  if (images === undefined) return "none";
  const fromBuffers = images.pitchAlign === 0
    ? "none from a buffer"
    : `from a buffer: rows at multiples of ${images.pitchAlign} pixels`;
  return `2D to ${images.max2d.join(" × ")}, 3D to ${images.max3d.join(" × ")}; ${fromBuffers}`;
}

function sharingOf({ sharing }: OpenCLDevice): string {
  if (sharing.extensions.length === 0) return "no extension for it: only through the host";
  const handles = [
    ...sharing.memoryImports.map((type) => `memory in by ${type}`),
    ...sharing.semaphoreImports.map((type) => `semaphores in by ${type}`),
    ...sharing.semaphoreExports.map((type) => `semaphores out by ${type}`),
  ];
  return [sharing.extensions.join(" "), ...handles].join("; ");
}

/** The extensions that share with each other API, and who has one if this device has none. */
const OTHERS: readonly (readonly [extension: string, who: string])[] = [
  ["cl_khr_external_memory", "a GPU's driver with Vulkan or dma-bufs has it"],
  ["cl_khr_semaphore", "a GPU's driver with Vulkan has it"],
  ["cl_khr_gl_sharing", "a GPU's driver with OpenGL has it"],
  ["cl_khr_gl_event", "a GPU's driver with OpenGL has it"],
  ["cl_khr_egl_image", "drivers of phones and boards have it"],
  ["cl_khr_egl_event", "drivers of phones and boards have it"],
  ["cl_khr_external_memory_win32", "it needs Windows"],
  ["cl_khr_external_semaphore_win32", "it needs Windows"],
  ["cl_khr_d3d10_sharing", "it needs Windows"],
  ["cl_khr_d3d11_sharing", "it needs Windows"],
];

function lackingOf({ sharing }: OpenCLDevice): string | undefined {
  const lacks = OTHERS.filter(([extension]) => !sharing.extensions.includes(extension));
  if (lacks.length === 0) return undefined;
  const groups = Map.groupBy(lacks, ([, who]) => who);
  return [...groups].map(([who, group]) => `${group.map(([extension]) => extension).join(" ")} (${who})`).join("; ");
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

function bytes(count: number): string {
  const power = Math.max(0, Math.min(UNITS.length - 1, Math.floor(Math.log2(count) / 10)));
  const value = count / 1024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${UNITS[power]}`;
}
