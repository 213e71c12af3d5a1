import type { ClMem } from "../../ffi/opencl/handles.ts";
import { LayoutError } from "../core/errors.ts";
import { Resource } from "../core/life/resource.ts";
import { type Part, Tensor, type TensorInit } from "../core/tensors/tensor.ts";
import type { OpenCLContext } from "./context.ts";
import type { PixelFormat } from "./images/format.ts";
import type { ImageShape } from "./images/shape.ts";
import type { ImageTarget } from "./images/target.ts";
import type { ImageType } from "./images/type.ts";
import type { RootBuffer } from "./tensor.ts";

/** What an image is made of. */
export interface OpenCLImageInit extends TensorInit<ClMem> {
  /** The target that `cl.image(format)` returned. */
  readonly target: ImageTarget;
  /** The size and pitches of its pixels. */
  readonly image: ImageShape;
  /** The `cl_mem` that its maps share: the image itself, or the buffer under it. */
  readonly root: RootBuffer;
  /** Its offset in that buffer; undefined for an image without a buffer. */
  readonly bufferOffset?: number;
}

/**
 * An image: pixels that a kernel reads and writes by coordinates, through the device's samplers. Its handle is the
 * `cl_mem`.
 *
 * `layout` is that of the pixels in the memory it was made over. In driver memory the real layout is unknown: `layout` has
 * no gaps there, and a map to the host has the driver's pitches.
 */
export class OpenCLImage extends Tensor<ClMem> {
  /** The format of its pixels. */
  readonly format: PixelFormat;
  /** The size and pitches of its pixels. For those who write mappers. */
  readonly image: ImageShape;
  /** The `cl_mem` that its maps share: the image itself, or the buffer under it. For those who write mappers. */
  readonly root: RootBuffer;
  /** Its offset in that buffer, in bytes; undefined for an image without a buffer. */
  readonly bufferOffset: number | undefined;
  readonly #own = true;

  /** Takes the resource over. */
  constructor(init: OpenCLImageInit) {
    super(init);
    this.format = init.target.format;
    this.image = init.image;
    this.root = init.root;
    this.bufferOffset = init.bufferOffset;
  }

  /** True for an image, and not for a proxy of one. */
  static isImage(value: unknown): value is OpenCLImage {
    return typeof value === "object" && value !== null && #own in value;
  }

  /** Its context. */
  get context(): OpenCLContext {
    return this.target.context as OpenCLContext;
  }

  /** The kind of image. */
  get type(): ImageType {
    return this.image.type;
  }

  /** Pixels along x. */
  get width(): number {
    return this.image.extent[0];
  }

  /** The host address of its first pixel, if it lies in host memory (CL_MEM_USE_HOST_PTR). */
  protected override get hostAddress(): bigint | undefined {
    const { hostAddress } = this.root;
    return hostAddress === undefined ? undefined : hostAddress + BigInt(this.bufferOffset ?? 0);
  }

  /** Lends the whole image again; OpenCL has no parts of images. @throws {LayoutError} for a part. */
  protected derive({ layout, grant, name }: Part): OpenCLImage {
    const { layout: own, target, root, image, rawHandle: handle } = this;
    const same = layout.dtype === own.dtype && String(layout.shape) === String(own.shape) &&
      String(layout.strides) === String(own.strides) && layout.byteOffset === own.byteOffset;
    if (!same) {
      throw new LayoutError(`layout: OpenCL has no images that are parts of others, as of ${this.name}.`, {
        api: "opencl",
        argument: "layout",
        hint: "Map a part of the memory that it was made over, or give the kernel an origin.",
      });
    }
    const resource = new Resource({ name, grants: [grant], owners: [this.resource] });
    const over = this.bufferOffset === undefined ? {} : { bufferOffset: this.bufferOffset };
    return new OpenCLImage({
      target: target as ImageTarget,
      handle,
      layout,
      resource,
      parent: this,
      image,
      root,
      ...over,
    });
  }
}
