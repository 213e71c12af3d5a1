import * as names from "../../ffi/egl/constants.ts";
import { EGL_BAD_STATE_KHR } from "../../ffi/egl/errors.ts";
import { GL_TEXTURE_EXTERNAL_OES } from "../../ffi/gles/constants.ts";
import { isMade } from "../core/argument.ts";
import { type AcquireOptions, nextFrame, StreamEnds, timeoutIn } from "../gl/stream_ends.ts";
import { AccessError, NativeCallError } from "../core/errors.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { counted, owned } from "../core/life/ledger.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { type Undo, undone } from "../core/life/undo.ts";
import { Frame } from "../core/tensors/frame.ts";
import type { EglBase } from "./base.ts";
import { check } from "./errors.ts";
import { EXTERNAL, ExternalTexture } from "./external.ts";
import type { EglLane } from "./lane.ts";
import { checks, eglExtensions } from "./library.ts";
import type { Picture } from "./uses.ts";
import { EglStream, type EglStreamState } from "./stream.ts";
import { EglTensor } from "./tensor.ts";

const NEEDED = ["EGL_KHR_stream_consumer_gltexture", EXTERNAL] as const;

const CONSUMER = "egl.streamConsumer";
const FRAME = "egl.streamFrame";

/**
 * OpenGL ES as the consumer of an `EGLStream`, whose texture shows one frame after the other. It connects before the
 * producer does. Made by `egl.consumer(stream)`.
 *
 * No call blocks without a `timeout`.
 */
export class EglStreamConsumer extends NativeObject implements AsyncIterable<EglStreamFrame> {
  /** The stream. */
  readonly eglStream: EglStream;
  /** Its end of life, which disconnects it. */
  readonly resource: Resource;
  readonly #base: EglBase;
  readonly #texture: ExternalTexture;
  #frame: EglStreamFrame | undefined;
  #timeout: number | undefined;

  /** Made by a context. */
  constructor(base: EglBase, stream: EglStream) {
    super();
    if (!isMade(stream, EglStream)) throw checks.wrongKind("stream", "an EglStream", stream);
    const { openContext, name } = base;
    checks.assertHere(stream.base, base, "stream", "it", "Make it with this one's stream().");
    const lacking = NEEDED.find((extension) => !openContext.has(extension));
    if (lacking !== undefined) throw checks.wrong("egl", `${name} has no ${lacking}.`);
    const { state, handle } = stream;
    if (state !== "created" && state !== "initializing") {
      throw checks.wrong("stream", `expected a stream that is "created" or "initializing", got "${state}".`, ORDER);
    }
    this.#base = base;
    this.eglStream = stream;
    const { handle: display } = openContext.display;
    const native = eglExtensions();
    const undo: Undo = [];
    try {
      const texture = this.#texture = new ExternalTexture(openContext, undo); // its end disconnects
      texture.command("eglStreamConsumerGLTextureExternalKHR", () => {
        texture.bind();
        const connect = "eglStreamConsumerGLTextureExternalKHR";
        check(native[connect]!(display, handle), connect);
        this.#setTimeout(0);
      });
    } catch (error) {
      throw undone(error, undo, "connecting a consumer");
    }
    const ends = StreamEnds.of(stream);
    ends.consumer = {};
    owned(CONSUMER, undo, () => void (ends.consumer = undefined));
    this.resource = new Resource({ name: `egl consumer of an EGLStream (${name})`, owners: [stream.resource], undo });
    finalizers.register(this, this.resource, this);
  }

  /** True while the producer may still act. */
  get isOpen(): boolean {
    return this.resource.isLive && this.eglStream.state !== "disconnected";
  }

