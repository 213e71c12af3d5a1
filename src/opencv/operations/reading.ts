import { NULL } from "../../../ffi/address.ts";
import { aKind, shown } from "../../core/argument.ts";
import { bytesIn } from "../../core/checks.ts";
import { InteropError, NativeCallError } from "../../core/errors.ts";
import { isArrayBuffer } from "../../core/intrinsics.ts";
import { decode } from "../codecs/decode.ts";
import { wrong } from "../errors.ts";
import { fillEmpty, matIn } from "../header.ts";
import type { OpenCVMat } from "../mat.ts";
import { endHeader, ownMat } from "../mats/own.ts";
import type { MatTarget } from "../mats/target.ts";
import { filledSlot, viewOf } from "../slots.ts";
import { MAX_INT } from "../type.ts";
import { readImage } from "./file.ts";
import { readFlags, type ReadMode, type ReadOptions } from "./read_mode.ts";

export function imread(mats: MatTarget, filename: string, mode: ReadMode, options: ReadOptions): OpenCVMat {
  const flags = readFlags(mode, options);
  mats.context.resource.assertLive();
  return decoded(mats, "imread", shown(filename), readImage(filename), flags);
}

export function imdecode(
  mats: MatTarget,
  buf: Uint8Array<ArrayBuffer>,
  mode: ReadMode,
  options: ReadOptions,
): OpenCVMat {
  const flags = readFlags(mode, options);
  const bytes = fileIn(buf);
  mats.context.resource.assertLive();
  return decoded(mats, "imdecode", `a buffer of ${bytes.length} bytes`, bytes, flags);
}

/** The bytes of a file that a program passed. @throws {ArgumentError} for bytes that are shared with other threads. */
function fileIn(given: unknown): Uint8Array<ArrayBuffer> {
  const bytes = bytesIn(given, (what, hint) => wrong("buf", what, hint));
  if (bytes === undefined) throw wrong("buf", `expected a Uint8Array, got ${aKind(given)}.`);
  if (!isArrayBuffer(bytes.buffer)) throw wrong("buf", "its buffer is shared.", "Copy it: buf.slice().");
  const { byteLength } = bytes;
  if (byteLength >= 1 && byteLength <= MAX_INT) return bytes;
  throw wrong("buf", `expected 1 to ${MAX_INT} bytes, got ${byteLength}.`);
}

/**
 * The image in the bytes of a file, as a tensor over OpenCV's own memory.
 * @param mats the tensor's target
 * @param fn the method that decodes, for messages
 * @param what the name of the bytes, for messages
 * @throws {InteropError} on processors other than x86-64.
 * @throws {NativeCallError} for bytes that are not an image or end early.
 */
function decoded(mats: MatTarget, fn: string, what: string, bytes: Uint8Array<ArrayBuffer>, flags: number): OpenCVMat {
  assertReturning(fn);
  const slot = filledSlot((slot) => fillEmpty(slot, "mat"));
  try {
    const fault = decode(slot.header, bytes, flags);
    if (fault !== undefined) throw noImage(fn, `${what} is not a whole image: ${fault}.`);
    if (matIn(viewOf(slot)).data === NULL) {
      throw noImage(
        fn,
        `OpenCV cannot decode ${what}: it is not an image, or a part of one.`,
        "OpenCV may say more on standard error.",
      );
    }
    return ownMat(mats, slot);
  } catch (error) {
    endHeader(slot);
    throw error;
  }
}

/** Throws except on x86-64: ffi/ does not describe how other machines return C++ objects. */
function assertReturning(fn: string): void {
  if (Deno.build.arch === "x86_64") return;
  throw new InteropError(`${fn} returns a C++ object, which samepage can take on x86-64 only.`, {
    api: "opencv",
    fn,
    hint: "Decode the file in JavaScript, and map its pixels.",
  });
}

function noImage(fn: string, what: string, hint?: string): NativeCallError {
  return new NativeCallError(`${fn} failed: ${what}`, { api: "opencv", fn, hint });
}
