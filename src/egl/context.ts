import { type Address, NULL } from "../../ffi/address.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { isSameDevice } from "../core/device/device_id.ts";
import { contextOn, noDeviceOn, type OpenOn, type Reported } from "../core/device/device_on.ts";
import type { Fence } from "../core/device/fence.ts";
import { Line } from "../core/device/line.ts";
import { absentOf } from "../core/device/extensions.ts";
import { NativeCallError } from "../core/errors.ts";
import type { Natives } from "../core/contract.ts";
import type { Context, Target } from "../core/graph/context.ts";
import { DeviceContext } from "../core/graph/device_context.ts";
import { whole } from "../core/layout/layout.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import type { EglBase } from "./base.ts";
import { type Display, displayOf, eglDevices, type EglPlatform, openDisplay } from "./display.ts";
import { driverOf, type EglDriver } from "./driver.ts";
import { EglBuffers } from "./buffers.ts";
import { EglImages } from "./images.ts";
import { EglLane } from "./lane.ts";
import { checks } from "./library.ts";
import { assertGles, OpenContext, WANTED } from "./open_context.ts";
import type { EglTensor } from "./tensor.ts";
import { EglQueue } from "./queue.ts";
import { EglStream, type EglStreamInit } from "./stream.ts";
import { EglStreamConsumer } from "./stream_consumer.ts";
import { type EglProducerInit, EglStreamProducer } from "./stream_producer.ts";
import { attachedSync, ReusableSync } from "./syncs.ts";
import { onThread, usingThread } from "./thread.ts";

/** The display to open. */
export interface EglChoice extends OpenOn {
  /** How the display is found; by default a GPU if EGL lists one, else `"surfaceless"`, which Mesa offers. */
  readonly platform?: EglPlatform;
  /** The index of a device in {@link eglDevices}. */
  readonly device?: number;
  /**
   * True to share its textures with other libraries, such as GStreamer; false by default. Contexts that share textures need
   * the same reset strategy, and those libraries report no resets, so this context reports none either.
   */
  readonly sharable?: boolean;
}

/** The program's own EGL objects, which outlive the context. */
export interface EglHandles {
  /** An initialised `EGLDisplay`. */
  readonly display: bigint;
  /** An `EGLContext` of OpenGL ES on it, whose textures are shared. */
  readonly context?: bigint;
}

const CHOICE: Names<EglChoice> = { platform: true, device: true, on: true, sharable: true };
const HANDLES: Names<EglHandles> = { display: true, context: true };
const PLATFORMS: { readonly [P in EglPlatform]: unknown } = { surfaceless: true, device: true, default: true };

/** The driver of each display: lines of one driver wait for each other. */
const drivers = new Map<Address, EglDriver>();

/**
 * samepage's own OpenGL ES context, without a window, on an EGL display. Its images are the target `egl.image`. It is a
 * thread's current context only while a samepage call runs; then the call restores the previous one.
 *
 * @example
 * ```ts
 * import { EglContext } from "@samepage/interop/egl";
 *
 * using egl = EglContext.open();
 * console.log(egl.name, egl.version);
 * ```
 */
export class EglContext extends DeviceContext implements EglBase {
  /** The API's name. */
  override readonly api = "egl";
  /** Its images. */
  readonly image: EglImages;
  /** Its buffers. */
  readonly buffer: EglBuffers;
  /** The images and the buffers. */
  override readonly targets: readonly Target[];
  /** Its commands. */
  readonly queue: EglQueue;
  /** The line of its commands. For mappers. */
  readonly line: Line<EglLane>;
  /** The open GL context. For mappers. */
  readonly openContext: OpenContext;
  /** The driver of its line. For mappers. */
  readonly driver: EglDriver;
  /** Its handles, and its pictures by their textures' names. For libraries that share them. */
  readonly natives: Natives = {
    handles: () => ({ display: this.display, context: this.handle }),
    attach: ({ objects, planes }, info, options) =>
      this.image.attachPicture(planes.map(({ object }) => Number(objects[object].handle)), info, options),
    pictureOf: ({ planes }) => ({
      objects: (planes as readonly EglTensor[]).map(({ rawHandle: { name } }) => ({ handle: BigInt(name) })),
      planes: [],
    }),
  };

