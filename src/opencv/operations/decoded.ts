import { type Address, NULL } from "../../../ffi/address.ts";
import { InteropError, NativeCallError } from "../../core/errors.ts";
import type { OpenCVContext } from "../context.ts";
import { fillEmpty, matIn } from "../header.ts";
import type { OpenCVMat } from "../mat.ts";
import { endHeader, ownMat } from "../mats/own.ts";
import { filledSlot, viewOf } from "../slots.ts";

/**
 * The Mat that a function returns, as a tensor over OpenCV's own memory.
 *
 * @param what what it was to be made of, for messages
 * @throws {InteropError} where functions that return an object cannot be called.
 * @throws {NativeCallError} where it is empty.
 */
export function decoded(cv: OpenCVContext, fn: string, what: string, call: (result: Address) => void): OpenCVMat {
  cv.resource.assertLive();
  assertReturning(fn);
  const slot = filledSlot((slot) => {
    fillEmpty(slot, "mat");
    call(slot.header);
  });
  try {
    if (matIn(viewOf(slot)).data === NULL) throw noImage(fn, what);
    return ownMat(cv.mat, slot);
  } catch (error) {
    endHeader(slot);
    throw error;
  }
}

/** C++ returns objects as the ABI of the processor says; ffi/ knows that of x86-64. */
function assertReturning(fn: string): void {
  if (Deno.build.arch === "x86_64") return;
  throw new InteropError(`${fn} returns an object, and how C++ does that is known here on x86-64 only.`, {
    api: "opencv",
    fn,
    hint: "Decode the file in JavaScript, and map its pixels.",
  });
}

function noImage(fn: string, what: string): NativeCallError {
  return new NativeCallError(`${fn} failed: ${what} is no image that OpenCV can decode, or not all of it is there.`, {
    api: "opencv",
    fn,
    hint: "OpenCV says more on standard error, where it knows more.",
  });
}
