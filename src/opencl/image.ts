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
  /** The kind of memory: what `cl.image(format)` answered. */
  readonly target: ImageTarget;
  /** Its pixels: how many, and where they lie. */
  readonly image: ImageShape;
  /** What all who map it share: the image itself, or the buffer that it was made over. */
  readonly root: RootBuffer;
  /** Where it begins in that buffer; undefined for an image of its own. */
  readonly bufferOffset?: number;
}

/**
 * An image: pixels that a kernel reads and writes by coordinates, through the device's samplers. Its handle is the
 * `cl_mem`.
 *
 * `layout` says where the pixels lie in the memory that it was made over. In memory of the driver's own nobody knows;
 * there it is what they would take without gaps, and a map to the host has the driver's pitches.
 */
export class OpenCLImage extends Tensor<ClMem> {
  /** What its pixels are. */
  readonly format: PixelFormat;
  /** How many they are, and where they lie: for those who write mappers. */
  readonly image: ImageShape;
  /** What all who map it share, the image itself or the buffer that it was made over: for those who write mappers. */
  readonly root: RootBuffer;
  /** Where it begins in that buffer, in bytes; undefined for an image of its own. */
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

  /** True for an image itself, and not for what a program has put in front of one. */
  static isImage(value: unknown): value is OpenCLImage {
    return typeof value === "object" && value !== null && #own in value;
  }

  /** The context whose memory it is. */
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

  /** Where its first pixel lies in host memory (CL_MEM_USE_HOST_PTR), if it does. */
  protected override get hostAddress(): bigint | undefined {
    const { hostAddress } = this.root;
    return hostAddress === undefined ? undefined : hostAddress + BigInt(this.bufferOffset ?? 0);
  }

  /** Lends all of it once more: OpenCL has no part of an image. @throws {LayoutError} for a part. */
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
