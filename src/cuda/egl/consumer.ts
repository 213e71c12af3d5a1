import * as names from "../../../ffi/cuda_egl/constants.ts";
import type { CudaGraphicsResource } from "../../../ffi/cuda_egl/handles.ts";
import { cudaSuccess } from "../../../ffi/cuda_runtime/constants.ts";
import { cudaErrorLaunchTimeout, cudaErrorUnknown } from "../../../ffi/cuda_runtime/errors.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import { AccessError } from "../../core/errors.ts";
import { subtreeOf } from "../../core/life/ending.ts";
import { allOrNothing } from "../../core/life/undo.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { type AcquireOptions, nextFrame, timeoutIn } from "../../gl/stream_ends.ts";
import { checks } from "../check.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import type { CudaStream } from "../stream.ts";
import type { CudaTensor } from "../tensor.ts";
import { AcquiredFrames, MAP } from "./acquired.ts";
import { CudaArrayFrame } from "./array_frame.ts";
import { assertEnds, CudaStreamEnd, type EglStreamLike } from "./end.ts";
import { FrameStruct } from "./frame.ts";
import { cudaEgl } from "./library.ts";
import type { CudaStreamFrame } from "./producer.ts";

/** How a consumer takes frames. */
export interface CudaConsumerInit {
  /** True if it takes frames of CUDA arrays, and not of pointers. False by default. */
  readonly arrays?: boolean;
  /** The place of their memory, to which the driver moves frames that lie elsewhere; by default the driver decides. */
  readonly location?: "device" | "host";
}

const INIT: Names<CudaConsumerInit> = { arrays: true, location: true };
const LOCATIONS = { device: names.cudaEglResourceLocationVidmem, host: names.cudaEglResourceLocationSysmem } as const;
const ACQUIRE = "cudaEGLStreamConsumerAcquireFrame";
const RELEASE = "cudaEGLStreamConsumerReleaseFrame";

const NO_RESOURCE = 0n as CudaGraphicsResource;

/**
 * CUDA as the consumer of an `EGLStream`. It connects before the producer does. Each frame is the producer's memory at an
 * address of this context: kernels read it, and its dispose releases it to the stream. A producer in this process takes its
 * frames back before it ends.
 *
 * No call blocks without a `timeout`.
 */
