import { cudaErrorLaunchTimeout } from "../../../ffi/cuda_runtime/errors.ts";
import { isMade, type Names, optionsIn } from "../../core/argument.ts";
import { AccessError, LayoutError, throwAll } from "../../core/errors.ts";
import type { ImageFormat } from "../../core/layout/pixel_formats.ts";
import { whole } from "../../core/layout/layout.ts";
import { unwind } from "../../core/life/undo.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { checks } from "../check.ts";
import { check } from "../errors.ts";
import type { CudaStream } from "../stream.ts";
import { CudaTensor } from "../tensor.ts";
import { assertEnds, CudaStreamEnd, type EglStreamLike } from "./end.ts";
import { colourOf, FrameStruct } from "./frame.ts";
import { cudaEgl } from "./library.ts";

/** The frames of a producer, which are all alike. */
export interface CudaProducerInit {
  /** Their format. */
  readonly format: ImageFormat;
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
}

const INIT: Names<CudaProducerInit> = { format: true, width: true, height: true };
const PRESENT = "cudaEGLStreamProducerPresentFrame";
const RETURN = "cudaEGLStreamProducerReturnFrame";

/**
 * CUDA as the producer of an `EGLStream`. A frame that it presents is lent to the stream, to be read, until the consumer has
 * released it and the stream gives it back.
 *
 * No call blocks: a full stream takes no frame, and a frame is asked back only where the consumer has acquired a later one.
 */
export class CudaStreamProducer extends CudaStreamEnd {
  /** The frames' format and size. */
  readonly init: CudaProducerInit;
  /** Those that the stream has, and what they were lent from, by the address of their first plane. */
  readonly #lent = new Map<bigint, readonly [lent: Frame<CudaTensor>, from: Frame<CudaTensor>]>();
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
        for (const [lent] of this.#lent.values()) lent[Symbol.dispose]();
        return code;
      },
    );
    this.init = init;
  }

  /**
   * Connects to a stream that has a consumer.
   *
   * @param stream the CUDA stream in whose order frames go, and come back
   * @throws {ArgumentError} for a stream without a consumer, and a format that streams do not carry.
   * @throws {NativeCallError} if the driver refuses.
   */
  static connect(stream: CudaStream, eglStream: EglStreamLike, given: CudaProducerInit): CudaStreamProducer {
    const init = Object.freeze(optionsIn(given, INIT, "init"));
    colourOf(init.format);
    whole(init.width, "init.width", 1);
    whole(init.height, "init.height", 1);
    assertEnds(stream, eglStream, ["connecting"], "The consumer connects first.");
    return new CudaStreamProducer(stream, eglStream, init);
  }

  /** True for an instance that this class made, and not for a proxy of it. For those who write mappers. */
  static owns(value: object): boolean {
    return #lent in value;
  }

  /** How many frames the stream has. */
  get lent(): number {
    return this.#lent.size;
  }

  /** True if the stream takes a frame now. A mailbox always does. */
  get hasRoom(): boolean {
    const { fifo, produced, consumed } = this.eglStream;
    return fifo === 0 || produced - consumed < fifo;
  }

  /**
   * Gives a frame to the stream, behind all work on it. False where the stream is full: then nothing was done.
   *
   * @throws {LayoutError} for a frame of another format or size.
   * @throws {AccessError} for one that is in the stream already.
   */
  present(frame: Frame<CudaTensor>): boolean {
    this.#assertFits(frame);
    this.takeBack();
    if (!this.hasRoom) return false;
    const struct = FrameStruct.of(frame);
    if (this.#lent.has(struct.addressOf(0))) {
      throw new AccessError(`${frame.name} is in the stream already.`, {
        ...{ api: "cuda", fn: PRESENT, argument: "frame" },
        hint: "Present another frame until the consumer has released this one: takeBack() tells.",
      });
    }
    const lent = frame.borrow("read");
    try {
      const { connection, streamPointer } = this;
      this.stream.submit([{ tensor: lent, access: "read", argument: "frame" }], {
        fn: PRESENT,
        call: () => cudaEgl()[PRESENT](connection, struct.bytes, streamPointer),
      });
    } catch (error) {
      throwAll([error, ...unwind([() => lent[Symbol.dispose]()])], "presenting a frame");
      throw error;
    }
    this.#lent.set(struct.addressOf(0), [lent, frame]);
    return true;
  }

  /** Takes back the frames that the consumer has released; returns how many. The stream may keep the last one. */
  takeBack(): number {
    this.resource.assertLive();
    const before = this.#returned;
    const kept = this.eglStream.reuse ? 1 : 0;
    while (this.#lent.size > 0 && this.#returned < this.eglStream.consumed - kept) {
      const struct = new FrameStruct();
      const { connection, streamPointer } = this;
      const code = this.context.within(() => cudaEgl()[RETURN](connection, struct.bytes, streamPointer));
      if (code === cudaErrorLaunchTimeout) break; // the consumer still has it
      check(code, RETURN);
      this.#returned++;
      const address = struct.addressOf(0);
      const [lent, from] = this.#lent.get(address) ?? [];
      this.#lent.delete(address);
      lent?.[Symbol.dispose](); // that it was presented is long over
      from?.usedBy(this.stream.fence()); // it comes back in the order of the CUDA stream
    }
    return this.#returned - before;
  }

  /**
   * The same as a stream of the Web's: what is written is presented, and a full stream holds the writer up. Its close
   * disconnects.
   */
  get writable(): WritableStream<Frame<CudaTensor>> {
    return new WritableStream<Frame<CudaTensor>>({
      write: async (frame) => {
        while (!this.present(frame)) await this.pause();
      },
      close: () => this[Symbol.asyncDispose](),
      abort: () => this[Symbol.asyncDispose](),
    }, { highWaterMark: 1 });
  }

  #assertFits(frame: Frame<CudaTensor>): void {
    if (!isMade<unknown>(frame, Frame)) throw checks.wrongKind("frame", "a Frame", frame);
    checks.assertInstance<unknown>(frame.planes[0], CudaTensor, "frame");
    const { format, width, height } = this.init;
    const { info } = frame;
    if (info.type === "image" && info.format === format && info.width === width && info.height === height) return;
    const what = info.type === "image" ? `${info.format} of ${info.width}×${info.height}` : "sound";
    throw new LayoutError(`frame: expected ${format} of ${width}×${height}, got ${what}.`, {
      ...{ api: "cuda", fn: PRESENT, argument: "frame" },
    });
  }
}