  private constructor(open: OpenContext, undo: Undo) {
    const { display, facts: { renderer: name, id } } = open;
    const { renderNode: node } = display;
    super("egl", { name, id: node === undefined ? id : { ...id, node } }, undo);
    this.openContext = open;
    const known = drivers.get(display.handle);
    this.driver = known ?? driverOf(display);
    if (known === undefined) drivers.set(display.handle, this.driver);
    this.line = new Line<EglLane>({
      driver: this.driver,
      name: `egl commands (${this.name})`,
      owners: [this.resource],
      open: (events) => new EglLane(open, events),
    });
    this.queue = new EglQueue(this, this.line);
    this.image = new EglImages(this);
    this.buffer = new EglBuffers(this);
    this.targets = [this.image, this.buffer];
    this.opened();
  }

  /**
   * Opens a display, and a context on it.
   *
   * @throws {LibraryNotFoundError} if there is no libEGL or libGLESv2.
   * @throws {ArgumentError} for a platform or a device that this machine lacks.
   * @throws {NativeCallError} if no driver opens the display.
   */
  static open(choice: EglChoice = {}): EglContext {
    const { platform, device, on, sharable = false } = optionsIn(choice, CHOICE, "choice");
    checks.assertBoolean(sharable, "choice.sharable");
    if (platform !== undefined) checks.nameIn(platform, PLATFORMS, "choice.platform");
    if (device !== undefined) whole(device, "choice.device", 0);
    if (device !== undefined && platform !== undefined && platform !== "device") {
      throw checks.wrong("choice.device", `the platform "${platform}" has no devices.`, 'Use { platform: "device" }.');
    }
    return onThread(() =>
      on === undefined
        ? EglContext.#made(openDisplay(platform, device), NULL, sharable)
        : EglContext.#on(contextOn(checks, on), platform, device, sharable)
    );
  }

