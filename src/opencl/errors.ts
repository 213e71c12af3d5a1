import * as cl from "../../ffi/opencl/errors.ts";
import { CompilerError } from "../core/device/program.ts";
import { ArgumentError, type ErrorFields, NativeCallError } from "../core/errors.ts";
import { type Check, checkOf, type ErrorMaker, errorOf, type Made, madeOf } from "../core/native/codes.ts";

/**
 * What NVIDIA's driver (580.159) returns for a wait, a flush and a query of any event, once a kernel has accessed
 * memory that it has not: the context is lost, and all work in it has failed.
 */
export const LOST = -9999;

/** Hints for codes whose names do not give the cause. */
const HINTS: ReadonlyMap<number, string> = new Map([
  [cl.CL_DEVICE_NOT_FOUND, "The platform has no such device; rusticl needs RUSTICL_ENABLE=<driver>."],
  [cl.CL_PLATFORM_NOT_FOUND_KHR, "Install a driver: apt install pocl-opencl-icd."],
  [cl.CL_MEM_OBJECT_ALLOCATION_FAILURE, "The device has not that much memory left."],
  [cl.CL_OUT_OF_RESOURCES, "The device has run out of something, or lost its context: open a new one."],
  [cl.CL_OUT_OF_HOST_MEMORY, "The driver could not allocate memory of its own."],
  [LOST, "A kernel has accessed memory that it has not. The context is lost, with its memory: open a new one."],
]);

/** The error of an OpenCL function's code; drivers may pass on codes of other APIs (facts: 999, 1). */
export const openclError: ErrorMaker = errorOf({
  api: "opencl",
  names: cl.ERROR_NAMES,
  unknown: "a code that OpenCL does not know",
  hints: HINTS,
});

/** The status of a failed command need not be an OpenCL code. `fn` submitted it; undefined if other code did. */
export function workError(status: number, fn: string | undefined): NativeCallError {
  const known = status === cl.CL_DEVICE_NOT_FOUND ? undefined : cl.ERROR_NAMES.get(status);
  const codeName = known ?? "a status of the driver's own";
  return new NativeCallError(`Work submitted by ${fn ?? "other code"} ended with ${codeName} (${status}).`, {
    api: "opencl",
    ...(fn === undefined ? {} : { fn }),
    code: status,
    codeName,
    hint: (status === LOST ? HINTS.get(status) : undefined) ?? "It failed itself, or waited for something that did.",
  });
}

export const check: Check = checkOf(openclError);

export const errcode: Int32Array<ArrayBuffer> = new Int32Array(1);

export const made: Made = madeOf(check, () => errcode[0]);

/** A program did not compile. */
export class BuildError extends CompilerError {}

/** Why a binary is refused: it was changed, made for another device or driver, or this driver refuses it. */
export type BinaryFault = "damaged" | "foreign" | "refused";

/** A program binary is refused: the program has to be built from its source. */
export class BinaryError extends ArgumentError {
  /** The reason. */
  readonly fault: BinaryFault;

  /** `fault` is the reason. */
  constructor(message: string, fault: BinaryFault, fields: ErrorFields = {}) {
    super(message, { hint: "Build the program from its source.", ...fields });
    this.fault = fault;
  }
}
