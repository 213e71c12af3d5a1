import type { Address } from "../../ffi/address.ts";
import * as va from "../../ffi/va/errors.ts";
import type { VA } from "../../ffi/va/functions.ts";
import { SYMBOLS } from "../../ffi/va/symbols.ts";
import type { VADrm } from "../../ffi/va_drm/functions.ts";
import { SYMBOLS as DRM_SYMBOLS } from "../../ffi/va_drm/symbols.ts";
import { Checks } from "../core/checks.ts";
import { type Check, checkOf, type ErrorMaker, errorOf } from "../core/native/codes.ts";
import { keptLibrary } from "../core/native/libc.ts";
import { lazyLibrary, libraryPaths } from "../core/native/library.ts";
import { textAt } from "../core/native/text.ts";

export const checks: Checks = new Checks("vaapi");

export const libva: () => VA = keptLibrary<VA>({
  api: "vaapi",
  candidates: libraryPaths("libva.so.2"),
  symbols: SYMBOLS,
  hint: "Install it: apt install libva2 libva-drm2.",
});

const openedDrm = lazyLibrary<VADrm>({
  api: "vaapi_drm",
  candidates: libraryPaths("libva-drm.so.2"),
  symbols: DRM_SYMBOLS,
  hint: "Install it: apt install libva-drm2.",
});

/** The `VADisplay` of an open render node; 0 if the fd is not a DRM device's. */
export function displayOf(fd: number): Address {
  return openedDrm().vaGetDisplayDRM(fd);
}

/** Hints for codes whose names do not give the cause. */
const HINTS: ReadonlyMap<number, string> = new Map([
  [va.VA_STATUS_ERROR_ALLOCATION_FAILED, "The driver has no more memory, or does not take memory of this kind."],
  [va.VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE, "See context.configs: memoryTypes says what the driver takes."],
  [va.VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT, "See context.formats: it says what the driver has."],
  [va.VA_STATUS_ERROR_INVALID_SURFACE, "Was the surface destroyed by its maker?"],
]);

export const vaError: ErrorMaker = errorOf({
  api: "vaapi",
  names: va.ERROR_NAMES,
  unknown: "a status that VA-API does not know",
  hints: HINTS,
  written(code) {
    const said = textAt(libva().vaErrorStr(code));
    return said === undefined ? `${code}` : `${code}: ${said}`;
  },
});

export const check: Check = checkOf(vaError);

export function structOf({ size }: { readonly size: number }, count = 1): DataView<ArrayBuffer> {
  return new DataView(new ArrayBuffer(size * count));
}
