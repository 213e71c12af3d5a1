import type { ClCommandQueue } from "../../ffi/opencl/handles.ts";
import { type Fence, fenceIn } from "../core/device/fence.ts";
import { Line } from "../core/device/line.ts";
import { DeviceQueue } from "../core/device/queue.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import type { OpenCLContext } from "./context.ts";
import type { OpenCLDevice } from "./device.ts";
import { check } from "./errors.ts";
import type { OpenCLImage } from "./image.ts";
import { ClLane } from "./lane.ts";
import { opencl } from "./library.ts";
import { attachedQueue, createdQueue, joinQueue, linesOn, type QueueOptions, releaseQueue } from "./queues/handle.ts";
import { CommandLog, type CommandTimes, notTimed } from "./queues/profiling.ts";
import type { OpenCLTensor } from "./tensor.ts";
import { moveBytes, moveElements } from "./transfers/bytes.ts";
import { copy } from "./transfers/copy.ts";
import { fill, type FillPattern } from "./transfers/fill.ts";
import { type Colour, copyImage, fillImage, movePixels } from "./transfers/image.ts";
import { migrate, type MigrateOptions } from "./transfers/migrate.ts";

/** A command queue, which runs commands in order. Work on a tensor waits for the earlier work on it. */
export class OpenCLQueue extends DeviceQueue<ClLane> {
  /** Its context. */
  readonly context: OpenCLContext;
  /** Its device. */
  readonly device: OpenCLDevice;
  /** True if it keeps the {@link times} of its commands. */
  readonly profiling: boolean;
  /** Its line of work. For those who write mappers. */
  override readonly line: Line<ClLane>;
  readonly #isShared: boolean;
  readonly #log: CommandLog | undefined;

  /** Made by `cl.createQueue()`, `cl.attachQueue()`, and once by the context. */
  constructor(context: OpenCLContext, from: QueueOptions | bigint = {}) {
    super();
    const made = typeof from === "bigint" ? attachedQueue(context, from) : createdQueue(context, from);
    const { handle: queue, device, profiling, isShared } = made;
    this.context = context;
    this.device = device;
    this.profiling = profiling;
    this.#isShared = isShared;
    const log = this.#log = profiling ? new CommandLog() : undefined;
    const { driver } = context;
    const release = () => releaseQueue(queue);
    this.line = new Line<ClLane>({
      driver,
      name: `opencl queue (${context.name})`,
      owners: [context.resource],
      beside: () => linesOn(queue),
      open: (events) => new ClLane({ context: driver.context, queue, events, failed: driver.failed, log, release }),
    });
    joinQueue(queue, this.line);
  }

  /** The `cl_command_queue`. Declare work that you submit to it yourself with `tensor.usedBy`. */
  get handle(): ClCommandQueue {
    this.resource.assertLive();
    return this.line.lane.queue;
  }

  /** A fence behind all commands so far. On an attached queue it is a marker, behind the commands of others too. */
  override fence(): Fence {
    this.resource.assertLive();
    return this.#isShared ? this.waitFor([]) : this.line.fence();
  }

  /** Hands all commands to the device. Every wait does this itself. */
  flush(): void {
    if (this.resource.state !== "freed") this.line.lane.flush();
  }

  /**
   * Blocks until all commands are done, those of its other users too.
   *
   * @throws {AccessError} if it waits for an unsettled promise or user event.
   * @throws {NativeCallError} if the last command failed. The tensors of earlier commands report their failures.
   */
  override finish(): void {
    this.resource.assertLive();
    const { line } = this;
    line.assertUnblocked("finish()");
    check(opencl().clFinish(line.lane.queue), "clFinish");
    line.fence().waitSync(); // by the events: clFinish of rusticl 22.3 returns early
  }

  /**
   * When a finished command was enqueued, began and ended. A queue with profiling keeps the times of its last 1,024
   * commands.
   *
   * @param fence at the command: `queue.fence()` right behind it. On an attached queue it is `queue.line.fence()`, because
   * `queue.fence()` adds a marker
   * @throws {ArgumentError} if the queue does not profile (`argument` is `"profiling"`), or the fence is of another queue,
   * is not reached, or is too old.
   * @throws {NativeCallError} if the command failed, or the driver refuses its times.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using queue = cl.createQueue({ profiling: true });
   * using tensor = cl.allocate({ shape: [1024], dtype: "f32" });
   * queue.fill(tensor, 0);
   * const fence = queue.fence();
   * await fence.wait();
   * const { started, ended } = queue.times(fence);
   * console.log(`${ended - started} ns`);
   * ```
   */
  times(fence: Fence): CommandTimes {
    const { line, mark } = fenceIn(fence, "fence", "opencl");
    if (this.#log === undefined) {
      throw notTimed("profiling", "the queue keeps none.", "Make it by cl.createQueue({ profiling: true }).");
    }
    if (line !== this.line as Line) throw notTimed("fence", "it is of another queue.", "Ask the queue that made it.");
    if (!fence.reached()) {
      throw notTimed("fence", "the work is not done yet.", "Wait for it first: await fence.wait().");
    }
    return this.#log.at(mark);
  }

  /**
   * Copies `bytes` to the tensor; blocks. Counted in `cl.bytesCopied`.
   *
   * @throws {LayoutError} if they are not as long as the tensor, padding included.
   * @throws {AccessError} if the tensor's bytes are lent, or the queue waits for an unsettled promise.
   */
  write(tensor: OpenCLTensor, bytes: ArrayBufferView): void {
    moveBytes(this, "clEnqueueWriteBuffer", tensor, bytes);
  }

