import * as names from "../../ffi/egl/constants.ts";
import type { Address } from "../../ffi/address.ts";
import { isMade, type Names, optionsIn } from "../core/argument.ts";
import { InteropError } from "../core/errors.ts";
import type { Use } from "../core/device/line.ts";
import { whole } from "../core/layout/layout.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { owned } from "../core/life/ledger.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { StreamEnds } from "../gl/stream_ends.ts";
import type { EglBase } from "./base.ts";
import { check, checkGl, made } from "./errors.ts";
import type { EglLane } from "./lane.ts";
import { checks, egl, eglExtensions, gles } from "./library.ts";
import { chosenConfig } from "./open_context.ts";
import { showPixels, toSurface } from "./pixels.ts";
import { assertOver, type GlFunctions, usesIn } from "./queue.ts";
import { EglStream } from "./stream.ts";
import { type GlUse, type Picture, pictureOf } from "./uses.ts";

/** The size of all frames of a producer. */
export interface EglProducerInit {
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
}

const INIT: Names<EglProducerInit> = { width: true, height: true };
const EXTENSION = "EGL_KHR_stream_producer_eglsurface";
const SWAP = "eglSwapBuffers";

/** RGBA of 8 bits a channel, for OpenGL ES 3. */
const CONFIG = [
  ...[names.EGL_SURFACE_TYPE, names.EGL_STREAM_BIT_KHR, names.EGL_RENDERABLE_TYPE, names.EGL_OPENGL_ES3_BIT],
  ...[names.EGL_RED_SIZE, 8, names.EGL_GREEN_SIZE, 8, names.EGL_BLUE_SIZE, 8, names.EGL_ALPHA_SIZE, 8],
];

/**
 * OpenGL ES as the producer of an `EGLStream`, which draws each frame to a surface. The consumer connects first. Made by
 * `egl.producer(stream, { width, height })`.
 *
 * No call blocks: a full stream accepts no frame.
 */
export class EglStreamProducer extends NativeObject {
  /** The stream. */
  readonly eglStream: EglStream;
  /** The frames' size. */
  readonly init: EglProducerInit;
  /** Its end of life, which disconnects it. */
  readonly resource: Resource;
  readonly #base: EglBase;
  readonly #surface: Address;
  readonly #ends: StreamEnds;

  /** Made by a context. */
  constructor(base: EglBase, stream: EglStream, given: EglProducerInit) {
    super();
    if (!isMade(stream, EglStream)) throw checks.wrongKind("stream", "an EglStream", stream);
    const init = this.init = Object.freeze({ ...optionsIn(given, INIT, "init") });
    whole(init.width, "init.width", 1);
    whole(init.height, "init.height", 1);
    const { openContext: { display: { handle: display } }, name } = base;
    checks.assertHere(stream.base, base, "stream", "it", "Make it with this one's stream().");
    if (!base.openContext.has(EXTENSION)) throw checks.wrong("egl", `${name} has no ${EXTENSION}.`);
    const { state } = stream;
    if (state !== "connecting") {
      const hint = "The consumer connects first. A stream that was connected in another order is of no more use.";
      throw checks.wrong("stream", `expected a stream that is "connecting", got "${state}".`, hint);
    }
    this.#base = base;
    this.eglStream = stream;
    const ends = this.#ends = StreamEnds.of(stream);
    const undo: Undo = [];
    this.#surface = allOrNothing("connecting a producer", () => {
      const size = Int32Array.of(names.EGL_WIDTH, init.width, names.EGL_HEIGHT, init.height, names.EGL_NONE);
      const create = "eglCreateStreamProducerSurfaceKHR";
      const surface = made(eglExtensions()[create]!(display, configOf(base), stream.handle, size), create);
      owned("egl.EGLSurface", undo, () => check(egl().eglDestroySurface(display, surface), "eglDestroySurface"));
      return surface;
    }, undo);
    undo.push(() => void (ends.producer = undefined));
    this.resource = new Resource({ name: `egl producer of an EGLStream (${name})`, owners: [stream.resource], undo });
    ends.producer = this.resource;
    finalizers.register(this, this.resource, this);
  }

  /** True while the consumer may still act. */
  get isOpen(): boolean {
    return this.resource.isLive && (this.#ends.hasBothEnds || this.eglStream.state !== "disconnected");
  }

  /** True if the stream accepts a frame now. A mailbox always does. */
  get hasRoom(): boolean {
    return this.isOpen && this.#ends.hasRoom(this.eglStream.fifo, this.#ends.consumedOf(this.eglStream));
  }

  /**
   * Presents a picture as a frame: its first row is the frame's first. The picture may be used again at once. Returns false,
   * and does nothing, if the stream is full.
   *
   * @param picture a picture of one plane, such as RGBA, and of the frames' size
   * @throws {LayoutError} for a picture of another size, and one of several planes.
   * @throws {ArgumentError} once the consumer has disconnected.
   */
  present(picture: Picture): boolean {
    const { use, planes: [plane, another] } = pictureOf(this.#base, picture, "read", "picture");
    if (another !== undefined) throw checks.unfit("picture", `${picture.name} has several planes.`, "Present RGBA.");
    const { width, height } = plane.rawHandle;
    if (width !== this.init.width || height !== this.init.height) {
      const wanted = `${this.init.width}×${this.init.height}`;
      throw checks.unfit("picture", `expected ${wanted} pixels, as the stream's frames have, got ${width}×${height}.`);
    }
    return this.#present([use], () => showPixels(plane.rawHandle));
  }

  /**
   * Runs a program's own drawing, as `egl.queue.run()` does, and presents the default framebuffer as a frame. The viewport is
   * the whole frame. The frame's first row is the lowest in GL's coordinates.
   *
   * @throws {ArgumentError} if `commands` is an asynchronous function, and once the consumer has disconnected.
   * @throws {NativeCallError} with the first error that GL reports; then no frame is presented.
   *
   * @example
   * ```ts ignore
   * producer.draw([], (gl) => gl.glClearBufferfv(0x1800, 0, Float32Array.of(1, 0, 0, 1))); // GL_COLOR: a red frame
   * ```
   */
  draw(uses: readonly GlUse[], commands: (gl: GlFunctions) => void): boolean {
    return this.#present(usesIn(this.#base, uses, commands), () => {
      toSurface();
      gles().glViewport(0, 0, this.init.width, this.init.height);
      assertOver(commands(gles()));
    });
  }

  #present(uses: readonly Use[], draw: () => void): boolean {
    this.resource.assertLive();
    if (!this.isOpen) {
      throw checks.wrong("stream", "its consumer has disconnected.", "Make a new stream, and connect both ends.");
    }
    if (!this.hasRoom) return false;
    const { openContext, line } = this.#base;
    const { handle: display } = openContext.display;
    const frame = () =>
      openContext.onSurface(this.#surface, () => {
        draw();
        checkGl("commands");
        check(egl().eglSwapBuffers(display, this.#surface), SWAP);
      });
    line.submit(uses, { fn: SWAP, call: (lane: EglLane) => lane.run(SWAP, frame), partial: true });
    this.#ends.presented++;
    return true;
  }
}

function configOf({ openContext: { display }, name }: EglBase): Address {
  const config = chosenConfig(display.handle, CONFIG);
  if (config !== undefined) return config;
  throw new InteropError(`${name} has no config for surfaces of a stream.`, { api: "egl", fn: "eglChooseConfig" });
}
