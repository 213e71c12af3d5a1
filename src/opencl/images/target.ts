import { Allocation } from "../../core/memory/allocation.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import type { Target } from "../../core/graph/context.ts";
import { own } from "../../core/memory/own.ts";
import { describeLayout, type Layout, layout } from "../../core/layout/layout.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { OpenCLContext } from "../context.ts";
import { OpenCLImage } from "../image.ts";
import type { PixelFormat } from "./format.ts";
import { type ImageAbilities, limitProblem, nearestTo } from "./abilities.ts";
import {
  addressProblem,
  type HostPlace,
  type ImageProblem,
  type ImageShape,
  isProblem,
  pitchProblem,
  problemError,
  shapeOf,
  tailProblem,
} from "./shape.ts";
import { sliceProblem } from "./slice_pitch.ts";
import type { ImageType } from "./type.ts";

/** Options of {@link ImageTarget.allocate}. */
export interface ImageInit {
  /** Pixels along each dimension, outermost first, then the channels, if a pixel has several: `[480, 640, 4]`. */
  readonly shape: readonly number[];
}

const NAMES: Names<ImageInit> = { shape: true };

/**
 * Images of one format in one context, as a node of the graph. `cl.image(format)` returns the same object each time.
 */
export class ImageTarget implements Target<OpenCLImage> {
  /** The kind of memory. */
  readonly kind = "opencl.image";
  /** The context. */
  readonly context: OpenCLContext;
  /** The format of the pixels. */
  readonly format: PixelFormat;
  /** The kind of image; undefined if the shape decides. */
  readonly type: ImageType | undefined;
  readonly #abilities: ImageAbilities;

  /** Made by `cl.image()`. */
  constructor(context: OpenCLContext, format: PixelFormat, type: ImageType | undefined, abilities: ImageAbilities) {
    this.context = context;
    this.format = format;
    this.type = type;
    this.#abilities = abilities;
  }

  /** True for images that were mapped to this target or allocated by it. */
  is(value: Mapped): value is OpenCLImage {
    return OpenCLImage.isImage(value) && value.target === this;
  }

  /**
   * Allocates an image in driver memory, not initialised. The device chooses the layout of its pixels.
   *
   * @throws {LayoutError} for a shape that is no image of this format, or more than the device takes.
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
    const root = this.context.images.createOwn(this, image, undo);
    const allocation = new Allocation({
      kind: "opencl.image",
      byteLength: at.byteLength,
      free: () => undo[0](),
    });
    const name = `opencl image ${describeLayout(at)}`;
    const resource = own({ name, allocation, owners: [this.context.resource] });
    return new OpenCLImage({ target: this, handle: root.mem, layout: at, resource, image, root });
  }

  /** A layout as an image of this target, or why it cannot be one. No native call. For those who write mappers. */
  fit(at: Layout): ImageShape | ImageProblem {
    const { device } = this.context;
    const { limits, formats } = this.#abilities;
    if (!limits.support) return { argument: "target", problem: `${device.name} has no images.` };
    const image = shapeOf(at, this.format, this.type);
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

  /** Why an image cannot be over host memory, if it cannot. No native call. For those who write mappers. */
  hostProblem(image: ImageShape, place: HostPlace): ImageProblem | undefined {
    return addressProblem(place.address, this.format.bytesPerPixel) ?? pitchProblem(image, this.format) ??
      tailProblem(image, place) ?? sliceProblem(image, this.context.device);
  }
}