  /** Opens each display that fits until one is on the same device, because only an open context knows its device. */
  static #on(
    on: Context,
    platform: EglPlatform | undefined,
    device: number | undefined,
    sharable: boolean,
  ): EglContext {
    const isOne = device !== undefined || (platform !== undefined && platform !== "device");
    const indexes = isOne ? [device] : eglDevices().map(({ index }) => index);
    const others: Reported[] = [];
    for (const index of indexes.length === 0 ? [undefined] : indexes) {
      try {
        const context = EglContext.#made(openDisplay(platform, index), NULL, sharable);
        if (isSameDevice(context.id, on.id)) return context;
        others.push({ name: context.name, id: context.id });
        context[Symbol.dispose]();
      } catch (error) {
        if (!(error instanceof NativeCallError)) throw error;
        others.push({ name: `device ${index} (${error.message})`, id: {} });
      }
    }
    throw noDeviceOn(checks, on, others);
  }

  /**
   * Makes samepage's own context on the program's display. If `handles` has a context, the two share their textures:
   * `egl.image.attach()` takes the program's. The program's context stays as it is.
   *
   * @param handles live handles; wrong ones may crash the process
   * @throws {ArgumentError} for anything that cannot be a handle, and a context of another API.
   * @throws {NativeCallError} for a display that is not initialised.
   */
  static attach(handles: EglHandles): EglContext {
    const { display: given, context } = optionsIn(handles, HANDLES, "handles");
    const handle = checks.handleIn<Address>(given, "handles.display");
    const share = context === undefined ? NULL : checks.handleIn<Address>(context, "handles.context");
    return onThread(() => {
      const display = displayOf(handle);
      if (share !== NULL) assertGles(handle, share);
      return EglContext.#made(display, share, share !== NULL);
    });
  }

  static #made(display: Display, share: Address, sharable: boolean): EglContext {
    return allOrNothing("opening an EGL context", (undo) => {
      usingThread(undo);
      return new EglContext(new OpenContext(display, share, sharable, undo), undo);
    });
  }

  /** The `EGLContext`. */
  get handle(): Address {
    this.resource.assertLive();
    return this.openContext.handle;
  }

  /** The `EGLDisplay`. */
  get display(): Address {
    this.resource.assertLive();
    return this.openContext.display.handle;
  }

  /** The version of EGL: `"1.5"`. */
  get version(): string {
    return this.openContext.display.version;
  }

  /** The version of OpenGL ES: `"OpenGL ES 3.2 Mesa 22.3.6"`. */
  get glVersion(): string {
    return this.openContext.facts.version;
  }

  /** The extensions of the display and of OpenGL ES. */
  get extensions(): readonly string[] {
    const { display, facts } = this.openContext;
    return [...display.extensions, ...facts.extensions];
  }

  /** The extensions for sharing that the driver lacks, and what each would make possible. */
  get absent(): ReadonlyMap<string, string> {
    return absentOf(WANTED, (name) => this.openContext.lacks(name));
  }

  /**
   * The program's own `EGLSync` on this display, as a fence. The sync has to live until the fence was waited for, even if it
   * is signalled before, because samepage queries it later. The context's end waits for it. A {@link reusableSync} may end at
   * any time, and that ends the waits for it.
   *
   * @param handle a live `EGLSync`, flushed; a wrong one may crash the process, and one that is never signalled hangs it
   * @throws {ArgumentError} if `handle` is not a handle.
   * @throws {NativeCallError} if it is not a sync of this display.
   */
  attachFence(handle: bigint): Fence {
    return attachedSync(this, handle);
  }

  /**
   * A sync that this program signals, for other libraries that wait for an `EGLSync`.
   *
   * @throws {ArgumentError} if the driver has no EGL_KHR_reusable_sync.
   */
  reusableSync(): ReusableSync {
    return new ReusableSync(this);
  }

  /**
   * A stream of frames between two drivers.
   *
   * @throws {ArgumentError} if the driver has no EGL_KHR_stream, or lacks an extension that `init` needs.
   */
  stream(init: EglStreamInit = {}): EglStream {
    return new EglStream(this, init);
  }

  /**
   * Another process's stream by its fd, which stays yours. `init` has to equal the maker's. @throws like {@link stream}.
   */
  attachStream(fd: number, init?: EglStreamInit): EglStream;
  /**
   * A stream that other code of this process made on this display, by its `EGLStreamKHR`. Its producer or its consumer may be
   * that code's. The stream stays that code's, and has to outlive this object, whose `fifo` and `reuse` the driver reports.
   *
   * @param handle a live `EGLStreamKHR`; a wrong one may crash the process
   * @throws {NativeCallError} if it is not a stream of this display.
   *
   * @example
   * ```ts ignore
   * using stream = egl.attachStream(camera.stream); // the camera connects as the producer, once this has a consumer
   * using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
   * ```
   */
  attachStream(handle: bigint): EglStream;
  attachStream(stream: number | bigint, init: EglStreamInit = {}): EglStream {
    return new EglStream(this, init, typeof stream === "bigint" ? stream : whole(stream, "fd", 0));
  }

  /**
   * OpenGL ES as the consumer of one of this context's streams. It has to connect before the producer does.
   *
   * @throws {ArgumentError} for a stream that has a consumer, and if the driver lacks EGL_KHR_stream_consumer_gltexture or
   * GL_OES_EGL_image_external_essl3.
   * @throws {NativeCallError} if the driver refuses.
   */
  consumer(stream: EglStream): EglStreamConsumer {
    this.resource.assertLive();
    return new EglStreamConsumer(this, stream);
  }

  /**
   * OpenGL ES as the producer of one of this context's streams that has a consumer.
   *
   * @throws {ArgumentError} for a stream without a consumer, and if the driver has no EGL_KHR_stream_producer_eglsurface.
   * @throws {NativeCallError} if the driver refuses.
   *
   * @example
   * ```ts ignore
   * using stream = egl.stream({ fifo: 2 });
   * using consumer = CudaStreamConsumer.connect(cuda.stream, stream, { arrays: true }); // the consumer connects first
   * using producer = egl.producer(stream, { width: 640, height: 480 });
   * using picture = egl.image.allocate({ format: "RGBA", width: 640, height: 480 });
   * producer.present(picture);
   * ```
   */
  producer(stream: EglStream, init: EglProducerInit): EglStreamProducer {
    this.resource.assertLive();
    return new EglStreamProducer(this, stream, init);
  }
}
