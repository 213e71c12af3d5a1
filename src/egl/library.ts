import type { EGL } from "../../ffi/egl/functions.ts";
import { SYMBOLS } from "../../ffi/egl/symbols.ts";
import type { EGLExtensions } from "../../ffi/egl_extensions/functions.ts";
import { SYMBOLS as EGL_EXTENSIONS } from "../../ffi/egl_extensions/symbols.ts";
import type { GLES } from "../../ffi/gles/functions.ts";
import { SYMBOLS as GLES_SYMBOLS } from "../../ffi/gles/symbols.ts";
import type { GLESExtensions } from "../../ffi/gles_extensions/functions.ts";
import { SYMBOLS as GLES_EXTENSIONS } from "../../ffi/gles_extensions/symbols.ts";
import { Checks } from "../core/checks.ts";
import { functionsByAddress, libraryPaths } from "../core/native/library.ts";
import { keptLibrary } from "../core/native/libc.ts";
import { cString } from "../core/native/text.ts";
import { byStubs } from "../guard/stubs.ts";

export const checks: Checks = new Checks("egl");

export const egl: () => EGL = keptLibrary<EGL>({
  api: "egl",
  candidates: libraryPaths("libEGL.so.1", "libEGL.so"),
  symbols: SYMBOLS,
  hint: "Install the loader and a driver: apt install libegl1 libegl-mesa0.",
});

/** libGLESv2, opened on the first call. Its functions work on the thread's current context. */
export const gles: () => GLES = keptLibrary<GLES>({
  api: "gles",
  candidates: libraryPaths("libGLESv2.so.2", "libGLESv2.so"),
  symbols: GLES_SYMBOLS,
  hint: "Install it: apt install libgles2.",
});

let eglByName: EGLExtensions | undefined;
let glesByName: GLESExtensions | undefined;

/** EGL's extension functions. Check the extension too: libEGL may return an address for a function that no display has. */
export function eglExtensions(): EGLExtensions {
  return eglByName ??= functionsByAddress(
    "egl_extensions",
    EGL_EXTENSIONS,
    addressOf,
    byStubs,
  ) as unknown as EGLExtensions;
}

/** The functions of OpenGL ES's extensions. Check the extension too. */
export function glesExtensions(): GLESExtensions {
  return glesByName ??= functionsByAddress(
    "gles_extensions",
    GLES_EXTENSIONS,
    addressOf,
    byStubs,
  ) as unknown as GLESExtensions;
}

function addressOf(name: string): bigint {
  return egl().eglGetProcAddress(cString(name));
}
