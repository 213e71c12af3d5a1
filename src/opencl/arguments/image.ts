import {
  CL_KERNEL_ARG_ACCESS_READ_ONLY,
  CL_KERNEL_ARG_ACCESS_READ_WRITE,
  CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
} from "../../../ffi/opencl/constants.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { type Access, covers } from "../../core/memory/access.ts";
import { AccessError } from "../../core/errors.ts";
import { kindOf } from "../check.ts";
import type { OpenCLContext } from "../context.ts";
import { OpenCLImage } from "../image.ts";
import { kernelTypeOf } from "../images/type.ts";
import { opencl } from "../library.ts";
import { OpenCLTensor } from "../tensor.ts";
import { Parameter } from "./parameter.ts";

/** What a kernel does to an image, by its qualifier. */
const ACCESSES: { readonly [qualifier: number]: Access } = {
  [CL_KERNEL_ARG_ACCESS_READ_ONLY]: "read",
  [CL_KERNEL_ARG_ACCESS_WRITE_ONLY]: "write",
  [CL_KERNEL_ARG_ACCESS_READ_WRITE]: "read-write",
};

/** The name of an image type, where the compiler does not tell a program's own name for it. */
export const IMAGE_TYPE = /\bimage(?:1d|2d|3d)\w*_t\b/;

/** An `image2d_t` and its like: its argument is an image. */
export class ImageParameter extends Parameter<OpenCLImage> {
  readonly #value = new BigUint64Array(1);

  /** @see {@link Parameter.accept} */
  accept(value: unknown, context: OpenCLContext): OpenCLImage {
    if (!OpenCLImage.isImage(value)) {
      throw this.wrong(
        `it is an image; got ${kindOf(value)}.`,
        value instanceof OpenCLTensor
          ? "A buffer is no image. Map its source, or the buffer, to cl.image(format)."
          : "Map a tensor to it: graph.map(tensor, cl.image({ order, type })).",
      );
    }
    value.resource.assertLive();
    this.assertAtHome(value.name, value.context, context);
    const expected = kernelTypeOf(value.type, value.format);
    const [wanted = this.info.type] = IMAGE_TYPE.exec(this.info.type) ?? [];
    if (wanted !== expected) {
      throw this.wrong(
        `it is an ${wanted}; ${value.name} is a ${value.type} image of ${value.format.name}, an ${expected}.`,
        'The kind of image is chosen by cl.image(format, { type: "2D array" }).',
      );
    }
    value.assertUsable(this.#accessTo(value));
    return value;
  }

  /** @see {@link Parameter.set} */
  set(kernel: ClKernel, image: OpenCLImage): number {
    image.assertUsable(this.#accessTo(image));
    this.#value[0] = image.rawHandle;
    return opencl().clSetKernelArg(kernel, this.index, 8n, this.#value);
  }

  /** @see {@link Parameter.usedBy} */
  override usedBy(image: OpenCLImage): OpenCLImage {
    return image;
  }

  /** What the kernel does to the image. @throws {AccessError} where that exceeds the image's own access. */
  #accessTo(image: OpenCLImage): Access {
    const access = ACCESSES[this.info.access] ?? "read-write";
    if (covers(image.access, access)) return access;
    throw new AccessError(`${this.where} is for "${access}", and ${image.name} was mapped for "${image.access}".`, {
      api: "opencl",
      argument: this.info.name,
      hint: `Map it with { access: "read-write" }, or declare the parameter otherwise.`,
    });
  }
}
