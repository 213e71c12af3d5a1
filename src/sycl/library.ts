import type { Sycl } from "../../ffi/sycl/functions.ts";
import { SYMBOLS } from "../../ffi/sycl/symbols.ts";
import type { SyclNative } from "../../ffi/sycl_native/functions.ts";
import { SYMBOLS as NATIVE } from "../../ffi/sycl_native/symbols.ts";
import type { SyclWait } from "../../ffi/sycl_wait/functions.ts";
import { SYMBOLS as WAIT } from "../../ffi/sycl_wait/symbols.ts";
import type { Address } from "../../ffi/address.ts";
import { Checks } from "../core/checks.ts";
import { NativeCallError } from "../core/errors.ts";
import { checkOf, type Made, madeOf } from "../core/native/codes.ts";
import { keptLibrary } from "../core/native/libc.ts";
import { libraryPaths, type Link, openingOf } from "../core/native/library.ts";
import { textAt } from "../core/native/text.ts";
import { guarded } from "../guard/guard.ts";

export const checks: Checks = new Checks("sycl");

const GUARDED = guarded();

/** Opens the system's OpenCL loader first: the one in Intel's wheels, beside their libraries, finds no other driver. */
const behindOpenCL: Link = (path, symbols, api) => {
  for (const loader of libraryPaths("libOpenCL.so.1").toReversed()) {
    try {
      Deno.dlopen(loader, {});
      break;
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
    }
  }
  return GUARDED(path, symbols, api);
};

/** DPCTL, the C API of SYCL. */
export const sycl: () => Sycl = keptLibrary<Sycl>({
  api: "sycl",
  candidates: libraryPaths("libDPCTLSyclInterface.so"),
  symbols: SYMBOLS,
  link: behindOpenCL,
  hint: "Install it: pip install dpctl intel-opencl-rt, and name dpctl/libDPCTLSyclInterface.so by SAMEPAGE_LIB_SYCL.",
});

/** Other functions of the same file, and of the libraries that it links to. */
function alsoOf<T>(api: string, symbols: Deno.ForeignLibraryInterface, hint: string, link?: Link): () => T {
  return keptLibrary<T>({
    api,
    get candidates() {
      sycl();
      return [openingOf("sycl")?.path ?? "libDPCTLSyclInterface.so"];
    },
    symbols,
    hint,
    ...(link && { link }),
  });
}

/** DPCTL's functions that run on another thread. */
export const syclWait: () => SyclWait = alsoOf("sycl_wait", WAIT, "It is a part of DPCTL.");

/** libsycl's own functions. */
export const syclNative: () => SyclNative = alsoOf(
  "sycl_native",
  NATIVE,
  "Install intel-sycl-rt 2026: another version of libsycl has other names for its own functions.",
  GUARDED,
);

const UNSAID = "DPCTL keeps no code. DPCTL_VERBOSITY=warning makes it write the reason to stderr.";

/** The error of a function that failed without a code. */
export function failed(fn: string, hint: string = UNSAID): NativeCallError {
  return new NativeCallError(`${fn} failed.`, { api: "sycl", fn, hint });
}

/** Throws for null, by which DPCTL reports a failure. */
export const made: Made = madeOf(
  checkOf((_, fn, fields) => failed(fn, fields?.hint)),
  (handle) => handle === 0n ? -1 : 0,
);

/** Uses an object that `fn` made, and deletes it. @throws {NativeCallError} for null. */
export function using<H extends bigint, T>(
  object: H,
  fn: string,
  remove: (object: H) => void,
  use: (object: H) => T,
): T {
  made(object, fn);
  try {
    return use(object);
  } finally {
    remove(object);
  }
}

/** The text of a string that a function made, which this frees. @throws {NativeCallError} for null. */
export function taken(text: Address, fn: string): string {
  return using(text, fn, sycl().DPCTLCString_Delete, (at) => textAt(at)!);
}

/** The version of SYCL that DPCTL was built with. */
export function syclVersion(): string {
  return taken(sycl().DPCTLService_GetDPCPPVersion(), "DPCTLService_GetDPCPPVersion");
}
