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
import { elementOf } from "../../core/device/opencl_c.ts";

/** A parameter of a kernel, by clGetKernelArgInfo. */
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
  /** True for an image, a sampler and the like, by any type name: its value is an object of the driver. */
  readonly opaque: boolean;
  /** The size of a value whose type the program declares: 0 if it is unknown. Left out if the driver checks it. */
  readonly size?: number;
}

/** From the driver, or from the program's binary. @throws {ArgumentError} if neither has them. */
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
 * True if a by-value parameter is a driver object: PoCL accepts null for one; rusticl refuses eight zeros as a sampler.
 */
function isObject(handle: ClKernel, index: number): boolean {
  const { clSetKernelArg } = opencl();
  const none = clSetKernelArg(handle, index, 8n, NULL);
  if (none === 0 || none === CL_INVALID_SAMPLER) return true;
  return pinned(new Uint8Array(8), "opencl", (zeros) => clSetKernelArg(handle, index, 8n, zeros)) ===
    CL_INVALID_SAMPLER;
}
