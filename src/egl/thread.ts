import { NULL } from "../../ffi/address.ts";
import { EGL_OPENGL_ES_API } from "../../ffi/egl/constants.ts";
import type { EGL } from "../../ffi/egl/functions.ts";
import { thenUndo, type Undo } from "../core/life/undo.ts";
import { check } from "./errors.ts";
import { egl } from "./library.ts";

/** The number of this thread's open contexts and of its calls in progress. */
let users = 0;

/**
 * This thread uses libEGL until `undo` runs. libEGL keeps a record for each thread that has called it, which it frees at the
 * end of the thread and also at the end of the process: if both come at the same time, it frees the record twice. So the last
 * user on a thread releases the record.
 */
export function usingThread(undo: Undo): void {
  const native = egl(); // without the library, there is nothing to release
  users++;
  undo.push(() => {
    users--;
    if (users === 0) release(native);
  });
}

/** Calls libEGL on a thread that may have no open context. */
export function onThread<R>(use: () => R): R {
  return thenUndo("releasing the thread from EGL", (undo) => {
    usingThread(undo);
    return use();
  });
}

/** Keeps the record if the thread has a current context or another API: a release would reset those of the program. */
function release(native: EGL): void {
  if (native.eglGetCurrentContext() !== NULL || native.eglQueryAPI() !== EGL_OPENGL_ES_API) return;
  check(native.eglReleaseThread(), "eglReleaseThread");
}
