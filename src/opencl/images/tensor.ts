import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { Target } from "../../core/graph/context.ts";
import type { Layout } from "../../core/layout/layout.ts";
import { Tensor, type TensorInit } from "../../core/tensors/tensor.ts";
import type { BaseContext } from "../base_context.ts";
import type { RootBuffer } from "../buffers/tensor.ts";
import type { PixelFormat } from "./format.ts";
import type { ImageProblem, ImageShape } from "./shape.ts";
import type { ImageType } from "./type.ts";

/** A target for images, as its images know it. For mappers. */
export interface BaseImageTarget extends Target {
  /** The format of the pixels. */
  readonly format: PixelFormat;
  /** The kind of image; undefined if the shape decides. */
  readonly type: ImageType | undefined;
  /** A layout as an image of this target, or why it cannot be one; of a kind that the shape does not decide. */
  fit(at: Layout, type?: ImageType): ImageShape | ImageProblem;
}

/** What an image is made of. */
export interface ImageTensorInit extends TensorInit<ClMem> {
  /** The target that `cl.image(format)` returned. */
  readonly target: BaseImageTarget;
  /** The size and pitches of its pixels. */
  readonly image: ImageShape;
  /** The `cl_mem` that its maps share: the image itself, or the buffer under it. */
  readonly root: RootBuffer;
  /** Its offset in that buffer; undefined for an image without a buffer. */
  readonly bufferOffset?: number;
}

/** An image, as commands use it. */
export abstract class ImageTensor extends Tensor<ClMem> {
  /** The format of its pixels. */
  readonly format: PixelFormat;
  /** The size and pitches of its pixels. For mappers. */
  readonly image: ImageShape;
  /** The `cl_mem` that its maps share: the image itself, or the buffer under it. For mappers. */
  readonly root: RootBuffer;
  /** Its offset in that buffer, in bytes; undefined for an image without a buffer. */
  readonly bufferOffset: number | undefined;
  readonly #own = true;

  /** Takes the resource over. */
  constructor(init: ImageTensorInit) {
    super(init);
    this.format = init.target.format;
    this.image = init.image;
    this.root = init.root;
    this.bufferOffset = init.bufferOffset;
  }

  /** True for an image, and not for a proxy of one. */
  static isImage(value: unknown): value is ImageTensor {
    return typeof value === "object" && value !== null && #own in value;
  }

  /** Its context. */
  get context(): BaseContext {
    return this.target.context as BaseContext;
  }

  /** The kind of image. */
  get type(): ImageType {
    return this.image.type;
  }

  /** Pixels along x. */
  get width(): number {
    return this.image.extent[0];
  }

  /** Pixels along y: 1 for an image of one dimension; of an array of those, its layers. */
  get height(): number {
    return this.image.extent[1];
  }

  /** The host address of its first pixel, if it lies in host memory (CL_MEM_USE_HOST_PTR). */
  protected override get hostAddress(): bigint | undefined {
    const { hostAddress } = this.root;
    return hostAddress === undefined ? undefined : hostAddress + BigInt(this.bufferOffset ?? 0);
  }
}
