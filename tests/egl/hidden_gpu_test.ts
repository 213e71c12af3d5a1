/** GPUs that EGL lists and CUDA_VISIBLE_DEVICES hides, over stand-ins for the two functions that say so. */
import { assertEquals, assertThrows } from "@std/assert";
import { NativeCallError } from "@samepage/interop";
import { EglContext, eglDevices } from "@samepage/interop/egl";
import { EGL_SUCCESS, EGL_TRUE } from "../../ffi/egl/constants.ts";
import { EGL_BAD_ALLOC, EGL_BAD_ATTRIBUTE } from "../../ffi/egl/errors.ts";
import { setTap } from "../../src/core/native/library.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { cString } from "../../src/core/native/text.ts";
import { test } from "./help.ts";

const EXTENSIONS = cString("EGL_NV_device_cuda");
let failing = EGL_SUCCESS;
let pending = EGL_SUCCESS;

setTap((api, functions) => {
  if (api === "egl") {
    const { eglGetError } = functions as { eglGetError: () => number };
    return {
      ...functions,
      eglGetError() {
        const code = pending === EGL_SUCCESS ? eglGetError() : pending;
        pending = EGL_SUCCESS;
        return code;
      },
    };
  }
  if (api !== "egl_extensions") return functions;
  return {
    ...functions,
    eglQueryDeviceStringEXT: () => addressOf(EXTENSIONS, "egl"),
    eglQueryDeviceAttribEXT(_device: bigint, _name: number, value: BigInt64Array) {
      pending = failing;
      if (failing !== EGL_SUCCESS) return 0;
      value[0] = 3n;
      return EGL_TRUE;
    },
  };
});

test("eglDevices() lists a GPU that CUDA does not see, and no number of CUDA's for it", () => {
  const numbers = () => new Set(eglDevices().map(({ cuda }) => cuda));
  assertEquals(numbers(), new Set([3]));
  failing = EGL_BAD_ATTRIBUTE;
  assertEquals(numbers(), new Set([undefined]));
  EglContext.open()[Symbol.dispose]();
  failing = EGL_BAD_ALLOC;
  const error = assertThrows(() => eglDevices(), NativeCallError);
  assertEquals([error.fn, error.codeName], ["eglQueryDeviceAttribEXT", "EGL_BAD_ALLOC"]);
  failing = EGL_SUCCESS;
});
