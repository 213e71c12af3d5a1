import { PrintedTarget } from "../core/graph/context.ts";
import type { CudaArray as ArrayHandle } from "../../ffi/cuda_runtime/handles.ts";
import type { Memory, MemoryTarget } from "../core/contract.ts";
import { assertWhole, pictureIn, type PictureSize } from "../core/layout/pictures.ts";
import type { AttachOptions } from "../core/tensors/adopt.ts";
import { type ImageImport, importImage } from "../core/tensors/foreign_memory.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { type Part, Tensor } from "../core/tensors/tensor.ts";
import { CudaArray } from "./arrays/array.ts";
import { assertWithin } from "./arrays/extent.ts";
import type { CudaArrayDType, CudaImageFormat } from "./arrays/format.ts";
import type { CudaPrimaryContext } from "./base.ts";
import { imagePortsOf } from "./external/image_ports.ts";
import type { CudaStreamContext } from "./stream.ts";

/**
 * Another API's image, in the driver's own order of pixels. Its handle is a `cudaArray_t`.
 *
 * Kernels read it through `array.texture()` and write it through `array.surface()`; streams copy it by `copy`. The context's
 * own stream waits for the work before the map; let other streams wait for that stream.
 */
export class CudaImage extends Tensor<ArrayHandle> {
  #array: CudaArray | undefined;

  /** Its context. */
  get context(): CudaPrimaryContext {
    return this.target.context as CudaPrimaryContext;
  }

  /**
   * The image as an array, for textures, surfaces and copies. It shares the image's uses and its end.
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

  /** The number of its layers, which kernels reach by `tex2DLayered`; undefined for an image without layers. */
  get layers(): number | undefined {
    return this.#size.layers;
  }

  get #size(): PictureSize {
    return pictureIn(this.layout.shape, (this.target as CudaImageTarget).channels)!;
  }

  /** Lends the whole image again; there are no parts of images. @throws {LayoutError} for a part. */
  protected override derive(part: Part): CudaImage {
    assertWhole(part.layout, this, "cuda", "Give the kernel an origin.");
    return super.derive(part) as CudaImage;
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

  /**
   * An image over other code's memory by its fd (cudaExternalMemoryGetMappedMipmappedArray). The fd stays the caller's, who
   * may close it at once, whether this succeeds or not. samepage does not see the other code's work: order it by semaphores
   * (`importSemaphore`) or by `after`.
   *
   * @param fd an opaque fd (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT) of memory on the same device
   * @param init the size of the image, its offset in the memory, and the parameters of the memory
   * @throws {ArgumentError} for anything but an open fd, another device's `uuid`, and if the device imports no fds.
   * @throws {LayoutError} for a shape that is not an image of this format, or is larger than the device's images; for
   * `tiling: "linear"`, whose pixels drivers show wrongly.
   * @throws {NativeCallError} if the driver refuses the fd.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * declare const theirs: { uuid: string; exportFd(): number; allocationSize: number }; // a `VkImage` of a program's own code
   * using cuda = CudaContext.open({ uuid: theirs.uuid });
   * const target = cuda.image({ dtype: "u8", channels: 4 });
   * using image = target.importMemory(theirs.exportFd(), { shape: [480, 640, 4], size: theirs.allocationSize });
   * ```
   */
  importMemory(fd: number, init: ImageImport, options: AttachOptions = {}): CudaImage {
    const format = { dtype: this.dtype, elements: this.channels };
    return importImage(this, fd, init, format, options, ({ layers, ...size }) => {
      const use = { surface: true, layered: layers !== undefined };
      assertWithin({ ...size, depth: layers ?? 0 }, use, this.context.device);
    });
  }

  /** The format, for messages. */
  protected override facts(): string[] {
    return [`${this.channels} × ${this.dtype}`];
  }

  /** True for images that were mapped to this target. */
  is(value: Mapped): value is CudaImage {
    return value instanceof CudaImage && value.target === this;
  }
}
