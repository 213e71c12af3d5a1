import * as names from "../../ffi/egl/constants.ts";
import type { Address } from "../../ffi/address.ts";
import { type Names, optionsIn, shown } from "../core/argument.ts";
import { asked } from "../core/device/asking.ts";
import { InteropError } from "../core/errors.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { whole } from "../core/layout/layout.ts";
import { counted } from "../core/life/ledger.ts";
import type { EglBase } from "./base.ts";
import { check, eglError, made } from "./errors.ts";
import { checks, eglExtensions } from "./library.ts";

/** How a stream keeps frames that were not acquired yet. */
export interface EglStreamInit {
  /**
   * The number of frames that can wait in order; a full stream accepts no frame. 0, the default, keeps only the newest
   * (mailbox).
   */
  readonly fifo?: number;
  /**
   * If true, the default, the last frame stays in the stream until the next one comes. A consumer whose wait for a new frame
   * times out acquires the last one again: `consumer.acquire({ timeout })`.
   */
  readonly reuse?: boolean;
}

/** The state of a stream. */
export type EglStreamState =
  | ("initializing" | "created" | "connecting")
  | ("empty" | "new-frame" | "old-frame")
  | "disconnected";

const INIT: Names<EglStreamInit> = { fifo: true, reuse: true };

const STATES: ReadonlyMap<number, EglStreamState> = new Map([
  [names.EGL_STREAM_STATE_INITIALIZING_NV, "initializing"],
  [names.EGL_STREAM_STATE_CREATED_KHR, "created"],
  [names.EGL_STREAM_STATE_CONNECTING_KHR, "connecting"],
  [names.EGL_STREAM_STATE_EMPTY_KHR, "empty"],
  [names.EGL_STREAM_STATE_NEW_FRAME_AVAILABLE_KHR, "new-frame"],
  [names.EGL_STREAM_STATE_OLD_FRAME_AVAILABLE_KHR, "old-frame"],
  [names.EGL_STREAM_STATE_DISCONNECTED_KHR, "disconnected"],
]);

const MAX_FRAMES = 64;

/**
 * An `EGLStream`: frames on their way between drivers or processes. Made by `egl.stream()`; the consumer connects first.
 */
export class EglStream extends NativeObject {
  /** Its end of life. */
  readonly resource: Resource;
  /** The number of frames that can wait in order; 0 for a mailbox. */
  readonly fifo: number;
  /** True if the last frame stays in the stream. */
  readonly reuse: boolean;
  /** The context that made it. For backends. */
  readonly base: EglBase;
  readonly #display: Address;
  readonly #stream: Address;
  readonly #out = new Int32Array(1);
  readonly #number = new BigUint64Array(1);

