import { NULL } from "../../../ffi/address.ts";
import {
  CL_KERNEL_ARG_ACCESS_NONE,
  CL_KERNEL_ARG_ACCESS_QUALIFIER,
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
import { pinned } from "../../core/native/pin.ts";
import { infoString, infoU32, infoU64, type Query } from "../info.ts";
import { opencl } from "../library.ts";
import { elementOf } from "./types.ts";

/** What clGetKernelArgInfo says of one parameter of a kernel. */
export interface ParameterInfo {
  /** Its name in the source. */
  readonly name: string;
  /** Its type's name: `"uchar*"`, `"float4"`. */
  readonly type: string;
  /** CL_KERNEL_ARG_ADDRESS_…. */
  readonly address: number;
  /** CL_KERNEL_ARG_TYPE_… bits. */
  readonly qualifiers: bigint;
  /** CL_KERNEL_ARG_ACCESS_…. */
  readonly access: number;
  /** True for an image, a sampler and the like, whatever its type is called: its value is the driver's own object. */
  readonly opaque: boolean;
  /**
   * The bytes of a value whose type the program declares itself, where the driver takes any number of them: 0 where they
   * could not be found out. Left out where the driver checks.
   */
  readonly size?: number;
}

/**
 * What the driver says of a kernel's parameters, in order; where it has forgotten them, what was kept with its binary.
 *
 * @throws {ArgumentError} if nothing is known of them: no argument could be checked.
 */
export function infosOf(
  handle: ClKernel,
  kernel: string,
  kept: readonly ParameterInfo[] | undefined,
): readonly ParameterInfo[] {
  const query: Query = (name, size, value, written) => opencl().clGetKernelInfo(handle, name, size, value, written);
  const count = infoU32("clGetKernelInfo", query, CL_KERNEL_NUM_ARGS);
  const infos = askedOf(handle, count) ?? kept;
  if (infos?.length === count) return infos;
  throw new ArgumentError(`${kernel}: nothing is known of its arguments, so none could be checked.`, {
    api: "opencl",
    fn: "clGetKernelArgInfo",
    code: CL_KERNEL_ARG_INFO_NOT_AVAILABLE,
    codeName: "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",
    argument: "name",
    hint: "Build its program with -cl-kernel-arg-info.",
  });
}

function askedOf(handle: ClKernel, count: number): ParameterInfo[] | undefined {
  try {
    return Array.from({ length: count }, (_, i) => infoOf(handle, i));
  } catch (error) {
    if ((error as { code?: number }).code === CL_KERNEL_ARG_INFO_NOT_AVAILABLE) return undefined;
    throw error;
  }
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
  const { clSetKernelArg } = opencl();
  const none = clSetKernelArg(handle, index, 8n, NULL);
  if (none === 0 || none === CL_INVALID_SAMPLER) return true;
  return pinned(new Uint8Array(8), "opencl", (zeros) => clSetKernelArg(handle, index, 8n, zeros)) ===
    CL_INVALID_SAMPLER;
}
