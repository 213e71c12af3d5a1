import {
  EGL_CONDITION_SATISFIED,
  EGL_CUDA_EVENT_HANDLE_NV,
  EGL_FOREVER,
  EGL_NONE,
  EGL_SYNC_CUDA_EVENT_NV,
  EGL_SYNC_FENCE,
  EGL_SYNC_NATIVE_FENCE_ANDROID,
  EGL_SYNC_NATIVE_FENCE_FD_ANDROID,
  EGL_TIMEOUT_EXPIRED,
} from "../../ffi/egl/constants.ts";
import { GL_SYNC_GPU_COMMANDS_COMPLETE } from "../../ffi/gles/constants.ts";
import type { Address } from "../../ffi/address.ts";
import type { Lane } from "../core/device/lanes.ts";
import type { Port } from "../core/device/port.ts";
import type { LineEvents } from "../core/contract.ts";
import { messageOf, NativeCallError, throwAll, warn } from "../core/errors.ts";
import { ledger } from "../core/life/ledger.ts";
import { allOrNothing, type Undo, unwind } from "../core/life/undo.ts";
import { GlSyncPort } from "../gl/port.ts";
import { closeFd } from "../core/native/fd.ts";
import { check, checkGl, eglError, LOST, made, nativeError } from "./errors.ts";
import { egl, eglExtensions, gles } from "./library.ts";
import type { OpenContext } from "./open_context.ts";
import { onThread } from "./thread.ts";

/** An `EGLSync` on a display. */
export type Sync = Address;

const SYNC = "egl.EGLSync";
const GL_SYNC = "egl.GLsync";

/** The kind of handle of a program's own sync, by display: handles of two displays may be equal. */
export function kindOn(display: Address): string {
  return `EGLSync of ${display}`;
}

interface MarkFence {
  readonly mark: number;
  readonly sync: Sync;
  /** The number of other threads that wait for it. The last one destroys it, if it is over. */
  waiting: number;
}

/** Makes a sync, and counts it in the ledger. For a fence, the context has to be current. */
export function createSync(display: Address, type: number, attributes: readonly (number | bigint)[] = []): Sync {
  const list = attributes.length === 0 ? null : BigInt64Array.from([...attributes, EGL_NONE], BigInt);
  const sync = made(egl().eglCreateSync(display, type, list), "eglCreateSync");
  ledger.add(SYNC);
  return sync;
}

export function destroySync(display: Address, sync: Sync): void {
  ledger.remove(SYNC);
  check(egl().eglDestroySync(display, sync), "eglDestroySync");
}

/** True if a sync is signalled. Queries once, or blocks until it is. */
export function isSignalled(display: Address, sync: Sync, wait: "ask" | "block"): boolean {
  return signalledBy(egl().eglClientWaitSync(display, sync, 0, wait === "ask" ? 0n : EGL_FOREVER));
}

export async function signalled(display: Address, sync: Sync): Promise<void> {
  const result = await egl().eglClientWaitSyncAsync(display, sync, 0, EGL_FOREVER);
  // The error belongs to the other thread, and cannot be read here. A poll on this thread will find it.
  if (result === EGL_CONDITION_SATISFIED || result === EGL_TIMEOUT_EXPIRED) return;
  isSignalled(display, sync, "ask");
}

function signalledBy(result: number): boolean {
  if (result === EGL_CONDITION_SATISFIED) return true;
  if (result === EGL_TIMEOUT_EXPIRED) return false;
  throw eglError("eglClientWaitSync");
}

/** The lane of a GL context's commands. A mark gets a fence on the first query, behind all commands so far. */
export class EglLane implements Lane {
  /** The context. */
  readonly context: OpenContext;
  readonly #events: LineEvents;
  /** The oldest first. */
  #fences: readonly MarkFence[] = [];
  #newest = 0;
  #over = 0;

  /** A lane of a context, without commands. */
  constructor(context: OpenContext, events: LineEvents) {
    this.context = context;
    this.#events = events;
  }

