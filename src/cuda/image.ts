import { PrintedTarget } from "../core/graph/context.ts";
import type { CudaArray as ArrayHandle } from "../../ffi/cuda_runtime/handles.ts";
import type { Memory, MemoryTarget } from "../core/contract.ts";
import { assertWhole, pictureIn, type PictureSize } from "../core/layout/pictures.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { type Part, Tensor } from "../core/tensors/tensor.ts";
import { CudaArray } from "./arrays/array.ts";
import type { CudaArrayDType, CudaImageFormat } from "./arrays/format.ts";
import type { CudaPrimaryContext } from "./base.ts";
import { imagePortsOf } from "./external/image_ports.ts";
import type { CudaStreamContext } from "./stream.ts";

/**
 * Another API's image, in the driver's own order of pixels. Its handle is a `cudaArray_t`.
 *
 * Kernels read it through `array.texture()` and write it through `array.surface()`; streams copy it by `copy`.
 * What comes before the map is over when the first command on the context's own stream runs; let other
 * streams wait for that one.
 */
export class CudaImage extends Tensor<ArrayHandle> {
  #array: CudaArray | undefined;

  /** Its context. */
  get context(): CudaPrimaryContext {
    return this.target.context as CudaPrimaryContext;
  }

  /**
   * The same image for textures, surfaces and copies. Its uses are the image's own, and so is its end.
   *
   * @throws {DisposedError} if the image was disposed.
   * @throws {AccessError} while it is lent for writing.
   */
  get array(): CudaArray {
    const { handle } = this;
    return this.#array ??= CudaArray.over(this.context, handle, this);
  }

  /** Pixels along x. */
  get width(): number {
    return this.#size.width;
  }

  /** Pixels along y. */
  get height(): number {
    return this.#size.height;
  }

  /** The number of its layers, which kernels reach by `tex2DLayered`; undefined for an image without, which is one picture. */
  get layers(): number | undefined {
    return this.#size.layers;
  }

  get #size(): PictureSize {
    return pictureIn(this.layout.shape, (this.target as CudaImageTarget).channels)!;
  }

  /** Lends the whole image again; there are no parts of images. @throws {LayoutError} for a part. */
  protected derive(part: Part): CudaImage {
    assertWhole(part.layout, this, "cuda", "Give the kernel an origin.");
    return new CudaImage(this.initOf(part));
  }
}

/** Other APIs' images of one format, as a target. `cuda.image(format)` returns the same object each time. */
export class CudaImageTarget extends PrintedTarget<CudaStreamContext> implements MemoryTarget<CudaImage> {
  /** The kind of memory. */
  readonly kind = "cuda.image";
  /** The type of a channel. */
  readonly dtype: CudaArrayDType;
  /** Channels of a pixel. */
  readonly channels: 1 | 2 | 4;
  /** Its ports: images by opaque fds. For mappers. */
  readonly ports: Memory<CudaImage>;

  /** Made by `cuda.image()`. */
  constructor(context: CudaStreamContext, { dtype, channels = 1 }: CudaImageFormat) {
    super(context);
    this.dtype = dtype;
    this.channels = channels;
    this.ports = imagePortsOf(this, (init) => new CudaImage({ ...init, target: this }));
  }

  /** What it says besides its kind: the format. */
  protected override facts(): string[] {
    return [`${this.channels} × ${this.dtype}`];
  }

  /** True for images that were mapped to this target. */
  is(value: Mapped): value is CudaImage {
    return value instanceof CudaImage && value.target === this;
  }
}
