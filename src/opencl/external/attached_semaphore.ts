import { CL_SEMAPHORE_TYPE_BINARY_KHR } from "../../../ffi/opencl/constants.ts";
import { CL_INVALID_VALUE } from "../../../ffi/opencl/errors.ts";
import {
  CL_SEMAPHORE_CONTEXT_KHR,
  CL_SEMAPHORE_PAYLOAD_KHR,
  CL_SEMAPHORE_TYPE_KHR,
} from "../../../ffi/opencl_semaphore/constants.ts";
import type { Semaphores } from "../../../ffi/opencl_semaphore/functions.ts";
import type { ClSemaphoreKhr } from "../../../ffi/opencl_semaphore/handles.ts";
import { NativeCallError } from "../../core/errors.ts";
import type { BaseContext } from "../base_context.ts";
import { checks } from "../check.ts";
import { check } from "../errors.ts";
import { infoU32, infoU64, infoU64s, type Query } from "../info.ts";
import { SEMAPHORE } from "./handles.ts";
import { counted, type SemaphoreList, semaphoresOf } from "./semaphore.ts";

/** In the OpenCL registry (cl.xml) since cl_khr_semaphore 0.9.1. Debian 12's headers are older. */
export const CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR = 0x2053;

/** A foreign semaphore, retained. */
export interface AttachedSemaphore {
  readonly functions: Semaphores;
  readonly list: SemaphoreList;
  /** The devices that it is for, as `cl_device_id`s; all of the context's where it was made for no other. */
  readonly devices: readonly bigint[];
}

/**
 * Asks the driver whether it is a binary semaphore of this context, and retains it. The payload says little: NVIDIA's
 * driver reports 0 whatever was signalled.
 * @throws {ArgumentError} if a driver has no semaphores, and for a handle of another context or of another kind.
 */
export function attachedSemaphore(context: BaseContext, given: bigint): AttachedSemaphore {
  const handle = checks.handleIn<ClSemaphoreKhr>(given, "handle");
  const { handle: owner, devices, name } = context;
  const lacking = devices.find(({ extensions }) => !extensions.includes(SEMAPHORE));
  if (lacking !== undefined) {
    const what = `${lacking.platform} has no ${SEMAPHORE} on ${lacking.name}.`;
    throw checks.wrong("handle", what, "The doctor says what a driver has. Hand a cl_event over: attachEvent().");
  }
  const functions = semaphoresOf(context.device);
  const query = queryOf(functions, handle);
  if (infoU64(INFO, query, CL_SEMAPHORE_CONTEXT_KHR) !== owner) {
    throw checks.wrong("handle", "the semaphore is of another cl_context.");
  }
  const type = infoU32(INFO, query, Number(CL_SEMAPHORE_TYPE_KHR));
  if (type !== CL_SEMAPHORE_TYPE_BINARY_KHR) {
    throw checks.wrong("handle", `expected a binary semaphore, got one of type 0x${type.toString(16)}.`);
  }
  const payload = infoU64(INFO, query, CL_SEMAPHORE_PAYLOAD_KHR);
  if (payload > 1n) {
    throw checks.wrong("handle", `a binary semaphore has 0 or 1 signals, and this one says ${payload}.`);
  }
  const listed = devicesOf(query);
  const stranger = listed.find((device) => !devices.some(({ handle }) => handle === device));
  if (stranger !== undefined) {
    throw checks.wrong("handle", `the semaphore is for a device that ${name} is not: 0x${stranger.toString(16)}.`);
  }
  check(functions.clRetainSemaphoreKHR(handle), "clRetainSemaphoreKHR");
  return {
    functions,
    list: counted(handle),
    devices: listed.length > 0 ? listed : devices.map(({ handle }) => handle),
  };
}

const INFO = "clGetSemaphoreInfoKHR";

function queryOf(functions: Semaphores, handle: ClSemaphoreKhr): Query {
  return (name, size, value, written) => functions[INFO](handle, name, size, value, written);
}

/** Empty where the driver does not report them, or the semaphore was made for all of them. */
function devicesOf(query: Query): readonly bigint[] {
  try {
    return infoU64s(INFO, query, CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR).filter((device) => device !== 0n);
  } catch (error) {
    if (error instanceof NativeCallError && error.code === CL_INVALID_VALUE) return [];
    throw error;
  }
}