export class CudaStreamConsumer<F extends CudaStreamFrame = Frame<CudaTensor>> extends CudaStreamEnd
  implements AsyncIterable<F> {
  readonly #frames: AcquiredFrames;
  readonly #struct = new FrameStruct();
  readonly #out = new BigUint64Array(1);
  #last: F | undefined;

  private constructor(stream: CudaStream, eglStream: EglStreamLike, { arrays = false, location }: CudaConsumerInit) {
    const handle = eglStream.handle as never;
    const native = cudaEgl();
    super(
      stream,
      eglStream,
      "Consumer",
      (out) =>
        location === undefined
          ? native.cudaEGLStreamConsumerConnect(out, handle)
          : native.cudaEGLStreamConsumerConnectWithFlags(out, handle, LOCATIONS[location]),
      (connection) => {
        this.ends.consumer = undefined;
        return native.cudaEGLStreamConsumerDisconnect(connection);
      },
    );
    const { context, resource, ends } = this;
    this.#frames = new AcquiredFrames({ context, resource, ends, arrays });
    this.ends.consumer = { ordinal: this.context.device.ordinal, arrays };
  }

  /**
   * Connects to a stream.
   *
   * @param stream the CUDA stream in whose order frames come, and go back
   * @throws {ArgumentError} for a stream that has a consumer already.
   * @throws {NativeCallError} if the driver refuses.
   */
  static connect(
    stream: CudaStream,
    eglStream: EglStreamLike,
    init: CudaConsumerInit & { readonly arrays: true },
  ): CudaStreamConsumer<CudaArrayFrame>;
  /** Connects an end that takes frames of pointers. */
  static connect(stream: CudaStream, eglStream: EglStreamLike, init?: CudaConsumerInit): CudaStreamConsumer;
  static connect(
    stream: CudaStream,
    eglStream: EglStreamLike,
    init: CudaConsumerInit = {},
  ): CudaStreamConsumer<CudaStreamFrame> {
    const { arrays = false, location } = optionsIn(init, INIT, "init");
    checks.assertBoolean(arrays, "init.arrays");
    if (location !== undefined) checks.nameIn(location, LOCATIONS, "init.location");
    assertEnds(stream, eglStream, ["created", "initializing"], "The consumer connects first.");
    return new CudaStreamConsumer<CudaStreamFrame>(stream, eglStream, init);
  }

  /**
   * The next frame, read-only; undefined if there is no new one. Its dispose releases it once the work on it is over;
   * {@link release} does not wait for that.
   *
   * With a `timeout`, in microseconds, the call blocks until a new frame comes, but does not wait for a producer on this
   * thread, which could present none meanwhile. If no new frame comes, the call returns the previous frame again
   * (`eglStream.consumed` stays the same), or undefined if the stream keeps none.
   *
   * @throws {AccessError} with a `timeout`, until the previous frame is released.
   * @throws {InteropError} for a frame of the other kind (see {@link CudaConsumerInit}), or of a format that samepage does
   * not know. It is released again.
   *
   * @example
   * ```ts ignore
   * import { CudaContext, CudaStreamConsumer } from "@samepage/interop/cuda";
   * import { EglContext } from "@samepage/interop/egl";
   *
   * using egl = EglContext.open();
   * using cuda = CudaContext.open();
   * using stream = egl.stream({ fifo: 2 });
   * using consumer = CudaStreamConsumer.connect(cuda.stream, stream); // then a producer connects
   * using frame = consumer.acquire({ timeout: 16_000 }); // 16 ms; then the previous frame
   * ```
   */
  acquire(options?: AcquireOptions): F | undefined {
    this.resource.assertLive();
    const timeout = options === undefined ? undefined : this.#timeoutIn(options);
    const { context, connection, streamPointer, ends, eglStream } = this;
    const state = ends.hasBothEnds ? nearState(ends.presented, ends.consumed, eglStream.reuse) : eglStream.state;
    const isNew = state === "new-frame";
    if (!isNew && !ends.mayAcquire(state, timeout)) return undefined;
    const limit = isNew || ends.hasBothEnds ? 0 : timeout!;
    const out = this.#out;
    const native = cudaEgl();
    let [resource, mapped] = [NO_RESOURCE, 0];
    const code = context.within(() => {
      const code = native[ACQUIRE](connection, out, streamPointer, limit);
      if (code !== cudaSuccess) return code;
      resource = out[0] as CudaGraphicsResource;
      mapped = native[MAP](this.#struct.bytes, resource, 0, 0);
      return code;
    });
    if (code === cudaErrorLaunchTimeout) return undefined;
    if (code === cudaErrorUnknown && state === "empty") { // the driver's code before the first frame
      cudart().cudaGetLastError();
      return undefined;
    }
    check(code, ACQUIRE);
    ends.acquire(eglStream.fifo, isNew);
    const release = () => {
      ends.acquired--;
      context.within(() => checkRelease(cudaEgl()[RELEASE](connection, resource, streamPointer), RELEASE));
    };
    allOrNothing("acquiring a frame", () => check(mapped, MAP), [release]);
    return this.#last = this.#frames.add(this.#struct, resource, release) as F;
  }

  /**
   * Resolves with the next frame; undefined once the producer has disconnected. With a `timeout` it is {@link acquire}
   * without blocking. @throws like {@link acquire}.
   */
  async next(options: AcquireOptions = {}): Promise<F | undefined> {
    return await nextFrame(this, this.#timeoutIn(options));
  }

  #timeoutIn(options: AcquireOptions): number | undefined {
    const timeout = timeoutIn(checks, options);
    if (timeout === undefined || !this.#last?.resource.isLive) return timeout;
    const hint = "Release it first: with a timeout, the driver acquires it once more where no new frame comes.";
    throw new AccessError("the consumer has the previous frame still.", { api: "cuda", fn: ACQUIRE, hint });
  }

  /**
   * Releases a frame in the order of the CUDA stream: the device waits for all work on it. Nothing blocks, and the frame is
   * disposed.
   *
   * @throws {AccessError} while a part of it is lent.
   */
  release(frame: F): void {
    const isArrays = frame instanceof CudaArrayFrame;
    if (!isArrays && !(frame instanceof Frame)) throw checks.wrongKind("frame", "a frame of this consumer's", frame);
    if (!this.#frames.has(frame)) {
      throw checks.wrong("frame", "this consumer has not acquired it.", "Other frames are disposed.");
    }
    frame.resource.assertLive();
    if (!isArrays && frame.grants.some((grant) => !grant.lendsNothing)) {
      throw new AccessError(`${frame.name} is lent.`, { api: "cuda", fn: RELEASE, hint: "Dispose its slices first." });
    }
    const resources = subtreeOf(frame.resource);
    const fences = resources.flatMap(({ work }) => work.fences);
    const others = fences.filter(({ line }) => line !== this.stream.line);
    if (others.length > 0) this.stream.waitFor(others);
    for (const { line } of fences) for (const { work } of resources) work.abandon(line);
    frame[Symbol.dispose]();
  }

  /** Every new frame, until the producer disconnects. Dispose each before the next: `for await (using frame of consumer)`. */
  async *[Symbol.asyncIterator](): AsyncGenerator<F, void, void> {
    for (let frame = await this.next(); frame !== undefined; frame = await this.next()) yield frame;
  }
}

/** The state of a stream whose ends are both here, without a query. */
function nearState(presented: number, consumed: number, reuse: boolean): string {
  return presented > consumed ? "new-frame" : consumed > 0 && reuse ? "old-frame" : "empty";
}
