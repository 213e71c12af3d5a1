import { MapperGraph } from "../../mod.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import { type LayoutInit, region } from "../../src/core/layout/layout.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import {
  VulkanContext,
  type VulkanImage,
  type VulkanImageInit,
  type VulkanImageTarget,
  type VulkanTensor,
} from "../../src/vulkan/mod.ts";
import { pixelsCall, rangesOf } from "../../src/vulkan/images/commands.ts";
import { SIZE } from "./case.ts";
import type { Candidate, End, Foreign, Subject, Variants } from "./subject.ts";
import { keepSemaphores, VulkanHands } from "./vulkan_end.ts";
import { devices } from "./vulkan.ts";

const EDGE = "vulkan.image→vulkan.image";

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

/** What of these an image of Vulkan's takes: it has no gaps. */
export const PLAIN_IMAGES: Variants = { ...IMAGE_ROWS.variants, padded: [], parts: [] };

/** Images of one byte a pixel, in layers. */
export const LAYERS: typeof IMAGE_ROWS = {
  shapeOf: (bytes) => [bytes / 64, 4, 16],
  variants: {
    contiguous: [
      { name: "one pixel", whole: { shape: [1, 1, 1, 1], dtype: "u8" } },
      { name: "odd", whole: { shape: [3, 31, 61], dtype: "u8" } },
    ],
    padded: [],
    parts: [],
  },
};

/** The edge from an image of Vulkan's to another Vulkan's, on every device that is here. */
export function vulkanImages(): Candidate[] {
  const names = devices();
  if (typeof names === "string") return [{ edge: EDGE, open: names }];
  return names.flatMap((device) => [
    { edge: EDGE, device, open: () => opened(device) },
    { edge: EDGE, device: `${device}, layers`, covered: true, open: () => opened(device, LAYERS) },
  ]);
}

function opened(device: string, { shapeOf, variants } = { ...IMAGE_ROWS, variants: PLAIN_IMAGES }): Subject {
  using made = new DisposableStack();
  const source = made.use(new VulkanImageEnd(device, shapeOf));
  const target = made.use(new VulkanImageEnd(device, shapeOf));
  keepSemaphores(source, [source.context.line, target.context.line]);
  const graph = made.use(new MapperGraph([source.context, target.context]));
  const kept = made.move();
  return {
    graph,
    source,
    target,
    expected: "alias",
    elsewhere: target,
    variants,
    openContext: () => VulkanContext.open({ device }),
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** An image's end of an edge: transfers write and read its pixels, with samepage's checks and without. */
export class VulkanImageEnd extends VulkanHands implements End {
  readonly target: VulkanImageTarget;
  readonly wholeOnly = true;
  readonly ownPitches = true;
  readonly noGaps = true;
  readonly shapeOf: typeof IMAGE_ROWS.shapeOf;
  readonly #made: Omit<VulkanImageInit, "shape">;

  /** `made`: what its images are made with. */
  constructor(
    device: string | VulkanContext,
    shapeOf: typeof IMAGE_ROWS.shapeOf = IMAGE_ROWS.shapeOf,
    made: Omit<VulkanImageInit, "shape"> = {},
  ) {
    super(device);
    this.shapeOf = shapeOf;
    this.#made = made;
    this.target = this.context.image("R8_UINT");
  }

  allocate({ shape }: LayoutInit): VulkanImage {
    return this.target.allocate({ shape, ...this.#made });
  }

  foreign(): Foreign {
    const shape = this.shapeOf(SIZE);
    const made = this.target.allocate({ shape });
    const { image } = made.handle;
    return {
      attach: (options) => this.target.attach(image, { shape }, options),
      misfit: (options) => this.target.attach(image, { shape: [...shape.slice(0, -1), 1] }, options),
      [Symbol.dispose]: () => made[Symbol.dispose](),
    };
  }

  submit(tensor: Tensor, bytes: Uint8Array): Fence {
    const image = tensor as VulkanImage;
    const from = this.filled(bytes);
    const { queue, line } = this.context;
    this.busy();
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
      const from = this.filled(bytes);
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

  #rows(direction: "read" | "write", tensor: Tensor, { rawHandle }: VulkanTensor) {
    const { rawHandle: object } = tensor as VulkanImage;
    const [all] = rangesOf(object.spec, Infinity);
    return pixelsCall(direction, object, rawHandle, all);
  }
}
