/**
 * The arguments of kernels: one file for each kind of parameter.
 *
 * @module
 */
import {
  CL_KERNEL_ARG_ACCESS_NONE,
  CL_KERNEL_ARG_ACCESS_QUALIFIER,
  CL_KERNEL_ARG_ADDRESS_CONSTANT,
  CL_KERNEL_ARG_ADDRESS_GLOBAL,
  CL_KERNEL_ARG_ADDRESS_LOCAL,
  CL_KERNEL_ARG_ADDRESS_PRIVATE,
  CL_KERNEL_ARG_ADDRESS_QUALIFIER,
  CL_KERNEL_ARG_NAME,
  CL_KERNEL_ARG_TYPE_NAME,
  CL_KERNEL_ARG_TYPE_QUALIFIER,
  CL_KERNEL_NUM_ARGS,
} from "../../../ffi/opencl/constants.ts";
import { CL_INVALID_SAMPLER, CL_KERNEL_ARG_INFO_NOT_AVAILABLE } from "../../../ffi/opencl/errors.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { ArgumentError } from "../../core/errors.ts";
import { infoString, infoU32, infoU64, type Query } from "../info.ts";
import { opencl } from "../library.ts";
import type { OpenCLPointerTensor } from "../pointers/tensor.ts";
import type { OpenCLImage } from "../image.ts";
import type { OpenCLSampler } from "../sampler.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { elementOf } from "./element.ts";
import { IMAGE_TYPE, ImageParameter } from "./image.ts";
import { type LocalMemory, LocalParameter } from "./local.ts";
import { OpaqueParameter } from "./opaque.ts";
import type { Parameter, ParameterInfo } from "./parameter.ts";
import { type BaseOf, PointerParameter } from "./pointer.ts";
import type { TypeSizes } from "../programs/type_sizes.ts";
import { SamplerParameter } from "./sampler.ts";
import { ValueParameter } from "./value.ts";

/**
 * What a kernel argument can be: a tensor for a pointer; a number or bigint for a scalar; an array of them for a
 * vector; {@link LocalMemory} for `local` memory; the bytes of anything else that is passed by value (a struct).
 */
export type KernelArgument =
  | OpenCLTensor
  | OpenCLPointerTensor
  | BaseOf
  | OpenCLImage
  | OpenCLSampler
  | LocalMemory
  | number
  | bigint
  | readonly number[]
  | ArrayBufferView<ArrayBuffer>;

type Kind = new (kernel: string, index: number, info: ParameterInfo) => Parameter;

/** The kind of parameter for each address space; what is not here cannot be passed. */
const KINDS: { readonly [address: number]: Kind } = {
  [CL_KERNEL_ARG_ADDRESS_LOCAL]: LocalParameter,
  [CL_KERNEL_ARG_ADDRESS_GLOBAL]: PointerParameter,
  [CL_KERNEL_ARG_ADDRESS_CONSTANT]: PointerParameter,
  [CL_KERNEL_ARG_ADDRESS_PRIVATE]: ValueParameter,
};

/** Types whose values are the driver's own objects, where a compiler does not say so: a false one ends the process. */
const OPAQUE = /\b(?:image\w*_t|sampler_t|event_t|queue_t|clk_event_t|ndrange_t|reserve_id_t|pipe)\b/;

const SAMPLER_TYPE = /\bsampler_t\b/;

/**
 * The parameters of a kernel, in order. Where the driver has forgotten them, they are what was kept with its binary.
 *
 * @throws {ArgumentError} where nothing is known of them: no argument could be checked.
 */
export function parametersOf(
  handle: ClKernel,
  kernel: string,
  kept: readonly ParameterInfo[] | undefined,
  sizes: TypeSizes,
): Parameter[] {
  const count = infoU32(
    "clGetKernelInfo",
    (name, size, value, written) => opencl().clGetKernelInfo(handle, name, size, value, written),
    CL_KERNEL_NUM_ARGS,
  );
  const infos = infosOf(handle, count) ?? kept;
  if (infos?.length !== count) throw unknown(kernel);
  const sized = sizes.needless ? infos : withSizes(infos, kept, sizes);
  return sized.map((info, i) => new (kindFor(info))(kernel, i, info));
}