  /** Copies the tensor to `bytes`; blocks. Counted in `cl.bytesCopied`. @throws like {@link write}. */
  read(tensor: OpenCLTensor, bytes: ArrayBufferView): void {
    moveBytes(this, "clEnqueueReadBuffer", tensor, bytes);
  }

  /**
   * Copies elements to the tensor, and leaves its gaps alone (clEnqueueWriteBufferRect); blocks. Counted in
   * `cl.bytesCopied`.
   *
   * @param at the layout of the elements in `bytes`, of the same shape and dtype; contiguous by default
   * @throws {LayoutError} for another shape or dtype, or elements that are no box of at most three dimensions of bytes.
   * @throws {AccessError} like {@link write}.
   */
  writeRect(tensor: OpenCLTensor, bytes: ArrayBufferView, at?: LayoutInit): void {
    moveElements(this, "clEnqueueWriteBufferRect", tensor, bytes, at);
  }

  /**
   * Copies the tensor's elements to `bytes`, and leaves the gaps there alone (clEnqueueReadBufferRect); blocks. Counted in
   * `cl.bytesCopied`.
   *
   * @param at the layout of the elements in `bytes`, of the same shape and dtype; contiguous by default
   * @throws like {@link writeRect}.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using image = cl.allocate({ shape: [2, 3], dtype: "u8", rowAlign: 64 });
   * cl.queue.fill(image, 7);
   * const elements = new Uint8Array(6); // without the padding of the rows
   * cl.queue.readRect(image, elements);
   * console.log(elements); // Uint8Array(6) [ 7, 7, 7, 7, 7, 7 ]
   * ```
   */
  readRect(tensor: OpenCLTensor, bytes: ArrayBufferView, at?: LayoutInit): void {
    moveElements(this, "clEnqueueReadBufferRect", tensor, bytes, at);
  }

  /**
   * Fills the tensor's elements on the device, and leaves its gaps alone; returns at once. Each row takes a command if there
   * are gaps (clEnqueueFillBuffer), so a failure may leave some rows filled.
   *
   * @param pattern a value of the tensor's dtype, or several in turn; or a typed array of 1 to 128 bytes, a power of two
   * @throws {ArgumentError} if the pattern's kind, size or range is wrong.
   * @throws {LayoutError} if a row is not a multiple of it, or there are too many rows.
   * @throws {AccessError} if the tensor's bytes may not be written.
   */
  fill(tensor: OpenCLTensor, pattern: FillPattern): void {
    fill(this, tensor, pattern);
  }

  /**
   * Copies the elements of one tensor to another on the device, without the gaps (clEnqueueCopyBuffer,
   * clEnqueueCopyBufferRect); returns at once. Not counted in `cl.bytesCopied`.
   *
   * @throws {LayoutError} if shape or dtype differ, the bytes overlap, or they are no box of at most three dimensions.
   * @throws {AccessError} if the tensors' bytes are lent, or `to` may not be written.
   */
  copy(from: OpenCLTensor, to: OpenCLTensor): void {
    copy(this, from, to);
  }

  /**
   * Moves the tensors' whole buffers to the device or the host ahead of their use (clEnqueueMigrateMemObjects); returns at
   * once. It changes no access.
   *
   * @throws {LayoutError} if `contentUndefined` would spoil bytes outside the tensor.
   * @throws {AccessError} if the tensors' bytes are lent.
   */
  migrate(tensors: readonly OpenCLTensor[], options: MigrateOptions): void {
    migrate(this, tensors, options);
  }

  /**
   * Copies `bytes` to an image's pixels (clEnqueueWriteImage); blocks. Counted in `cl.bytesCopied`.
   *
   * @param bytes the pixels, row after row without gaps
   * @throws {LayoutError} if they are not as many as the image's.
   * @throws {AccessError} like {@link write}.
   */
  writeImage(image: OpenCLImage, bytes: ArrayBufferView): void {
    movePixels(this, "clEnqueueWriteImage", image, bytes);
  }

  /** Copies an image's pixels to `bytes` (clEnqueueReadImage). @see {@link writeImage} */
  readImage(image: OpenCLImage, bytes: ArrayBufferView): void {
    movePixels(this, "clEnqueueReadImage", image, bytes);
  }

  /**
   * Copies pixels on the device between two images of one format and size, or between an image and a buffer of its pixels
   * without gaps; returns at once. Not counted in `cl.bytesCopied`.
   *
   * @throws {LayoutError} if formats or sizes differ, or the bytes overlap.
   * @throws {AccessError} if the bytes are lent, or `to` may not be written.
   */
  copyImage(from: OpenCLImage | OpenCLTensor, to: OpenCLImage | OpenCLTensor): void {
    copyImage(this, from, to);
  }

  /**
   * Fills an image with one colour on the device; returns at once.
   *
   * @param colour four channels, as `read_imagef`, `read_imagei` or `read_imageui` would return them
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using image = cl.image({ order: "RGBA", type: "UNORM_INT8" }).allocate({ shape: [2, 2, 4] });
   * cl.queue.fillImage(image, [1, 0, 0, 1]);
   * const pixels = new Uint8Array(16);
   * cl.queue.readImage(image, pixels);
   * console.log(pixels.subarray(12)); // Uint8Array(4) [ 255, 0, 0, 255 ]
   * ```
   */
  fillImage(image: OpenCLImage, colour: Colour): void {
    fillImage(this, image, colour);
  }
}