  get #display(): Address {
    return this.context.display.handle;
  }

  /** Submits GL commands. @throws {NativeCallError} with GL's error. */
  run(fn: string, record: () => void): number {
    this.context.command(fn, record);
    return 0;
  }

  /** Records that the driver accepted the next mark's commands. */
  submitted(mark: number): void {
    this.#newest = mark;
  }

  /** The newest mark that is over: all marks, if the context is lost. */
  poll(mark: number): number {
    if (mark <= this.#over) return this.#over;
    return this.#unlessLost(mark, () => {
      const fence = this.#fenceFor(mark);
      for (const each of this.#fences) {
        if (!isSignalled(this.#display, each.sync, "ask")) break;
        this.#passed(each);
        if (each === fence) break;
      }
      return this.#over;
    });
  }

  /** Blocks until a mark is over. */
  block(mark: number): void {
    if (mark <= this.#over) return;
    this.#unlessLost(mark, () => {
      isSignalled(this.#display, this.#fenceFor(mark).sync, "block");
      return this.#over;
    });
  }

  /** Waits for a mark on another thread. */
  async waitElsewhere(mark: number): Promise<void> {
    if (mark <= this.#over) return;
    let fence: MarkFence | undefined;
    this.#unlessLost(mark, () => {
      fence = this.#fenceFor(mark);
      return this.#over;
    });
    if (fence === undefined) return;
    fence.waiting++;
    try {
      await signalled(this.#display, fence.sync);
    } finally {
      fence.waiting--;
      this.#destroyUnused(fence);
    }
  }

  /** Makes the context's next commands wait for another lane's mark, in the driver. */
  waitFor(other: EglLane, mark: number): void {
    if (mark <= other.#over) return;
    this.waitForSync(other.#fenceFor(mark).sync);
  }

  /** Makes the context's next commands wait for a sync. */
  waitForSync(sync: Sync): void {
    this.context.within(() => check(egl().eglWaitSync(this.#display, sync, 0), "eglWaitSync"));
  }

  /** A sync at or behind a mark. It lives until the mark is over. */
  syncAt(mark: number): Sync {
    return this.#fenceFor(mark).sync;
  }

  /** A sync file that is signalled behind all commands so far. */
  exportSyncFile(): number {
    const undo: Undo = [];
    let fd = -1;
    const errors: unknown[] = [];
    try {
      this.context.within(() => {
        const sync = this.#flushed(EGL_SYNC_NATIVE_FENCE_ANDROID, undo); // the sync has a file only after the flush
        fd = eglExtensions().eglDupNativeFenceFDANDROID!(this.#display, sync);
        if (fd < 0) throw eglError("eglDupNativeFenceFDANDROID");
      });
    } catch (error) {
      errors.push(error);
    }
    errors.push(...unwind(undo));
    if (errors.length > 0 && fd >= 0) errors.push(...unwind([() => closeFd(fd)]));
    throwAll(errors, "exporting a sync file");
    return fd;
  }

  /** A `GLsync` behind all commands so far, for a driver that waits for one of this context. */
  exportGlSync(): Port<"gl-sync"> {
    const { context } = this;
    const sync = context.command("glFenceSync", () => {
      const made = gles().glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
      if (made === 0n) throw nativeError(gles().glGetError(), "glFenceSync");
      gles().glFlush();
      return made;
    });
    ledger.add(GL_SYNC);
    return new GlSyncPort(sync, () => {
      ledger.remove(GL_SYNC);
      context.command("glDeleteSync", () => gles().glDeleteSync(sync));
    });
  }

  /** A sync over a recorded CUDA event. */
  importCudaEvent(event: bigint): Sync {
    const attributes = [EGL_CUDA_EVENT_HANDLE_NV, event];
    return this.context.within(() => createSync(this.#display, EGL_SYNC_CUDA_EVENT_NV, attributes));
  }

  /** Takes over a sync file, as a sync to wait for. */
  importSyncFile(fd: number): Sync {
    return allOrNothing("importing a sync file", () => {
      const attributes = [EGL_SYNC_NATIVE_FENCE_FD_ANDROID, fd];
      return createSync(this.#display, EGL_SYNC_NATIVE_FENCE_ANDROID, attributes);
    }, [() => closeFd(fd)]);
  }

  /** Destroys its fences. All marks are over. */
  close(): void {
    const fences = this.#fences;
    this.#fences = [];
    for (const fence of fences) this.#destroyUnused(fence);
  }

  #fenceFor(mark: number): MarkFence {
    const known = this.#fences.find((fence) => fence.mark >= mark);
    if (known !== undefined) return known;
    const undo: Undo = [];
    const make = () => this.context.within(() => this.#flushed(EGL_SYNC_FENCE, undo));
    const sync = allOrNothing("making a fence", make, undo);
    const fence = { mark: this.#newest, sync, waiting: 0 };
    this.#fences = [...this.#fences, fence];
    return fence;
  }

  /** Makes a sync behind all commands so far, and flushes: a thread that waits for it cannot flush this context. */
  #flushed(type: number, undo: Undo): Sync {
    const sync = createSync(this.#display, type);
    undo.push(() => destroySync(this.#display, sync));
    gles().glFlush();
    checkGl("glFlush");
    return sync;
  }

  #passed(fence: MarkFence): void {
    this.#over = fence.mark;
    this.#fences = this.#fences.filter((one) => one !== fence);
    this.#destroyUnused(fence);
  }

  #destroyUnused(fence: MarkFence): void {
    if (fence.waiting > 0 || this.#fences.includes(fence)) return;
    const destroy = () => onThread(() => destroySync(this.#display, fence.sync)); // the context may have ended
    const failures = unwind([destroy]); // its mark is over all the same
    for (const failure of failures) warn(`destroying a fence: ${messageOf(failure)}`);
  }

  /** Runs a query about marks. If the context is lost, all marks are over, and have failed. */
  #unlessLost(mark: number, ask: () => number): number {
    try {
      return ask();
    } catch (error) {
      const code = error instanceof NativeCallError ? error.code : undefined;
      if (code === undefined || !LOST.includes(code)) throw error;
      if (this.#over < mark) this.#events.failed(this.#over + 1, error, true);
      return this.#over = this.#newest;
    }
  }
}
