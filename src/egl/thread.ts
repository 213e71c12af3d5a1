import { NULL } from "../../ffi/address.ts";
import { EGL_OPENGL_ES_API } from "../../ffi/egl/constants.ts";
import type { EGL } from "../../ffi/egl/functions.ts";
import { thenUndo, type Undo } from "../core/life/undo.ts";
import { check } from "./errors.ts";
import { egl } from "./library.ts";

/** The contexts of this thread that are open, and its calls in progress. */
let users = 0;

/**
 * This thread uses libEGL until the undo list runs. libEGL keeps a record for each thread that has called it. It frees the
 * record at the end of the thread, and frees all records at the end of the process: a thread that ends at that moment makes
 * it free one twice. So the last user releases the thread.
 */
export function usingThread(undo: Undo): void {
  const native = egl(); // without the library, there is nothing to release
  users++;
  undo.push(() => {
    users--;
    if (users === 0) release(native);
  });
}

/** Calls libEGL where no context may be open. */
export function onThread<R>(use: () => R): R {
  return thenUndo("releasing the thread from EGL", (undo) => {
    usingThread(undo);
    return use();
  });
}

/** A release takes the thread's current context and API away, which may be the program's. */
function release(native: EGL): void {
  if (native.eglGetCurrentContext() !== NULL || native.eglQueryAPI() !== EGL_OPENGL_ES_API) return;
  check(native.eglReleaseThread(), "eglReleaseThread");
}
