import type { Address } from "../../../ffi/address.ts";
import { CL_MAP_READ, CL_MEM_USE_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import type { MemoryClass, Verdict } from "../../core/device/proofs.ts";
import type { DescribedPlane } from "../../core/tensors/described.ts";
import type { GiveBack } from "../../core/life/resource.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { OpenCLContext } from "../context.ts";
import { ImageTarget, OpenCLImage, type OpenCLImageInit } from "../image.ts";
import { type ImageAbilities, imageAbilitiesOf } from "./abilities.ts";
import { imageClass, type ImagePlace, traitsOf } from "./classes.ts";
import { formatOf, type OpenCLImageFormat } from "./format.ts";
import { type ImageCopy, imageCopy, mapImageCall } from "./map.ts";
import { createImage, ownImage } from "./native.ts";
import { BufferImages } from "./over_buffer.ts";
import type { ImageShape } from "./shape.ts";
import { type ImageType, imageTypeOf } from "./type.ts";
import { Publication } from "../buffers/native.ts";
import type { RootBuffer } from "../buffers/tensor.ts";

/** Options of `cl.image`. */
export interface ImageOptions {
  /**
   * The kind of image. By default the shape decides between `"1D"`, `"2D"` and `"3D"`; a stack of pictures may as well be
   * a `"2D array"`, which another API's image with layers is; `"1D buffer"` is an image over an OpenCL buffer.
   */
  readonly type?: ImageType;
}

const OPTIONS: Names<ImageOptions> = { type: true };

/** The images of one context: targets, maps, and tensors over either. For mappers. */
export class OpenCLImages {
  /** Its images over buffers. */
  readonly overBuffers: BufferImages;
  readonly #context: OpenCLContext;
  readonly #targets = new Map<string, ImageTarget>();
  #abilities: ImageAbilities | undefined;

  /** Made by the context. */
  constructor(context: OpenCLContext) {
    this.#context = context;
    this.overBuffers = new BufferImages(context);
  }

  /** The images of a format, as a target: one object for each format and kind. */
  target(format: OpenCLImageFormat, options: ImageOptions): ImageTarget {
    const { type } = optionsIn(options, OPTIONS);
    const kind = type === undefined ? undefined : imageTypeOf(type);
    const pixels = formatOf(format);
    const key = `${pixels.name} ${kind}`;
    let target = this.#targets.get(key);
    if (target === undefined) {
      target = new ImageTarget(this.#context, pixels, kind, this.abilities);
      this.#targets.set(key, target);
    }
    return target;
  }

  /** The device's image limits and formats. @throws {NativeCallError} if the query fails. */
  get abilities(): ImageAbilities {
    return this.#abilities ??= imageAbilitiesOf(this.#context);
  }

  /** A new image in the driver's own memory; its release goes on the undo list. */
  createOwn({ format }: ImageTarget, image: ImageShape, undo: Undo): RootBuffer {
    return ownImage(this.#context, format, image, undo);
  }

  /** A new image over host memory. */
  createOver({ format }: ImageTarget, image: ImageShape, address: Address, undo: Undo): ClMem {
    return createImage(this.#context, format, image, { flags: CL_MEM_USE_HOST_PTR, address }, undo);
  }

  /** The copies between an image and host memory. */
  copy(mem: ClMem, image: ImageShape, address: Address, byteLength: number): ImageCopy {
    return imageCopy(this.#context, mem, image, address, byteLength);
  }

  /** The class of memory that an image is in. */
  classOf(place: ImagePlace): MemoryClass<OpenCLContext> {
    return imageClass(traitsOf(place));
  }

  /** Runs the experiments that {@link judgeMap} asks about. */
  tryToProveMap(target: ImageTarget, plane: DescribedPlane): void {
    for (const each of this.#classesOf(target, plane)) this.#context.proofs.tryToProve(each);
  }

  /** Whether a map of an image shows the host the image's own memory. No native call. */
  judgeMap(target: ImageTarget, plane: DescribedPlane): Verdict {
    const verdicts = this.#classesOf(target, plane).map((each) => this.#context.proofs.judge(each));
    return verdicts.find(({ aliases }) => !aliases) ?? verdicts[0];
  }

  /** The commands that return an image which the device wrote. */
  publish(mem: ClMem, image: ImageShape, aliases: boolean): GiveBack {
    return new Publication(this.#context.queue.line, aliases, () => mapImageCall(mem, image, false, CL_MAP_READ));
  }

  /** The tensor of an image. */
  tensor(init: OpenCLImageInit): OpenCLImage {
    return new OpenCLImage(init);
  }

  /** An image over a buffer is mapped as the buffer, whose class then counts. */
  #classesOf(target: ImageTarget, { layout, address }: DescribedPlane): MemoryClass<OpenCLContext>[] {
    const { format } = target;
    const image = target.fit(layout) as ImageShape; // it is one
    const asBuffer = this.#context.memory.classOf(address, layout.byteLength);
    if (image.type === "1D buffer") return [asBuffer];
    const asImage = this.classOf({ format, image, address });
    return image.type === "2D" && this.abilities.limits.bufferPitch > 0 ? [asImage, asBuffer] : [asImage];
  }
}
