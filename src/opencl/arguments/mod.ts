/**
 * The arguments of kernels, and the kinds of their parameters.
 *
 * @module
 */
import {
  CL_KERNEL_ARG_ADDRESS_CONSTANT,
  CL_KERNEL_ARG_ADDRESS_GLOBAL,
  CL_KERNEL_ARG_ADDRESS_LOCAL,
  CL_KERNEL_ARG_ADDRESS_PRIVATE,
} from "../../../ffi/opencl/constants.ts";
import { type Parameter, type ParameterPlace, ValueParameter } from "../../core/device/parameter.ts";
import type { BaseContext } from "../base_context.ts";
import type { TypeSizes } from "../programs/type_sizes.ts";
import type { ParameterInfo } from "./info.ts";
import { LocalParameter } from "./local.ts";
import { IMAGE_TYPE, ImageParameter, RefusedParameter, SamplerParameter } from "./objects.ts";
import { GlobalParameter } from "./pointer.ts";
import { elementOf } from "../../core/device/opencl_c.ts";

type Make = (place: ParameterPlace, info: ParameterInfo) => Parameter<BaseContext>;

/** An object of the driver that samepage cannot make, or whose type the compiler does not report. */
const opaque: Make = (place) =>
  new RefusedParameter(
    place,
    `a ${place.type} cannot be passed: it is an object of the driver's own.`,
    "Images and samplers can be, where the parameter is declared by OpenCL's own names: image2d_t, sampler_t.",
  );
const uncheckable: Make = (place) =>
  new RefusedParameter(
    place,
    `how many bytes a ${place.type} has could not be found out, and the driver would take any number.`,
    "Declare the type with a name, at the top of the program, and build it from its source; or pass a pointer.",
  );
const pointer: Make = (place, info) => new GlobalParameter(place, info);

const KINDS: { readonly [address: number]: Make } = {
  [CL_KERNEL_ARG_ADDRESS_LOCAL]: (place) => new LocalParameter(place),
  [CL_KERNEL_ARG_ADDRESS_GLOBAL]: pointer,
  [CL_KERNEL_ARG_ADDRESS_CONSTANT]: pointer,
  [CL_KERNEL_ARG_ADDRESS_PRIVATE]: (place, info) =>
    info.size === 0 ? uncheckable(place, info) : new ValueParameter(place, elementOf(info.type) ?? info.size ?? 0),
};

/** Types whose values are driver objects, though a compiler may not say so. A wrong value crashes the process. */
const OPAQUE = /\b(?:image\w*_t|sampler_t|event_t|queue_t|clk_event_t|ndrange_t|reserve_id_t|pipe)\b/;

const SAMPLER_TYPE = /\bsampler_t\b/;

export function parametersOf(kernel: string, infos: readonly ParameterInfo[]): Parameter<BaseContext>[] {
  return infos.map((info, index) => {
    const { type, name } = info;
    return kindOf(info)({ api: "opencl", fn: "clSetKernelArg", kernel, index, type, name }, info);
  });
}

/** Adds the sizes of values whose types the program declares, if the driver does not check them. */
export function withSizes(
  infos: readonly ParameterInfo[],
  kept: readonly ParameterInfo[] | undefined,
  sizes: TypeSizes,
): readonly ParameterInfo[] {
  if (sizes.needless) return infos;
  const isOwn = (info: ParameterInfo) =>
    kindOf(info) === KINDS[CL_KERNEL_ARG_ADDRESS_PRIVATE] && elementOf(info.type) === undefined;
  const known = (info: ParameterInfo, i: number) => info.size ?? kept?.[i]?.size;
  const unknown = infos.filter((info, i) => isOwn(info) && known(info, i) === undefined);
  const found = sizes.of(unknown.map(({ type }) => type));
  return infos.map((info, i) => isOwn(info) ? { ...info, size: known(info, i) ?? found.get(info.type) ?? 0 } : info);
}

/** Some compilers report only a program's own name for an image type: such a type is opaque. */
function kindOf(info: ParameterInfo): Make {
  if (!info.opaque && !OPAQUE.test(info.type)) return KINDS[info.address] ?? opaque;
  if (IMAGE_TYPE.test(info.type)) return (place) => new ImageParameter(place, info);
  return SAMPLER_TYPE.test(info.type) ? (place) => new SamplerParameter(place) : opaque;
}
