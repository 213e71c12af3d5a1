import { cudaErrorLaunchTimeout } from "../../../ffi/cuda_runtime/errors.ts";
import { isMade, type Names, optionsIn } from "../../core/argument.ts";
import type { Call } from "../../core/contract.ts";
import type { Use } from "../../core/device/line.ts";
import { AccessError } from "../../core/errors.ts";
import { frameInWords, type ImageFormat } from "../../core/layout/frame_info.ts";
import { whole } from "../../core/layout/layout.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { checks } from "../check.ts";
import { check } from "../errors.ts";
import type { CudaStream } from "../stream.ts";
import { onStream, type StreamLane } from "../stream_lane.ts";
import { CudaTensor } from "../tensor.ts";
import { CudaArrayFrame } from "./array_frame.ts";
import { assertConsumer, assertEnds, CudaStreamEnd, type EglStreamLike } from "./end.ts";
import { colourOf, FrameStruct } from "./frame.ts";
import { Loans, type Planes } from "./lent.ts";
import { cudaEgl } from "./library.ts";

/** The frames of a producer, which are all alike. */
export interface CudaProducerInit {
  /** Their format. */
  readonly format: ImageFormat;
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
  /** True if their planes are CUDA arrays: then the consumer has to be on the same GPU. False by default. */
  readonly arrays?: boolean;
}

/** A frame of a stream: a picture in memory at addresses, or in CUDA arrays. */
export type CudaStreamFrame = Frame<CudaTensor> | CudaArrayFrame;

const INIT: Names<CudaProducerInit> = { format: true, width: true, height: true, arrays: true };
const PRESENT = "cudaEGLStreamProducerPresentFrame";
const RETURN = "cudaEGLStreamProducerReturnFrame";

const RETURNED: Call<StreamLane> = { fn: RETURN, call: () => 0 };

const MAX_FRAMES = 64;

/**
 * CUDA as the producer of an `EGLStream`. A frame that it presents is lent to the stream for reading until the consumer has
 * released it and the stream returns it. Until then nothing may write it, and its dispose ends the producer first.
 *
 * No call blocks: a full stream accepts no frame, and frames are taken back only if the stream has released ones.
 */
export class CudaStreamProducer<F extends CudaStreamFrame = Frame<CudaTensor>> extends CudaStreamEnd {
  /** The frames' format and size. */
  readonly init: CudaProducerInit;
  readonly #lent = new Loans();
  readonly #structs = new WeakMap<CudaStreamFrame, { readonly bytes: Uint8Array<ArrayBuffer>; readonly key: bigint }>();
  readonly #back = new FrameStruct();
  #returned = 0;

  private constructor(stream: CudaStream, eglStream: EglStreamLike, init: CudaProducerInit) {
    const { handle } = eglStream;
    const { width, height } = init;
    super(
      stream,
      eglStream,
      "Producer",
      (out) => cudaEgl().cudaEGLStreamProducerConnect(out, handle as never, width, height),
      (connection) => {
        const code = cudaEgl().cudaEGLStreamProducerDisconnect(connection);
        this.#lent.endAll();
        this.ends.producer = undefined;
        return code;
      },
    );
    this.init = init;
    this.ends.producer = this.resource;
  }

  /**
   * Connects to a stream that has a consumer.
   *
   * @param stream the CUDA stream in whose order frames go, and come back
   * @throws {ArgumentError} for a stream without a consumer, a format that streams do not carry, and frames of arrays for a
   * consumer on another GPU.
   * @throws {NativeCallError} if the driver refuses.
   */
  static connect(
    stream: CudaStream,
    eglStream: EglStreamLike,
    init: CudaProducerInit & { readonly arrays: true },
  ): CudaStreamProducer<CudaArrayFrame>;
  /** Connects an end that presents frames of pointers. */
  static connect(stream: CudaStream, eglStream: EglStreamLike, init: CudaProducerInit): CudaStreamProducer;
  static connect(
    stream: CudaStream,
    eglStream: EglStreamLike,
    given: CudaProducerInit,
  ): CudaStreamProducer<CudaStreamFrame> {
    const init = Object.freeze({ arrays: false, ...optionsIn(given, INIT, "init") });
    colourOf(init.format, "init.format");
    whole(init.width, "init.width", 1);
    whole(init.height, "init.height", 1);
    checks.assertBoolean(init.arrays, "init.arrays");
    assertEnds(stream, eglStream, ["connecting"], "The consumer connects first.");
    assertConsumer(stream, eglStream, init.arrays);
    return new CudaStreamProducer<CudaStreamFrame>(stream, eglStream, init);
  }

  /** The number of frames in the stream. */
  get lent(): number {
    return this.#lent.size;
  }

  /** True if the stream accepts a frame now. A mailbox does, unless 64 are in use. */
  get hasRoom(): boolean {
    return this.isOpen && this.#hasRoom(this.#consumed());
  }

