import type { Fence } from "../../src/core/device/fence.ts";
import type { LayoutInit } from "../../src/core/layout/layout.ts";
import type { CudaContext, CudaImage, CudaImageTarget, CudaTensor } from "../../src/cuda/mod.ts";
import { copyPixels } from "../../src/cuda/transfers/array.ts";
import { CudaEnd, deviceOf } from "./cuda_end.ts";
import type { End } from "./subject.ts";
import { IMAGE_ROWS } from "./vulkan_image.ts";

/** CUDA's end of an edge of images of one byte a pixel: copies write and read its array, with samepage's checks and without. */
export class CudaImageEnd implements End, Disposable {
  readonly target: CudaImageTarget;
  readonly wholeOnly = true;
  readonly ownPitches = true;
  readonly noGaps = true;
  readonly onlyMapped = true;
  readonly shapeOf: typeof IMAGE_ROWS.shapeOf;
  readonly #cuda: CudaContext;
  /** Writes late what is copied to images. */
  readonly #buffers: CudaEnd;
  #scratch: CudaTensor[] = [];

  constructor(cuda: CudaContext, shapeOf: typeof IMAGE_ROWS.shapeOf = IMAGE_ROWS.shapeOf) {
    this.shapeOf = shapeOf;
    this.#cuda = cuda;
    this.#buffers = new CudaEnd(cuda, deviceOf(cuda));
    this.target = cuda.image({ dtype: "u8" });
  }

  /** Gives up what was kept for submitted work. */
  quiet(): void {
    this.#buffers.quiet();
    this.#scratch.splice(0).forEach((tensor) => tensor[Symbol.dispose]());
  }

  allocate(_init: LayoutInit): never {
    throw new Error("CUDA's images are other APIs'");
  }

  submit(image: CudaImage, bytes: Uint8Array): Fence {
    const from = this.#like(image);
    this.#scratch.push(from);
    this.#buffers.submit(from, bytes);
    this.#cuda.stream.copy(from, image.array);
    return this.#cuda.stream.fence();
  }

  async write(image: CudaImage, bytes: Uint8Array): Promise<void> {
    const { stream } = this.#cuda;
    await using from = this.#like(image);
    stream.write(from, bytes);
    stream.copy(from, image.array);
  }

  async read(image: CudaImage): Promise<Uint8Array> {
    const { stream } = this.#cuda;
    const bytes = new Uint8Array(image.layout.byteLength);
    await using to = this.#like(image);
    stream.copy(image.array, to);
    stream.read(to, bytes);
    return bytes;
  }

  readonly raw = {
    write: (image: CudaImage, bytes: Uint8Array) => {
      copyPixels(this.#cuda, image.rawHandle, image, bytes.slice(), true);
      return () => Promise.resolve();
    },
    read: (image: CudaImage) => {
      const bytes = new Uint8Array(image.layout.byteLength);
      copyPixels(this.#cuda, image.rawHandle, image, bytes, false);
      return Promise.resolve(bytes);
    },
  };

  [Symbol.dispose](): void {
    this.quiet();
    this.#buffers[Symbol.dispose]();
  }

  #like({ layout: { shape, dtype } }: CudaImage): CudaTensor {
    return this.#cuda.allocate({ shape, dtype });
  }
}
