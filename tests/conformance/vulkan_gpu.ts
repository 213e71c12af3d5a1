import { MapperGraph } from "../../mod.ts";
import { type Gpu, sharedGpus } from "../../bench/harness/gpus.ts";
import type { Line } from "../../src/core/device/line.ts";
import type { HasLine } from "../../src/core/device/semaphore.ts";
import type { Context } from "../../src/core/graph/context.ts";
import { CudaEnd, deviceOf, virtualOf } from "./cuda_end.ts";
import { CudaImageEnd } from "./cuda_image.ts";
import { ASKED_OF_ACQUIRES, buffersOf, OpenCLEnd } from "./opencl_end.ts";
import { ImageEnd } from "./opencl_image.ts";
import type { ImageType } from "../../src/opencl/mod.ts";
import type { Candidate, End, Subject, Variants } from "./subject.ts";
import { keepSemaphores, VulkanEnd, VulkanHands } from "./vulkan_end.ts";
import { IMAGE_ROWS, LAYERS, PLAIN_IMAGES, VulkanImageEnd } from "./vulkan_image.ts";

/** An end of an edge, and its context. Where its work comes late, that is by a line of its own. */
interface Held {
  readonly end: End & Disposable & { quiet?(): void; readonly lateLine?: Line };
  readonly context: Context & HasLine;
}

type Opens = (gpu: Gpu) => Held;

const vulkanBuffers: Opens = (gpu) => {
  const end = new VulkanEnd(gpu.vulkan());
  return { end, context: end.context };
};

const vulkanImages = (of = IMAGE_ROWS): Opens => (gpu) => {
  const end = new VulkanImageEnd(gpu.vulkan(), of.shapeOf);
  return { end, context: end.context };
};

const openclBuffers: Opens = (gpu) => {
  const context = gpu.opencl();
  return { end: new OpenCLEnd(context, buffersOf(context)), context };
};

const openclImages = (type: ImageType): Opens => (gpu) => {
  const context = gpu.opencl();
  return { end: new ImageEnd(context, type), context };
};

const cudaBuffers: Opens = (gpu) => {
  const context = gpu.cuda();
  return { end: new CudaEnd(context, deviceOf(context)), context };
};

const cudaVirtual: Opens = (gpu) => {
  const context = gpu.cuda();
  return { end: new CudaEnd(context, virtualOf(context, "device")), context };
};

const cudaImages = (of = IMAGE_ROWS): Opens => (gpu) => {
  const context = gpu.cuda();
  return { end: new CudaImageEnd(context, of.shapeOf), context };
};

/** An edge, its ends, and what the suite asks of images. */
interface Edge {
  readonly edge: string;
  readonly ends: readonly [source: Opens, target: Opens];
  readonly variants?: Variants;
  readonly device?: string;
  readonly silent?: readonly string[];
}

const LAYERED = { variants: LAYERS.variants, device: "layers" };

const EDGES: readonly Edge[] = [
  { edge: "vulkan→opencl", ends: [vulkanBuffers, openclBuffers], silent: ASKED_OF_ACQUIRES },
  { edge: "vulkan→cuda", ends: [vulkanBuffers, cudaBuffers] },
  { edge: "cuda.virtual→vulkan", ends: [cudaVirtual, vulkanBuffers] },
  {
    edge: "vulkan.image→opencl.image",
    ends: [vulkanImages(), openclImages("2D")],
    variants: PLAIN_IMAGES,
    silent: ASKED_OF_ACQUIRES,
  },
  {
    edge: "vulkan.image→opencl.image",
    ends: [vulkanImages(LAYERS), openclImages("2D array")],
    ...LAYERED,
    silent: ASKED_OF_ACQUIRES,
  },
  { edge: "vulkan.image→cuda.image", ends: [vulkanImages(), cudaImages()], variants: PLAIN_IMAGES },
  { edge: "vulkan.image→cuda.image", ends: [vulkanImages(LAYERS), cudaImages(LAYERS)], ...LAYERED },
];

/** The edges between Vulkan, OpenCL and CUDA on one GPU. */
export function onGpu(): Candidate[] {
  const { gpus: [gpu], missing } = sharedGpus();
  return EDGES.map(({ edge, device, ...about }) => {
    return { edge, ...(device && { device }), open: missing ?? (() => opened(about, gpu)), covered: true };
  });
}

function opened({ ends: [source, target], ...about }: Omit<Edge, "edge" | "device">, gpu: Gpu): Subject {
  using made = new DisposableStack();
  const [from, to, another] = [source, target, target].map((opens) => {
    const held = opens(gpu);
    made.use(held.context);
    made.use(held.end);
    return held;
  });
  const hands = [from.end, to.end].find((end) => end instanceof VulkanHands)!;
  const lines = [from, to, another].flatMap(({ context: { line }, end: { lateLine = line } }) => [line, lateLine]);
  keepSemaphores(hands, [...new Set(lines)]);
  const graph = made.use(new MapperGraph([from.context, to.context, another.context]));
  const kept = made.move();
  return {
    ...{ graph, source: from.end, target: to.end, elsewhere: another.end, expected: "alias" },
    ...about,
    openContext: () => gpu.vulkan(),
    quiet: () => [from, to, another].forEach(({ end }) => end.quiet?.()),
    [Symbol.dispose]: () => kept.dispose(),
  };
}