/** With the sizes of values whose types the program declares itself. */
function withSizes(
  infos: readonly ParameterInfo[],
  kept: readonly ParameterInfo[] | undefined,
  sizes: TypeSizes,
): readonly ParameterInfo[] {
  const isOwn = (info: ParameterInfo) => kindFor(info) === ValueParameter && elementOf(info.type) === undefined;
  const known = (info: ParameterInfo, i: number) => info.size ?? kept?.[i]?.size;
  const unknown = infos.filter((info, i) => isOwn(info) && known(info, i) === undefined);
  const found = sizes.of(unknown.map(({ type }) => type));
  return infos.map((info, i) => isOwn(info) ? { ...info, size: known(info, i) ?? found.get(info.type) ?? 0 } : info);
}

/** A program's own name for an image type is told by some compilers, and not what stands behind it: that is opaque. */
function kindFor(info: ParameterInfo): Kind {
  if (!info.opaque && !OPAQUE.test(info.type)) return KINDS[info.address] ?? OpaqueParameter;
  if (IMAGE_TYPE.test(info.type)) return ImageParameter;
  return SAMPLER_TYPE.test(info.type) ? SamplerParameter : OpaqueParameter;
}

/** What the driver says of them; undefined where it has forgotten. */
function infosOf(handle: ClKernel, count: number): ParameterInfo[] | undefined {
  try {
    return Array.from({ length: count }, (_, i) => infoOf(handle, i));
  } catch (error) {
    if ((error as { code?: number }).code === CL_KERNEL_ARG_INFO_NOT_AVAILABLE) return undefined;
    throw error;
  }
}

function unknown(kernel: string): ArgumentError {
  return new ArgumentError(`${kernel}: nothing is known of its arguments, so none could be checked.`, {
    api: "opencl",
    fn: "clGetKernelArgInfo",
    code: CL_KERNEL_ARG_INFO_NOT_AVAILABLE,
    codeName: "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",
    argument: "name",
    hint: "Build its program with -cl-kernel-arg-info.",
  });
}

function infoOf(handle: ClKernel, index: number): ParameterInfo {
  const fn = "clGetKernelArgInfo";
  const query: Query = (name, size, value, written) =>
    opencl().clGetKernelArgInfo(handle, index, name, size, value, written);
  const type = infoString(fn, query, CL_KERNEL_ARG_TYPE_NAME);
  const address = infoU32(fn, query, CL_KERNEL_ARG_ADDRESS_QUALIFIER);
  const access = infoU32(fn, query, CL_KERNEL_ARG_ACCESS_QUALIFIER);
  const isNamed = address === CL_KERNEL_ARG_ADDRESS_PRIVATE && elementOf(type) === undefined;
  return {
    name: infoString(fn, query, CL_KERNEL_ARG_NAME),
    type,
    address,
    qualifiers: infoU64(fn, query, CL_KERNEL_ARG_TYPE_QUALIFIER),
    access,
    opaque: access !== CL_KERNEL_ARG_ACCESS_NONE || (isNamed && isObject(handle, index)),
  };
}

/**
 * Is what is passed by value an object of the driver's own? PoCL takes no value at all for one, and for data refuses it;
 * rusticl says that eight zeros are no sampler.
 */
function isObject(handle: ClKernel, index: number): boolean {
  const none = opencl().clSetKernelArg(handle, index, 8n, null);
  if (none === 0 || none === CL_INVALID_SAMPLER) return true;
  return opencl().clSetKernelArg(handle, index, 8n, new Uint8Array(8)) === CL_INVALID_SAMPLER;
}