  /**
   * Presents a frame to the stream, behind all work on it. Returns false, and does nothing, if the stream is full.
   *
   * @throws {LayoutError} for a frame of another format or size.
   * @throws {AccessError} for a frame that is in the stream already, or lent for writing.
   * @throws {ArgumentError} once the consumer has disconnected.
   */
  present(frame: F): boolean {
    const planes = this.#planesOf(frame);
    this.resource.assertLive();
    const consumed = this.#consumed();
    this.#takeBack(consumed);
    if (!this.#hasRoom(consumed)) return false;
    const { bytes, key } = this.#structOf(frame);
    if (this.#lent.has(key)) {
      throw new AccessError(`${frame.name} is in the stream already.`, {
        ...{ api: "cuda", fn: PRESENT, argument: "frame" },
        hint: "Present another frame until the consumer has released this one: takeBack() returns how many are back.",
      });
    }
    const uses = planes.map((tensor): Use<CudaTensor> => ({
      tensor: tensor as CudaTensor,
      access: "read",
      argument: "frame",
    }));
    const call = () => cudaEgl()[PRESENT](this.connection, bytes, this.streamPointer);
    this.stream.submit(uses, onStream(PRESENT, call));
    this.#lent.add(key, planes, this.resource);
    this.ends.presented++;
    return true;
  }

  /** Takes back the frames that the consumer has released; returns their number. The stream may keep the last one. */
  takeBack(): number {
    this.resource.assertLive();
    return this.#takeBack(this.#consumed());
  }

  /** Presents each frame that is written; a full stream makes the writer wait. Its close and its abort disconnect. */
  get writable(): WritableStream<F> {
    const end = () => this[Symbol.asyncDispose]();
    return new WritableStream<F>({
      write: async (frame) => void await this.until(() => this.present(frame) || undefined),
      close: end,
      abort: end,
    }, { highWaterMark: 1 });
  }

  /** Resolves once frames are back, with their number; at once if no frame is in the stream. */
  async returned(): Promise<number> {
    if (this.lent === 0) return 0;
    return await this.until(() => this.takeBack() || undefined);
  }

  #consumed(): number {
    if (!this.isOpen) {
      throw checks.wrong("eglStream", "its consumer has disconnected.", "Make a new stream, and connect both ends.");
    }
    return this.ends.consumedOf(this.eglStream);
  }

  #hasRoom(consumed: number): boolean {
    return this.#lent.size < MAX_FRAMES && this.ends.hasRoom(this.eglStream.fifo, consumed);
  }

  /**
   * Asking for a frame that the stream does not have blocks for a millisecond (driver 580), so this asks only for released
   * ones. A consumer elsewhere is assumed to hold one frame until it acquires the next.
   */
  #takeBack(consumed: number): number {
    const before = this.#returned;
    const { reuse, fifo } = this.eglStream;
    const held = this.ends.hasBothEnds ? this.ends.acquired : Math.min(consumed, 1);
    const waiting = fifo === 0 ? Math.min(this.ends.presented - consumed, 1) : this.ends.presented - consumed;
    const kept = reuse && (fifo > 0 || waiting === 0) ? Math.max(held, 1) : held;
    const released = this.ends.presented - waiting - kept;
    const struct = this.#back;
    while (this.#lent.size > 0 && this.#returned < released) {
      const code = this.context.within(() => cudaEgl()[RETURN](this.connection, struct.bytes, this.streamPointer));
      if (code === cudaErrorLaunchTimeout) break; // a consumer elsewhere holds more than one
      check(code, RETURN);
      this.#returned++;
      this.#lent.end(struct.addressOf(0), this.resource, this.stream.line.submitRaw(RETURNED));
    }
    return this.#returned - before;
  }

  #structOf(frame: CudaStreamFrame): { readonly bytes: Uint8Array<ArrayBuffer>; readonly key: bigint } {
    const known = this.#structs.get(frame);
    if (known !== undefined) return known;
    const struct = frame instanceof CudaArrayFrame ? FrameStruct.ofArrays(frame) : FrameStruct.of(frame);
    const made = { bytes: struct.bytes, key: struct.addressOf(0) as bigint };
    this.#structs.set(frame, made);
    return made;
  }

  #planesOf(frame: CudaStreamFrame): Planes {
    const { format, width, height, arrays } = this.init;
    const isRight = arrays ? isMade<unknown>(frame, CudaArrayFrame) : isMade<unknown>(frame, Frame);
    if (!isRight) throw checks.wrongKind("frame", arrays ? "a CudaArrayFrame" : "a Frame", frame);
    const planes = frame instanceof CudaArrayFrame ? frame.arrays : frame.planes;
    if (!arrays) checks.assertInstance<unknown>(planes[0], CudaTensor, "frame");
    frame.resource.assertLive();
    checks.assertHere(planes[0].context, this.context, "frame");
    const { info } = frame;
    if (info.type === "image" && info.format === format && info.width === width && info.height === height) {
      return planes;
    }
    const what = `expected ${format} ${width} × ${height}, got ${frameInWords(info)}.`;
    throw checks.unfit("frame", what, undefined, PRESENT);
  }
}
