import * as cl from "../../ffi/opencl/errors.ts";
import { ArgumentError, type ErrorFields, NativeCallError } from "../core/errors.ts";

/** What to do about the codes whose cause is not in their name. */
const HINTS: ReadonlyMap<number, string> = new Map([
  [cl.CL_DEVICE_NOT_FOUND, "The platform has no such device; rusticl needs RUSTICL_ENABLE=<driver>."],
  [cl.CL_PLATFORM_NOT_FOUND_KHR, "Install a driver: apt install pocl-opencl-icd."],
  [cl.CL_MEM_OBJECT_ALLOCATION_FAILURE, "The device has not that much memory left."],
  [cl.CL_OUT_OF_RESOURCES, "The device has run out of something, or lost its context: open a new one."],
  [cl.CL_OUT_OF_HOST_MEMORY, "The driver could not allocate memory of its own."],
]);

/** The error of an OpenCL function that answered a code; drivers pass codes of other APIs on (facts: 999, 1). */
export function openclError(code: number, fn: string, fields: ErrorFields = {}): NativeCallError {
  const codeName = cl.ERROR_NAMES.get(code) ?? "a code that OpenCL does not know";
  const hint = HINTS.get(code);
  return new NativeCallError(`${fn} failed with ${codeName} (${code}).`, {
    api: "opencl",
    fn,
    code,
    codeName,
    ...(hint === undefined ? {} : { hint }),
    ...fields,
  });
}

/**
 * The error of a command that was accepted and failed when it ran; its status need not be one of OpenCL's codes.
 *
 * @param fn what submitted it; undefined where somebody else did
 */
export function workError(status: number, fn: string | undefined): NativeCallError {
  const known = status === cl.CL_DEVICE_NOT_FOUND ? undefined : cl.ERROR_NAMES.get(status);
  const codeName = known ?? "a status of the driver's own";
  return new NativeCallError(`Work submitted by ${fn ?? "somebody else"} ended with ${codeName} (${status}).`, {
    api: "opencl",
    ...(fn === undefined ? {} : { fn }),
    code: status,
    codeName,
    hint: "It failed itself, or waited for something that did.",
  });
}

/** Throws unless a code is CL_SUCCESS. */
export function check(code: number, fn: string): void {
  if (code !== 0) throw openclError(code, fn);
}

/** Where the functions that make something put their code. */
export const errcode: Int32Array<ArrayBuffer> = new Int32Array(1);

/** Throws unless the function that made `handle` put CL_SUCCESS into {@link errcode}. */
export function made<H extends bigint>(handle: H, fn: string): H {
  check(errcode[0], fn);
  return handle;
}

/** A program did not compile; `log` is what the compiler says. */
export class BuildError extends NativeCallError {
  /** The build log of the device. */
  readonly log: string;

  /** The log's first lines belong into the message. */
  constructor(message: string, log: string, fields: ErrorFields) {
    super(message, fields);
    this.log = log;
  }
}

/** Why a binary is of no use: it was changed, made for another device or driver, or this driver refuses it. */
export type BinaryFault = "damaged" | "foreign" | "refused";

/** A program binary is of no use here: the program has to be built from its source. */
export class BinaryError extends ArgumentError {
  /** Why. */
  readonly fault: BinaryFault;

  /** `fault` is why. */
  constructor(message: string, fault: BinaryFault, fields: ErrorFields = {}) {
    super(message, { hint: "Build the program from its source.", ...fields });
    this.fault = fault;
  }
}