  /** Made by a context. @param from the fd of another process's stream, or the handle of one in this process */
  constructor(base: EglBase, given: EglStreamInit, from?: number | bigint) {
    super();
    this.base = base;
    const { fifo = 0, reuse = true } = optionsIn(given, INIT, "init");
    if (whole(fifo, "fifo", 0) > MAX_FRAMES) {
      throw checks.wrong("fifo", `expected at most ${MAX_FRAMES} frames, got ${fifo}.`);
    }
    checks.assertBoolean(reuse, "reuse");
    base.resource.assertLive();
    const display = this.#display = base.openContext.display.handle;
    const wanted = [
      "EGL_KHR_stream",
      ...(fifo > 0 ? ["EGL_KHR_stream_fifo"] : []),
      ...(reuse ? [] : ["EGL_NV_stream_reset"]),
      ...(typeof from === "number" ? ["EGL_KHR_stream_cross_process_fd"] : []),
    ];
    for (const name of wanted) assertHas(base, name);
    const native = eglExtensions();
    const attributes = [
      ...(fifo > 0 ? [names.EGL_STREAM_FIFO_LENGTH_KHR, fifo] : []),
      ...(reuse ? [] : [names.EGL_SUPPORT_REUSE_NV, names.EGL_FALSE]),
      names.EGL_NONE,
    ];
    const name = `egl stream (${base.name})`;
    if (typeof from === "bigint") {
      const handle = this.#stream = checks.handleIn<Address>(from, "handle");
      this.fifo = base.openContext.has("EGL_KHR_stream_fifo")
        ? this.#attribute(handle, names.EGL_STREAM_FIFO_LENGTH_KHR)
        : 0;
      this.reuse = !base.openContext.has("EGL_NV_stream_reset") ||
        this.#attribute(handle, names.EGL_SUPPORT_REUSE_NV) === names.EGL_TRUE;
      this.#attribute(handle, names.EGL_STREAM_STATE_KHR); // fails for anything but a stream
      this.resource = new Resource({ name, owners: [base.resource] });
    } else {
      const stream = this.#stream = from === undefined
        ? made(native.eglCreateStreamKHR!(display, new Int32Array(attributes)), "eglCreateStreamKHR")
        : made(native.eglCreateStreamFromFileDescriptorKHR!(display, from), "eglCreateStreamFromFileDescriptorKHR");
      this.reuse = reuse;
      this.fifo = fifo;
      const destroy = counted(
        "egl.EGLStream",
        () => check(native.eglDestroyStreamKHR!(display, stream), "eglDestroyStreamKHR"),
      );
      this.resource = new Resource({ name, owners: [base.resource], undo: [destroy] });
    }
    finalizers.register(this, this.resource, this);
  }

  /** The `EGLStreamKHR`. */
  get handle(): Address {
    this.resource.assertLive();
    return this.#stream;
  }

  /** Its state. The call never blocks. */
  get state(): EglStreamState {
    return STATES.get(this.#attribute(this.handle, names.EGL_STREAM_STATE_KHR)) ?? "disconnected";
  }

  /**
   * Resolves once the stream is in a state. A producer in another process waits for `"connecting"`: then the consumer has
   * connected.
   *
   * @throws {DisposedError} if the stream is disposed first.
   * @throws {InteropError} if an end disconnects first.
   */
  async waitFor(state: EglStreamState): Promise<void> {
    if (![...STATES.values()].includes(state)) {
      throw checks.wrong("state", `expected one of ${[...STATES.values()].join(", ")}, got ${shown(state)}.`);
    }
    await asked(() => {
      const now = this.state;
      if (now === state) return true;
      if (now !== "disconnected") return undefined;
      throw new InteropError(`the stream was disconnected before it was "${state}".`, { api: "egl" });
    });
  }

  /** The number of frames that the producer has presented so far. */
  get produced(): number {
    return this.#count(names.EGL_PRODUCER_FRAME_KHR);
  }

  /** The number of the frame that the consumer acquired last. */
  get consumed(): number {
    return this.#count(names.EGL_CONSUMER_FRAME_KHR);
  }

  /**
   * A new fd of the stream, which you own, for another process: `egl.attachStream()` takes it there. Call this before the ends
   * connect.
   *
   * @throws {ArgumentError} if the driver has no EGL_KHR_stream_cross_process_fd.
   * @throws {NativeCallError} if an end has connected.
   */
  exportFd(): number {
    assertHas(this.base, "EGL_KHR_stream_cross_process_fd");
    const fd = eglExtensions().eglGetStreamFileDescriptorKHR!(this.#display, this.handle);
    if (fd < 0) throw eglError("eglGetStreamFileDescriptorKHR");
    return fd;
  }

  #attribute(stream: Address, name: number): number {
    const out = this.#out;
    check(eglExtensions().eglQueryStreamKHR!(this.#display, stream, name, out), "eglQueryStreamKHR");
    return out[0];
  }

  #count(name: number): number {
    check(
      eglExtensions().eglQueryStreamu64KHR!(this.#display, this.handle, name, this.#number),
      "eglQueryStreamu64KHR",
    );
    return Number(this.#number[0]);
  }
}

function assertHas({ openContext, name }: EglBase, extension: string): void {
  if (openContext.has(extension)) return;
  throw checks.wrong("egl", `${name} has no ${extension}.`, "NVIDIA's drivers have streams; Mesa has none.");
}
