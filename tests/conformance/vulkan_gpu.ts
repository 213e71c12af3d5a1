import { MapperGraph } from "../../mod.ts";
import { type Gpu, sharedGpus } from "../../bench/harness/gpus.ts";
import type { HasLine } from "../../src/core/device/semaphore.ts";
import type { Context } from "../../src/core/graph/context.ts";
import { CudaEnd, deviceOf, virtualOf } from "./cuda_end.ts";
import { CudaImageEnd } from "./cuda_image.ts";
import { buffersOf, OpenCLEnd } from "./opencl_end.ts";
import { ImageEnd } from "./opencl_image.ts";
import type { Candidate, End, Subject } from "./subject.ts";
import { keepSemaphores, VulkanEnd, VulkanHands } from "./vulkan_end.ts";
import { PLAIN_IMAGES, VulkanImageEnd } from "./vulkan_image.ts";

/** An end of an edge, and its context. */
interface Held {
  readonly end: End & Disposable & { quiet?(): void };
  readonly context: Context & HasLine;
}

type Opens = (gpu: Gpu) => Held;

const vulkanBuffers: Opens = (gpu) => {
  const end = new VulkanEnd(gpu.vulkan());
  return { end, context: end.context };
};

const vulkanImages: Opens = (gpu) => {
  const end = new VulkanImageEnd(gpu.vulkan());
  return { end, context: end.context };
};

const openclBuffers: Opens = (gpu) => {
  const context = gpu.opencl();
  return { end: new OpenCLEnd(context, buffersOf(context)), context };
};

const openclImages: Opens = (gpu) => {
  const context = gpu.opencl();
  return { end: new ImageEnd(context, "2D"), context };
};

const cudaBuffers: Opens = (gpu) => {
  const context = gpu.cuda();
  return { end: new CudaEnd(context, deviceOf(context)), context };
};

const cudaVirtual: Opens = (gpu) => {
  const context = gpu.cuda();
  return { end: new CudaEnd(context, virtualOf(context, "device")), context };
};

const cudaImages: Opens = (gpu) => {
  const context = gpu.cuda();
  return { end: new CudaImageEnd(context), context };
};

const EDGES: { readonly [edge: string]: readonly [source: Opens, target: Opens] } = {
  "vulkan→opencl": [vulkanBuffers, openclBuffers],
  "vulkan→cuda": [vulkanBuffers, cudaBuffers],
  "cuda.virtual→vulkan": [cudaVirtual, vulkanBuffers],
  "vulkan.image→opencl.image": [vulkanImages, openclImages],
  "vulkan.image→cuda.image": [vulkanImages, cudaImages],
};

/** The edges between Vulkan, OpenCL and CUDA on one GPU. */
export function onGpu(): Candidate[] {
  const { gpus: [gpu], missing } = sharedGpus();
  return Object.keys(EDGES).map((edge) => ({ edge, open: missing ?? (() => opened(edge, gpu)), covered: true }));
}

function opened(edge: string, gpu: Gpu): Subject {
  using made = new DisposableStack();
  const [source, target] = EDGES[edge];
  const [from, to, another] = [source, target, target].map((opens) => {
    const held = opens(gpu);
    made.use(held.context);
    made.use(held.end);
    return held;
  });
  const hands = [from.end, to.end].find((end) => end instanceof VulkanHands)!;
  keepSemaphores(hands, [from, to, another].map(({ context }) => context.line));
  const graph = made.use(new MapperGraph([from.context, to.context, another.context]));
  const kept = made.move();
  return {
    ...{ graph, source: from.end, target: to.end, elsewhere: another.end, expected: "alias" },
    ...(edge.includes("image") ? { variants: PLAIN_IMAGES } : {}),
    quiet: () => [from, to, another].forEach(({ end }) => end.quiet?.()),
    [Symbol.dispose]: () => kept.dispose(),
  };
}
