import {
  EGL_SIGNALED,
  EGL_SYNC_FENCE,
  EGL_SYNC_REUSABLE_KHR,
  EGL_SYNC_STATUS,
  EGL_SYNC_TYPE,
  EGL_UNSIGNALED,
} from "../../ffi/egl/constants.ts";
import type { Address } from "../../ffi/address.ts";
import type { Fence } from "../core/device/fence.ts";
import { fenceOf, type ForeignWork } from "../core/device/foreign_work.ts";
import { Port } from "../core/device/port.ts";
import { messageOf, warn } from "../core/errors.ts";
import { ByHandle } from "../core/memory/peers.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { unwind } from "../core/life/undo.ts";
import { EglPort } from "../gl/port.ts";
import type { EglBase } from "./base.ts";
import { check, nativeError } from "./errors.ts";
import { createSync, destroySync, isSignalled, kindOn, signalled, type Sync } from "./lane.ts";
import { checks, egl, eglExtensions } from "./library.ts";

const ours = new ByHandle<OwnSync>();

/** A sync that samepage made for a program. Threads and fences wait for it. */
class OwnSync {
  readonly display: Address;
  readonly sync: Sync;
  readonly resource: Resource;
  #waiting = 0;
  #hasEnded = false;

  constructor({ openContext, resource, name }: EglBase) {
    this.display = openContext.display.handle;
    this.sync = createSync(this.display, EGL_SYNC_REUSABLE_KHR);
    const undo = [() => this.#end(), ours.add(kindOn(this.display), this.sync, this)];
    this.resource = new Resource({ name: `egl reusable sync (${name})`, owners: [resource], undo });
  }

  /** True once it can no longer be signalled: then every wait for it ends (EGL_KHR_reusable_sync). */
  get isOver(): boolean {
    return !this.resource.isLive;
  }

  async signalled(): Promise<void> {
    this.#waiting++;
    try {
      await signalled(this.display, this.sync);
    } finally {
      this.#waiting--;
      if (this.#hasEnded && this.#waiting === 0) this.#destroyLate();
    }
  }

  #end(): void {
    this.#hasEnded = true;
    if (this.#waiting === 0) destroySync(this.display, this.sync);
    else signalSync(this.display, this.sync, EGL_SIGNALED); // wakes them
  }

  #destroyLate(): void {
    const failures = unwind([() => destroySync(this.display, this.sync)]);
    for (const failure of failures) warn(`destroying a sync: ${messageOf(failure)}`);
  }
}

/** A sync as a fence: another library's, or one of ours. */
export function attachedSync({ openContext, resource, name }: EglBase, given: bigint): Fence {
  resource.assertLive();
  const sync = checks.handleIn<Sync>(given, "handle");
  const { handle: display } = openContext.display;
  const type = attributeOf(display, sync, EGL_SYNC_TYPE); // fails for anything but a sync
  const own = ours.find(kindOn(display), sync);
  const owners = [own?.resource ?? resource];
  return fenceOf({
    ...{ api: "egl", error: nativeError, name: `an EGLSync (${name})`, fn: "eglClientWaitSync", owners },
    isOver: () => own?.isOver || isSignalled(display, sync, "ask"),
    block: () => void (own?.isOver || isSignalled(display, sync, "block")),
    wait: () => own?.signalled() ?? signalled(display, sync),
    ...(type === EGL_SYNC_REUSABLE_KHR ? {} : { shown: shownBy(display, sync, type) }),
  });
}

/**
 * Shows a sync to other drivers. Reusable syncs are refused, because a device would hang if the program never signals one.
 * CUDA and OpenCL take only fences.
 */
function shownBy(display: Address, sync: Sync, type: number): NonNullable<ForeignWork["shown"]> {
  return {
    exports: [kindOn(display), ...(type === EGL_SYNC_FENCE ? ["egl-sync"] : [])],
    export: (_lane, _mark, kind) =>
      kind === "egl-sync" ? new EglPort("egl-sync", { value: sync, display }) : new Port(kind, { value: sync }),
  };
}

function signalSync(display: Address, sync: Sync, mode: number): void {
  check(eglExtensions().eglSignalSyncKHR!(display, sync, mode), "eglSignalSyncKHR");
}

function attributeOf(display: Sync, sync: Sync, attribute: number): number {
  const out = new BigInt64Array(1);
  check(egl().eglGetSyncAttrib(display, sync, attribute, out), "eglGetSyncAttrib");
  return Number(out[0]);
}

/**
 * An `EGLSync` that a program signals and resets any number of times (EGL_KHR_reusable_sync). Other libraries wait for its
 * handle. Made by `egl.reusableSync()`.
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
  readonly #own: OwnSync;

  /** Made by a context. */
  constructor(base: EglBase) {
    super();
    base.resource.assertLive();
    const lacking = base.openContext.lacks("EGL_KHR_reusable_sync");
    if (lacking !== undefined) throw checks.wrong("egl", lacking.reason);
    this.#own = new OwnSync(base);
    this.resource = this.#own.resource;
    finalizers.register(this, this.resource, this);
  }

  /** The `EGLSync`. */
  get handle(): Sync {
    this.resource.assertLive();
    return this.#own.sync;
  }

  /** True while it is signalled. */
  get signalled(): boolean {
    return attributeOf(this.#own.display, this.handle, EGL_SYNC_STATUS) === EGL_SIGNALED;
  }

  /** Signals it, which ends every wait for it. */
  signal(): void {
    this.#set(EGL_SIGNALED);
  }

  /** Makes it unsignalled again. */
  reset(): void {
    this.#set(EGL_UNSIGNALED);
  }

  #set(mode: number): void {
    signalSync(this.#own.display, this.handle, mode);
  }
}
