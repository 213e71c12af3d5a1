import { MapperGraph } from "../../mod.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import { type LayoutInit, region } from "../../src/core/layout/layout.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import {
  VulkanContext,
  type VulkanImage,
  type VulkanImageInit,
  type VulkanImageTarget,
  type VulkanKernel,
  type VulkanTensor,
} from "../../src/vulkan/mod.ts";
import { rowsCall } from "../../src/vulkan/images/commands.ts";
import type { Candidate, End, Subject, Variants } from "./subject.ts";
import { type Gpu, sharedGpus } from "../../bench/harness/gpus.ts";
import { ImageEnd } from "./opencl_image.ts";
import { devices } from "./vulkan.ts";

const SPIN = new URL("../vulkan/shaders/spin.spv", import.meta.url);
const EDGE = "vulkan.image→vulkan.image";

/** Loops are cut short on llvmpipe: several runs keep it busy for milliseconds. */
const TURNS = 60_000;
const RUNS = 40;

/** Pixels of one byte, in rows of 64 where only their number is asked for. */
export const IMAGE_ROWS: { readonly shapeOf: (byteLength: number) => readonly number[]; readonly variants: Variants } =
  {
    shapeOf: (bytes) => [bytes / 64, 64],
    variants: {
      contiguous: [
        { name: "one pixel", whole: { shape: [1, 1, 1], dtype: "u8" } },
        { name: "odd", whole: { shape: [31, 61], dtype: "u8" } },
      ],
      padded: [
        { name: "padded rows", whole: { shape: [31, 61], dtype: "u8", rowAlign: 64 } },
        { name: "a channel of its own", whole: { shape: [7, 13, 1], dtype: "u8", strides: [256, 1, 1] } },
      ],
      parts: [
        {
          name: "rows from the middle",
          whole: { shape: [300, 64], dtype: "u8" },
          part: (whole) => region(whole, [64, 0], [200, 64]),
        },
      ],
    },
  };

/** The edges from an image of Vulkan's to another Vulkan's, on every device that is here, and to OpenCL's on a GPU. */
export function vulkanImages(): Candidate[] {
  const { gpus: [gpu], missing } = sharedGpus();
  const toOpenCL = { edge: "vulkan.image→opencl.image", open: missing ?? (() => openedOnGpu(gpu)), covered: true };
  const names = devices();
  if (typeof names === "string") return [{ edge: EDGE, open: names }, toOpenCL];
  return [...names.map((device) => ({ edge: EDGE, device, open: () => opened(device) })), toOpenCL];
}

/** Vulkan and OpenCL on one GPU. */
function openedOnGpu(gpu: Gpu): Subject {
  using made = new DisposableStack();
  const source = made.use(new VulkanImageEnd(gpu.vulkan()));
  const [cl, another] = [made.use(gpu.opencl()), made.use(gpu.opencl())];
  const [target, elsewhere] = [made.use(new ImageEnd(cl, "2D")), made.use(new ImageEnd(another, "2D"))];
  const graph = made.use(new MapperGraph([source.context, cl]));
  const kept = made.move();
  const variants = { ...IMAGE_ROWS.variants, padded: [], parts: [] };
  return { graph, source, target, expected: "alias", elsewhere, variants, [Symbol.dispose]: () => kept.dispose() };
}

function opened(device: string): Subject {
  using made = new DisposableStack();
  const source = made.use(new VulkanImageEnd(device));
  const target = made.use(new VulkanImageEnd(device));
  const graph = made.use(new MapperGraph([source.context, target.context]));
  const kept = made.move();
  const variants = { ...IMAGE_ROWS.variants, padded: [], parts: [] }; // an image of Vulkan's has no gaps
  return {
    graph,
    source,
    target,
    expected: "alias",
    elsewhere: target,
    variants,
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** An image's end of an edge: transfers write and read its pixels, with samepage's checks and without. */
export class VulkanImageEnd implements End, Disposable {
  readonly target: VulkanImageTarget;
  readonly context: VulkanContext;
  readonly wholeOnly = true;
  readonly ownPitches = true;
  readonly noGaps = true;
  readonly shapeOf = IMAGE_ROWS.shapeOf;
  readonly #spin: VulkanKernel;
  readonly #sum: VulkanTensor;
  readonly #made: Omit<VulkanImageInit, "shape">;

  /** `made`: what its images are made with. */
  constructor(device: string | VulkanContext, made: Omit<VulkanImageInit, "shape"> = {}) {
    this.#made = made;
    this.context = typeof device === "string" ? VulkanContext.open({ device }) : device;
    this.target = this.context.image("R8_UINT");
    this.#spin = this.context.program(Deno.readFileSync(SPIN)).kernel();
    this.#sum = this.context.allocate({ shape: [4], dtype: "u32" });
    this.context.queue.write(this.#sum, new Uint32Array(4)); // what bytes go through is made on the first transfer
  }

  allocate({ shape }: LayoutInit): VulkanImage {
    return this.target.allocate({ shape, ...this.#made });
  }

  submit(tensor: Tensor, bytes: Uint8Array): Fence {
    const image = tensor as VulkanImage;
    const from = this.#filled(bytes);
    const { queue, line } = this.context;
    for (let i = 0; i < RUNS; i++) this.#spin.run([1], [this.#sum, TURNS]);
    line.submit([{ tensor: image, access: "write", argument: "image" }], this.#rows("write", image, from), []);
    const fence = queue.fence();
    from.disposeAfter(fence);
    return fence;
  }

  // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
  async write(tensor: Tensor, bytes: Uint8Array): Promise<void> {
    this.context.queue.write(tensor as VulkanImage, bytes);
  }

  // deno-lint-ignore require-await
  async read(tensor: Tensor): Promise<Uint8Array> {
    const bytes = new Uint8Array(tensor.layout.byteLength);
    this.context.queue.read(tensor as VulkanImage, bytes);
    return bytes;
  }

  readonly raw = {
    write: (tensor: Tensor, bytes: Uint8Array) => {
      const from = this.#filled(bytes);
      const fence = this.context.line.submitRaw(this.#rows("write", tensor, from));
      return async () => {
        await fence.wait();
        from[Symbol.dispose]();
      };
    },
    read: (tensor: Tensor) => {
      using to = this.context.allocate({ shape: [tensor.layout.byteLength], dtype: "u8" });
      this.context.line.submitRaw(this.#rows("read", tensor, to)).waitSync();
      const bytes = new Uint8Array(tensor.layout.byteLength);
      this.context.queue.read(to, bytes);
      return Promise.resolve(bytes);
    },
  };

  [Symbol.dispose](): void {
    this.context[Symbol.dispose]();
  }

  #rows(way: "read" | "write", tensor: Tensor, { rawHandle }: VulkanTensor) {
    const { rawHandle: object, height } = tensor as VulkanImage;
    return rowsCall(way, object, rawHandle, { first: 0, count: height });
  }

  #filled(bytes: Uint8Array): VulkanTensor {
    const tensor = this.context.allocate({ shape: [bytes.length], dtype: "u8" });
    this.context.queue.write(tensor, bytes);
    return tensor;
  }
}
