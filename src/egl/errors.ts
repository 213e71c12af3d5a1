import { EGL_FALSE, EGL_SUCCESS, EGL_TRUE } from "../../ffi/egl/constants.ts";
import * as EGL_ERRORS from "../../ffi/egl/errors.ts";
import { GL_NO_ERROR } from "../../ffi/gles/constants.ts";
import * as GL_ERRORS from "../../ffi/gles/errors.ts";
import type { ErrorFields, NativeCallError } from "../core/errors.ts";
import { type Check, checkOf, codeError, type Codes, type Made, madeOf } from "../core/native/codes.ts";
import { egl, gles } from "./library.ts";

const { EGL_BAD_ALLOC, EGL_BAD_DISPLAY, EGL_BAD_MATCH, EGL_CONTEXT_LOST, EGL_NOT_INITIALIZED } = EGL_ERRORS;
const { GL_CONTEXT_LOST, GL_OUT_OF_MEMORY } = GL_ERRORS;

/** Hints for codes whose names do not give the cause. */
const HINTS: ReadonlyMap<number, string> = new Map([
  [EGL_NOT_INITIALIZED, "No driver of this machine serves the display: apt install libegl-mesa0, or the GPU's own."],
  [EGL_BAD_ALLOC, "The driver has too little memory, or refuses the memory that it was given."],
  [EGL_BAD_MATCH, "The driver has no such combination: of format and modifier, or of contexts that share."],
  [EGL_BAD_DISPLAY, "Is the display one of this process's, and initialised?"],
  [EGL_CONTEXT_LOST, "The driver has lost all its contexts: open a new one."],
  [GL_OUT_OF_MEMORY, "The driver has too little memory."],
  [GL_CONTEXT_LOST, "A command has crashed the device: open a new context."],
]);

const GL_CODES: Codes = {
  api: "gles",
  names: GL_ERRORS.ERROR_NAMES,
  unknown: "an unknown code",
  hints: HINTS,
  written: (code) => `0x${code.toString(16)}`,
};
const EGL_CODES: Codes = {
  ...GL_CODES,
  api: "egl",
  names: new Map([...EGL_ERRORS.ERROR_NAMES, [EGL_SUCCESS, "EGL_SUCCESS"]]),
};

export const LOST: readonly number[] = [EGL_CONTEXT_LOST, GL_CONTEXT_LOST];

/** The limit of errors to read, because a lost context reports errors for ever. */
const MAX_ERRORS = 16;

/** The error of an EGL or GL code: no code belongs to both APIs. */
export function nativeError(code: number, fn: string, fields?: ErrorFields): NativeCallError {
  return codeError(EGL_CODES.names.has(code) ? EGL_CODES : GL_CODES, code, fn, fields);
}

/** The error of the EGL function that has just failed on this thread. Read before any other EGL call resets it. */
export function eglError(fn: string, fields?: ErrorFields): NativeCallError {
  return nativeError(egl().eglGetError(), fn, fields);
}

export const check: Check = checkOf((_, fn, fields) => eglError(fn, fields), EGL_TRUE);

export const made: Made = madeOf(check, (handle) => handle === 0n ? EGL_FALSE : EGL_TRUE);

/** Throws the first error that waits in the current context, and forgets the others. */
export function checkGl(fn: string, fields?: ErrorFields): void {
  const first = gles().glGetError();
  if (first === GL_NO_ERROR) return;
  for (let i = 0; i < MAX_ERRORS && gles().glGetError() !== GL_NO_ERROR; i++);
  throw nativeError(first, fn, fields);
}