  /**
   * The next frame; undefined if there is no new one. Its dispose releases it, behind GL's commands on it.
   *
   * With a `timeout`, in microseconds, the call blocks until a new frame comes, but does not wait for a producer on this
   * thread, which could present none meanwhile. If no new frame comes, the call returns the previous frame again
   * (`eglStream.consumed` stays the same), or undefined if the stream keeps none.
   *
   * @throws {AccessError} until the last frame is released: the texture shows one at a time.
   * @throws {NativeCallError} if the driver refuses.
   *
   * @example
   * ```ts ignore
   * using frame = consumer.acquire({ timeout: 16_000 }); // 16 ms; then the previous frame
   * ```
   */
  acquire(options?: AcquireOptions): EglStreamFrame | undefined {
    this.resource.assertLive();
    const timeout = options === undefined ? undefined : timeoutIn(checks, options);
    if (this.#frame?.resource.isLive) {
      const hint = "Dispose it first: the texture shows one frame at a time.";
      throw new AccessError("the consumer has a frame already.", { api: "egl", fn: ACQUIRE, hint });
    }
    const { eglStream } = this;
    const ends = StreamEnds.of(eglStream);
    const { state } = eglStream;
    const isNew = state === "new-frame";
    if (!isNew && !ends.mayAcquire(state, timeout)) return undefined;
    if (!this.#latched(isNew || ends.hasBothEnds ? 0 : timeout!, state)) return undefined;
    ends.acquire(eglStream.fifo, isNew);
    const { handle: display } = this.#base.openContext.display;
    const native = eglExtensions();
    const { handle } = eglStream;
    const release = counted(FRAME, () => {
      ends.acquired--;
      this.#texture.command(RELEASE, () => check(native[RELEASE]!(display, handle), RELEASE));
    });
    const resource = new Resource({
      name: "egl frame of an EGLStream",
      owners: [this.resource, ends.producer],
      undo: [release],
    });
    return this.#frame = new EglStreamFrame(this.#base, this.#texture, resource);
  }

  /**
   * Resolves with the next frame; undefined once the producer has disconnected. With a `timeout` it is {@link acquire}
   * without blocking. @throws like {@link acquire}.
   */
  async next(options: AcquireOptions = {}): Promise<EglStreamFrame | undefined> {
    return await nextFrame(this, timeoutIn(checks, options));
  }

  /** Latches a frame into the texture; false if none has come. */
  #latched(timeout: number, state: EglStreamState): boolean {
    const { handle: display } = this.#base.openContext.display;
    const { handle } = this.eglStream;
    try {
      this.#texture.command(ACQUIRE, () => {
        this.#setTimeout(timeout);
        check(eglExtensions()[ACQUIRE]!(display, handle), ACQUIRE);
      });
      return true;
    } catch (error) {
      if (state === "empty" && error instanceof NativeCallError && error.code === EGL_BAD_STATE_KHR) return false;
      throw error;
    }
  }

  #setTimeout(microseconds: number): void {
    if (microseconds === this.#timeout) return;
    const { handle: display } = this.#base.openContext.display;
    const name = names.EGL_CONSUMER_ACQUIRE_TIMEOUT_USEC_KHR;
    check(
      eglExtensions().eglStreamAttribKHR!(display, this.eglStream.handle, name, microseconds),
      "eglStreamAttribKHR",
    );
    this.#timeout = microseconds;
  }

  /** Every new frame, until the producer disconnects. Dispose each before the next: `for await (using frame of consumer)`. */
  async *[Symbol.asyncIterator](): AsyncGenerator<EglStreamFrame, void, void> {
    for (let frame = await this.next(); frame !== undefined; frame = await this.next()) yield frame;
  }
}

/** A stream's frame, as a texture that shaders sample (`samplerExternalOES`). Its dispose returns it to the stream. */
export class EglStreamFrame extends NativeObject {
  /** Its end of life. */
  readonly resource: Resource;
  readonly #base: EglBase;
  readonly #texture: ExternalTexture;

  /** Made by a consumer. */
  constructor(base: EglBase, texture: ExternalTexture, resource: Resource) {
    super();
    this.#base = base;
    this.#texture = texture;
    this.resource = resource;
    finalizers.register(this, resource, this);
  }

  /** GL's name of the texture: bind it to `target` in commands of your own, by `egl.queue.run()`. */
  get texture(): number {
    this.resource.assertLive();
    return this.#texture.name;
  }

  /** The target of the texture: `GL_TEXTURE_EXTERNAL_OES`. */
  get target(): number {
    return GL_TEXTURE_EXTERNAL_OES;
  }

  /**
   * Draws the frame over a picture, scaled to its size by the nearest pixel, the first row to the first row. The driver
   * converts YUV to RGB.
   *
   * @param picture a picture of one plane, such as RGBA
   * @throws {ArgumentError} for a picture of another context, and one of several planes.
   * @throws {AccessError} if its bytes are lent.
   */
  drawTo(picture: Picture): void {
    const planes = isMade<Frame<EglTensor>>(picture, Frame) ? picture.planes : [picture as EglTensor];
    checks.assertInstance<unknown>(planes[0], EglTensor, "picture");
    checks.assertHere(planes[0].target.context, this.#base, "picture");
    if (planes.length > 1) {
      throw checks.wrong("picture", `${picture.name} has several planes.`, "Draw to an RGBA picture.");
    }
    this.resource.assertLive(); // the frame's release comes after all commands of the context, this one included
    const draw = () => this.#texture.drawTo(planes[0].rawHandle);
    const call = (lane: EglLane) => lane.run("glDrawArrays", draw);
    this.#base.line.submit([{ tensor: picture, access: "write", argument: "picture" }], { fn: "glDrawArrays", call });
  }
}

const ACQUIRE = "eglStreamConsumerAcquireKHR";
const RELEASE = "eglStreamConsumerReleaseKHR";
const ORDER =
  "The consumer connects first. A stream that was connected in another order is of no more use: make a new one.";
