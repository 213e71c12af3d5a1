import { PrintedTarget } from "../core/graph/context.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import type { Memory, MemoryTarget } from "../core/contract.ts";
import type { Reason } from "../core/errors.ts";
import { type Layout, layout } from "../core/layout/layout.ts";
import { assertWhole } from "../core/layout/pictures.ts";
import type { Undo } from "../core/life/undo.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { type ImageImport, importImage } from "../core/tensors/foreign_memory.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { Part } from "../core/tensors/tensor.ts";
import type { OpenCLContext } from "./context.ts";
import { imagePortsOf } from "./external/image_ports.ts";
import { type ImageAbilities, limitProblem, nearestTo } from "./images/abilities.ts";
import { attachedImage, madeImage } from "./images/attached.ts";
import { PIXEL_FORMATS, type PixelFormat } from "./images/format.ts";
import { ownImage } from "./images/native.ts";
import { ImageSampler } from "./images/sampler.ts";
import {
  addressProblem,
  type HostPlace,
  type ImageProblem,
  type ImageShape,
  isProblem,
  pitchProblem,
  problemError,
  shapeOf,
  sliceProblem,
  tailProblem,
} from "./images/shape.ts";
import { ImageTensor, type ImageTensorInit } from "./images/tensor.ts";
import type { ImageType } from "./images/type.ts";

/** What an image is made of. */
export interface OpenCLImageInit extends ImageTensorInit {
  /** The target that `cl.image(format)` returned. */
  readonly target: ImageTarget;
}

/**
 * An image: pixels that a kernel reads and writes by coordinates, through the device's samplers. Its handle is the
 * `cl_mem`.
 *
 * `layout` is that of the pixels in the memory it was made over. In driver memory the real layout is unknown: `layout` has
 * no gaps there, and a map to the host has the driver's pitches.
 */
export class OpenCLImage extends ImageTensor {
  /** True for an image, and not for a proxy of one. */
  static override isImage(value: unknown): value is OpenCLImage {
    return super.isImage(value);
  }

  /** Its context. */
  override get context(): OpenCLContext {
    return this.target.context as OpenCLContext;
  }

  /** Lends the whole image again; OpenCL has no parts of images. @throws {LayoutError} for a part. */
  protected override derive(part: Part): OpenCLImage {
    assertWhole(
      part.layout,
      this,
      "opencl",
      "Map a part of the memory that it was made over, or give the kernel an origin.",
    );
    const { root, image } = this;
    const over = this.bufferOffset === undefined ? {} : { bufferOffset: this.bufferOffset };
    return new OpenCLImage({
      ...this.initOf(part),
      target: this.target as ImageTarget,
      image,
      root,
      ...over,
    });
  }
}

/** Options of {@link ImageTarget.allocate}. */
export interface ImageInit {
  /** Pixels along each dimension, outermost first, then the channels, if a pixel has several: `[480, 640, 4]`. */
  readonly shape: readonly number[];
}

const NAMES: Names<ImageInit> = { shape: true };

/** The order of a pixel's channels, by their number. */
const ORDERS = [undefined, "R", "RG", undefined, "RGBA"] as const;

/** Images of one format in one context, as a target. `cl.image(format)` returns the same object each time. */
export class ImageTarget extends PrintedTarget<OpenCLContext> implements MemoryTarget<OpenCLImage> {
  /** The kind of memory. */
  readonly kind = "opencl.image";
  /** The format of the pixels. */
  readonly format: PixelFormat;
  /** The kind of image; undefined if the shape decides. */
  readonly type: ImageType | undefined;
  /** Its ports: to the host; from other APIs by their images. For mappers. */
  readonly ports: Memory<OpenCLImage>;
  readonly #abilities: ImageAbilities;

  /** Made by `cl.image()`. */
  constructor(context: OpenCLContext, format: PixelFormat, type: ImageType | undefined, abilities: ImageAbilities) {
    super(context);
    this.format = format;
    this.type = type;
    this.#abilities = abilities;
    this.ports = imagePortsOf(this, (init) => new OpenCLImage({ ...init, target: this }), {
      kind: "host-view",
      places: true,
      prepare: ({ planes }) => context.images.tryToProveMap(this, planes![0]),
      judge: ({ planes }) => context.images.judgeMap(this, planes![0]),
    });
  }

  /** What it says besides its kind: the format. */
  protected override facts(): string[] {
    return [this.format.name];
  }

  /** True for images that were mapped to this target or allocated by it. */
  is(value: Mapped): value is OpenCLImage {
    return OpenCLImage.isImage(value) && value.target === this;
  }

  /**
   * Allocates an image in driver memory, not initialised. The device chooses the layout of its pixels.
   *
   * @throws {LayoutError} for a shape that is not an image of this format, or more than the device takes.
   * @throws {NativeCallError} if there is too little memory.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using image = cl.image({ order: "RGBA", type: "UNORM_INT8" }).allocate({ shape: [480, 640, 4] });
   * console.log(image.type, image.width); // 2D 640
   * ```
   */
  allocate(init: ImageInit): OpenCLImage {
    const at = layout({ shape: optionsIn(init, NAMES, "init").shape, dtype: this.format.dtype });
    const image = this.fit(at);
    if (isProblem(image)) throw problemError(this.format.name, image);
    const undo: Undo = [];
    this.context.resource.assertLive();
    const root = ownImage(this.context, this.format, image, undo);
    return new OpenCLImage({ target: this, ...madeImage(this, at, image, root, undo) });
  }

