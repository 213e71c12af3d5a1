import { isMade, shown } from "../../core/argument.ts";
import { asked } from "../../core/device/asking.ts";
import { StreamEnds } from "../../gl/stream_ends.ts";
import { DisposedError } from "../../core/errors.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import type { Undo } from "../../core/life/undo.ts";
import { checks } from "../check.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check, checkRelease } from "../errors.ts";
import { owned } from "../primary_context.ts";
import { CudaStream } from "../stream.ts";

/** The part of an `EGLStream` that its ends need: a samepage `EglStream`, or any object with the same queries. */
export interface EglStreamLike {
  /** The `EGLStreamKHR`. */
  readonly handle: bigint;
  /** The number of frames that can wait in order; 0 for a mailbox. */
  readonly fifo: number;
  /** True if the last frame stays in the stream. */
  readonly reuse: boolean;
  /** Its state: "created", "connecting", "empty", "new-frame", "old-frame", "disconnected". */
  readonly state: string;
  /** The number of frames that the producer has presented so far. */
  readonly produced: number;
  /** The number of the frame that the consumer acquired last. */
  readonly consumed: number;
  /** Its end of life: its ends in this process disconnect first. */
  readonly resource?: Resource;
}

/** One end of a stream in CUDA: a connection, and the CUDA stream in whose order frames come and go. */
export abstract class CudaStreamEnd extends NativeObject {
  /** Its context. */
  readonly context: CudaPrimaryContext;
  /** The EGL stream. */
  readonly eglStream: EglStreamLike;
  /** The CUDA stream. */
  readonly stream: CudaStream;
  /** Its end of life, which disconnects it. */
  readonly resource: Resource;
  /** What is known of both ends. */
  protected readonly ends: StreamEnds;
  /** A `cudaEglStreamConnection`. */
  protected readonly connection: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);
  /** `cudaStream_t *`, for calls. */
  protected readonly streamPointer: BigUint64Array<ArrayBuffer>;

  /** Connects. */
  constructor(
    stream: CudaStream,
    eglStream: EglStreamLike,
    side: "Consumer" | "Producer",
    connect: (connection: BigUint64Array<ArrayBuffer>) => number,
    disconnect: (connection: BigUint64Array<ArrayBuffer>) => number,
  ) {
    super();
    const { context, resource: owner } = stream;
    this.context = context;
    this.stream = stream;
    this.eglStream = eglStream;
    this.ends = StreamEnds.of(eglStream);
    this.streamPointer = BigUint64Array.of(stream.rawHandle);
    const { connection } = this;
    const fn = `cudaEGLStream${side}`;
    context.within(() => check(connect(connection), `${fn}Connect`));
    const undo: Undo = [];
    owned(context, `cuda.eglStream${side}`, undo, () => checkRelease(disconnect(connection), `${fn}Disconnect`));
    const name = `cuda ${side.toLowerCase()} of an EGLStream`;
    this.resource = new Resource({ name, owners: [owner, eglStream.resource], undo });
  }

  /** True while the other end may still act. */
  get isOpen(): boolean {
    return this.resource.isLive && (this.ends.hasBothEnds || this.eglStream.state !== "disconnected");
  }

  /** Polls until there is a result, while the event loop goes on. @throws {DisposedError} once it is disposed. */
  protected until<T>(ask: () => T | undefined): Promise<T> {
    return asked(() => {
      if (this.resource.isLive) return ask();
      throw new DisposedError(`${this.resource.name} was disposed.`, { api: "cuda" });
    });
  }
}

/** Checks the arguments of an end before any native call, because connecting in the wrong order spoils the stream. */
export function assertEnds(stream: unknown, eglStream: EglStreamLike, expected: readonly string[], what: string): void {
  if (!isMade(stream, CudaStream)) throw checks.wrongKind("stream", "a CudaStream", stream);
  checks.handleIn(eglStream?.handle, "eglStream.handle");
  const { state } = eglStream;
  if (expected.includes(state)) return;
  throw checks.wrong(
    "eglStream",
    `expected a stream that is ${expected.map((name) => `"${name}"`).join(" or ")}, got "${shown(state)}".`,
    `${what} A stream that was connected in another order is of no more use: make a new one.`,
  );
}

/** Throws if a consumer in this process takes the other kind of frames. */
export function assertConsumer(stream: CudaStream, eglStream: EglStreamLike, arrays: boolean): void {
  const { consumer } = StreamEnds.of(eglStream);
  if (consumer === undefined) return;
  const { ordinal } = stream.context.device;
  if (consumer.arrays !== undefined && consumer.arrays !== arrays) {
    const [takes, given] = [consumer.arrays, arrays].map((are) => are ? "CUDA arrays" : "pointers");
    throw checks.wrong(
      "init.arrays",
      `the consumer takes frames of ${takes}, and not of ${given}.`,
      "Connect both alike.",
    );
  }
  if (arrays && consumer.ordinal !== undefined && consumer.ordinal !== ordinal) {
    const what = `the consumer is on GPU ${consumer.ordinal}, and this producer on GPU ${ordinal}.`;
    throw checks.wrong("init.arrays", what, "Frames of pointers cross from one GPU to another, and arrays do not.");
  }
}
