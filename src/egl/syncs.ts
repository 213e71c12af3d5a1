import {
  EGL_SIGNALED,
  EGL_SYNC_REUSABLE_KHR,
  EGL_SYNC_STATUS,
  EGL_SYNC_TYPE,
  EGL_UNSIGNALED,
} from "../../ffi/egl/constants.ts";
import type { Fence } from "../core/device/fence.ts";
import { fenceOf } from "../core/device/foreign_work.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import type { EglBase } from "./base.ts";
import { check, nativeError } from "./errors.ts";
import { createSync, destroySync, isSignalled, signalled, type Sync } from "./lane.ts";
import { checks, egl, eglExtensions } from "./library.ts";

/** A sync of a program's as a fence. */
export function attachedSync({ openContext, resource, name }: EglBase, given: bigint): Fence {
  resource.assertLive();
  const sync = checks.handleIn<Sync>(given, "handle");
  const { handle: display } = openContext.display;
  attributeOf(display, sync, EGL_SYNC_TYPE); // fails for what is no sync
  return fenceOf({
    ...{ api: "egl", error: nativeError, name: `an EGLSync (${name})`, fn: "eglClientWaitSync", owners: [resource] },
    isOver: () => isSignalled(display, sync, "ask"),
    block: () => void isSignalled(display, sync, "block"),
    wait: () => signalled(display, sync),
  });
}

function attributeOf(display: Sync, sync: Sync, attribute: number): number {
  const out = new BigInt64Array(1);
  check(egl().eglGetSyncAttrib(display, sync, attribute, out), "eglGetSyncAttrib");
  return Number(out[0]);
}

/**
 * An `EGLSync` that a program signals, and takes the signal back from, as often as it likes (EGL_KHR_reusable_sync). Other
 * libraries wait for its handle. Made by `egl.reusableSync()`.
 *
 * @example
 * ```ts
 * import { EglContext } from "@samepage/interop/egl";
 *
 * using egl = EglContext.open();
 * using sync = egl.reusableSync();
 * sync.signal();
 * console.log(sync.signalled); // true
 * sync.reset();
 * console.log(sync.signalled); // false
 * ```
 */
export class ReusableSync extends NativeObject {
  /** Its end of life. */
  readonly resource: Resource;
  readonly #base: EglBase;
  readonly #sync: Sync;

  /** Made by a context. */
  constructor(base: EglBase) {
    super();
    base.resource.assertLive();
    const lacking = base.openContext.lacks("EGL_KHR_reusable_sync");
    if (lacking !== undefined) throw checks.wrong("egl", lacking.reason);
    const { handle: display } = base.openContext.display;
    const sync = this.#sync = createSync(display, EGL_SYNC_REUSABLE_KHR);
    this.#base = base;
    const undo = [() => destroySync(display, sync)];
    this.resource = new Resource({ name: `egl reusable sync (${base.name})`, owners: [base.resource], undo });
    finalizers.register(this, this.resource, this);
  }

  /** The `EGLSync`. */
  get handle(): Sync {
    this.resource.assertLive();
    return this.#sync;
  }

  /** True while it is signalled. */
  get signalled(): boolean {
    return attributeOf(this.#display, this.handle, EGL_SYNC_STATUS) === EGL_SIGNALED;
  }

  /** Signals it: whoever waits for it goes on. */
  signal(): void {
    this.#set(EGL_SIGNALED);
  }

  /** Takes the signal back. */
  reset(): void {
    this.#set(EGL_UNSIGNALED);
  }

  get #display() {
    return this.#base.openContext.display.handle;
  }

  #set(mode: number): void {
    check(eglExtensions().eglSignalSyncKHR!(this.#display, this.handle, mode), "eglSignalSyncKHR");
  }
}
