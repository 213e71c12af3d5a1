import { NULL } from "../../../ffi/address.ts";
import { InteropError, NativeCallError } from "../../core/errors.ts";
import { decode } from "../codecs/decode.ts";
import type { OpenCVContext } from "../context.ts";
import { fillEmpty, matIn } from "../header.ts";
import type { OpenCVMat } from "../mat.ts";
import { endHeader, ownMat } from "../mats/own.ts";
import { filledSlot, viewOf } from "../slots.ts";

/**
 * The image in the bytes of a file, as a tensor over OpenCV's own memory.
 *
 * @param fn the method that decodes, for messages
 * @param what what the bytes are, for messages
 * @throws {InteropError} where functions that return an object cannot be called.
 * @throws {NativeCallError} where they are no image, or not all of one.
 */
export function decoded(
  cv: OpenCVContext,
  fn: string,
  what: string,
  bytes: Uint8Array<ArrayBuffer>,
  flags: number,
): OpenCVMat {
  cv.resource.assertLive();
  assertReturning(fn);
  const slot = filledSlot((slot) => fillEmpty(slot, "mat"));
  try {
    const fault = decode(slot.header, bytes, flags);
    if (fault !== undefined) throw noImage(fn, `${what} is no whole image: ${fault}.`);
    if (matIn(viewOf(slot)).data === NULL) {
      throw noImage(
        fn,
        `${what} is no image that OpenCV can decode, or not all of it is there.`,
        "OpenCV says more on standard error, where it knows more.",
      );
    }
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

function noImage(fn: string, what: string, hint?: string): NativeCallError {
  return new NativeCallError(`${fn} failed: ${what}`, {
    api: "opencv",
    fn,
    ...(hint === undefined ? {} : { hint }),
  });
}
