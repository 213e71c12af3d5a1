import {
  CL_KERNEL_ARG_ACCESS_READ_ONLY,
  CL_KERNEL_ARG_ACCESS_READ_WRITE,
  CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
} from "../../../ffi/opencl/constants.ts";
import { Parameter, type ParameterPlace } from "../../core/device/parameter.ts";
import { AccessError } from "../../core/errors.ts";
import { type Access, covers } from "../../core/memory/access.ts";
import { aKind } from "../../core/argument.ts";
import { elsewhere } from "../../core/checks.ts";
import type { BaseContext } from "../base_context.ts";
import { BufferTensor } from "../buffers/tensor.ts";
import { kernelTypeOf } from "../images/type.ts";
import { ImageSampler } from "../images/sampler.ts";
import { ImageTensor } from "../images/tensor.ts";
import type { ParameterInfo } from "./info.ts";

const ACCESSES: { readonly [qualifier: number]: Access } = {
  [CL_KERNEL_ARG_ACCESS_READ_ONLY]: "read",
  [CL_KERNEL_ARG_ACCESS_WRITE_ONLY]: "write",
  [CL_KERNEL_ARG_ACCESS_READ_WRITE]: "read-write",
};

export const IMAGE_TYPE = /\bimage(?:1d|2d|3d)\w*_t\b/;

export class ImageParameter extends Parameter<BaseContext> {
  readonly #imageType: string;
  readonly #access: Access;

  constructor(place: ParameterPlace, { type, access }: ParameterInfo) {
    super(place, 8, 8);
    this.#imageType = IMAGE_TYPE.exec(type)?.[0] ?? type;
    this.#access = ACCESSES[access] ?? "read-write";
  }

  override pack(value: unknown, view: DataView, offset: number, context: BaseContext): ImageTensor {
    if (!ImageTensor.isImage(value)) {
      throw this.wrong(
        `expected an image, got ${aKind(value)}.`,
        value instanceof BufferTensor
          ? "A buffer is not an image. Map its source, or the buffer, to cl.image(format)."
          : "Map a tensor to it: graph.map(tensor, cl.image({ order, type })).",
      );
    }
    value.resource.assertLive();
    if (value.context !== context) throw this.wrong(`${value.name} ${elsewhere(value.context, context)}.`);
    const type = kernelTypeOf(value.type, value.format);
    if (this.#imageType !== type) {
      throw this.wrong(
        `it is an ${this.#imageType}; ${value.name} is a ${value.type} image of ${value.format.name}, an ${type}.`,
        'The kind of image is chosen by cl.image(format, { type: "2D array" }).',
      );
    }
    if (!covers(value.access, this.#access)) {
      throw new AccessError(
        `${this.where} is for "${this.#access}", and ${value.name} was mapped for "${value.access}".`,
        this.about('Map it with { access: "read-write" }, or declare the parameter otherwise.'),
      );
    }
    view.setBigUint64(offset, value.rawHandle, true);
    return value;
  }

  override accessTo(): Access {
    return this.#access;
  }
}

export class SamplerParameter extends Parameter<BaseContext> {
  constructor(place: ParameterPlace) {
    super(place, 8, 8);
  }

  override pack(value: unknown, view: DataView, offset: number, context: BaseContext): ImageSampler {
    if (!ImageSampler.isSampler(value)) {
      throw this.wrong(`expected a sampler, got ${aKind(value)}.`, "Pass cl.sampler({ filter, addressing }).");
    }
    if (value.context !== context) throw this.wrong(`the sampler ${elsewhere(value.context, context)}.`);
    view.setBigUint64(offset, value.handle, true);
    return value;
  }
}

export class RefusedParameter extends Parameter<BaseContext> {
  readonly #why: readonly [what: string, hint: string];

  /** `why` is the reason and the hint. */
  constructor(place: ParameterPlace, ...why: readonly [what: string, hint: string]) {
    super(place, 0, 1);
    this.#why = why;
  }

  override pack(): never {
    throw this.wrong(...this.#why);
  }
}