  /**
   * Attaches to an image of this `cl_context` and format that other code made, and retains it: in the driver's own memory,
   * for reading and writing, with one level and one sample. OpenCL reports its kind and size. Two tensors over one image
   * are peers.
   *
   * @param handle a live `cl_mem`; a wrong one crashes the process
   * @throws {ArgumentError} for anything but such an image.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * const target = cl.image({ order: "RGBA", type: "UNORM_INT8" });
   * using made = target.allocate({ shape: [4, 8, 4] }); // it stands for other code's
   * using image = target.attach(made.handle);
   * console.log(image.type, image.layout.shape); // 2D [ 4, 8, 4 ]
   * ```
   */
  attach(handle: bigint, options: AttachOptions = {}): OpenCLImage {
    return attaching(options, (access) => new OpenCLImage({ target: this, ...attachedImage(this, handle, access) }));
  }

  /**
   * An image over memory of other code's by its fd (clCreateImageWithProperties, cl_khr_external_memory_opaque_fd). The
   * fd stays the caller's, who may close it at once, whether this succeeds or not. The other code's work is ordered by
   * semaphores (`importSemaphore`), or by `after`: nothing here knows it.
   *
   * @param fd an opaque fd (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT) of memory on the same device
   * @param init the size of the image, and what the memory was made with; `offset` is 0
   * @throws {ArgumentError} for anything but an open fd, another device's `uuid`, and if the device imports none.
   * @throws {LayoutError} for a shape that is not an image of this format, or more than the device takes; for `tiling:
   * "linear"`, of which drivers show wrong pixels.
   * @throws {NativeCallError} if the driver refuses it.
   *
   * @example
   * ```ts ignore
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * declare const theirs: { uuid: string; exportFd(): number; allocationSize: number }; // a `VkImage` of a program's own code
   * using cl = OpenCLContext.open({ uuid: theirs.uuid });
   * const target = cl.image({ order: "RGBA", type: "UNORM_INT8" });
   * using image = target.importMemory(theirs.exportFd(), { shape: [480, 640, 4], size: theirs.allocationSize });
   * ```
   */
  importMemory(fd: number, init: ImageImport, options: AttachOptions = {}): OpenCLImage {
    return importImage(this, fd, init, this.format, options, ({ layers }, at) => {
      const image = this.fit(at, layers === undefined ? "2D" : "2D array");
      if (isProblem(image)) throw problemError(this.format.name, image);
    });
  }

  /**
   * A layout as an image of this target, or why it cannot be one. No native call. For mappers.
   *
   * @param type the kind, where the shape does not decide
   */
  fit(at: Layout, type: ImageType | undefined = this.type): ImageShape | ImageProblem {
    const { device } = this.context;
    const { limits, formats } = this.#abilities;
    if (!limits.support) return { argument: "target", problem: `${device.name} has no images.` };
    const image = shapeOf(at, this.format, type);
    if (isProblem(image)) return image;
    const there = formats[image.type];
    if (there.includes(this.format)) return limitProblem(limits, image) ?? image;
    return {
      argument: "format",
      problem: `${device.name} has no ${image.type} images of ${this.format.name}.`,
      ...(there.length === 0
        ? {}
        : { remedy: `It has ${nearestTo(this.format, there).map(({ name }) => name).join(", ")}.` }),
    };
  }

  /**
   * The images for a plane of a frame: of the same type, `R` for one channel, `RG` for two, `RGBA` for four; or why there
   * are none. The first plane has this very format. For mappers.
   */
  forPlane({ shape: [, , channels = 1] }: Layout, i: number): ImageTarget | Reason {
    const { format: { elements, name, type }, context } = this;
    if (channels === elements) return this;
    const format = PIXEL_FORMATS.get(`${ORDERS[channels]} ${type}`);
    if (format === undefined) return { reason: `format: there are no images of ${channels} channels of ${type}.` };
    if (i > 0) return context.images.target(format, this.type === undefined ? {} : { type: this.type });
    const reason =
      `format: a pixel of its first plane has ${channels} channel${channels === 1 ? "" : "s"}, and one of ` +
      `${name} ${elements}.`;
    return { reason, remedy: `Ask for images of ${format.name}.` };
  }

  /** Why an image cannot be over host memory, if it cannot. No native call. For mappers. */
  hostProblem(image: ImageShape, place: HostPlace): ImageProblem | undefined {
    return addressProblem(place.address, this.format.bytesPerPixel) ?? pitchProblem(image, this.format) ??
      tailProblem(image, place) ?? sliceProblem(image, this.context.device);
  }
}

/** How a kernel reads an image (`sampler_t`). Its dispose waits for kernels: PoCL 3.1 does not retain it. */
export class OpenCLSampler extends ImageSampler {
  /** Its context. */
  declare readonly context: OpenCLContext;

  /** True for a sampler, and not for a proxy of one. */
  static override isSampler(value: unknown): value is OpenCLSampler {
    return super.isSampler(value);
  }
}
