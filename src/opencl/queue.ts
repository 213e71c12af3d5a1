import type { ClCommandQueue } from "../../ffi/opencl/handles.ts";
import { type Fence, fenceIn } from "../core/device/fence.ts";
import { Line } from "../core/device/line.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import { NativeObject } from "../core/life/native_object.ts";
import type { Resource } from "../core/life/resource.ts";
import { fencesIn } from "./check.ts";
import type { OpenCLContext } from "./context.ts";
import type { OpenCLDevice } from "./device.ts";
import { check } from "./errors.ts";
import type { OpenCLImage } from "./image.ts";
import { ClLane } from "./lane.ts";
import { opencl } from "./library.ts";
import { attachedQueue, createdQueue, joinQueue, linesOn, type QueueOptions, releaseQueue } from "./queues/handle.ts";
import { CommandLog, type CommandTimes, notTimed } from "./queues/profiling.ts";
import type { OpenCLTensor } from "./tensor.ts";
import { copy } from "./transfers/copy.ts";
import { fill } from "./transfers/fill.ts";
import { type Colour, copyImage, fillImage, readImage, writeImage } from "./transfers/image.ts";
import { migrate, type MigrateOptions } from "./transfers/migrate.ts";
import type { FillPattern } from "./transfers/pattern.ts";
import { read, write } from "./transfers/read_write.ts";
import { readRect, writeRect } from "./transfers/rect.ts";

/** A command queue, which runs commands in order. Work on a tensor waits for the work on it that was submitted before. */
export class OpenCLQueue extends NativeObject {
  /** The context it belongs to. */
  readonly context: OpenCLContext;
  /** The device whose work it is. */
  readonly device: OpenCLDevice;
  /** Does it keep the {@link times} of its commands? */
  readonly profiling: boolean;
  /** Its work: for those who write mappers. */
  readonly line: Line<ClLane>;
  readonly #isShared: boolean;
  readonly #log: CommandLog | undefined;

  /** Made by `cl.createQueue()`, or of a handle by `cl.attachQueue()`; a context has one to begin with. */
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

  /** True for what this class has made, and not for a proxy of it: for those who write mappers. */
  static owns(value: object): boolean {
    return #isShared in value;
  }

  /** Its end of life. */
  get resource(): Resource {
    return this.line.resource;
  }

  /** The `cl_command_queue`. What you submit to it yourself is yours to declare, by `tensor.usedBy`. */
  get handle(): ClCommandQueue {
    this.resource.assertLive();
    return this.line.lane.queue;
  }

  /** A fence at all that was submitted so far; of an attached queue, by others as well: that is a marker of its own. */
  fence(): Fence {
    this.resource.assertLive();
    return this.#isShared ? this.waitFor([]) : this.line.fence();
  }

  /**
   * Has what is submitted from now on wait for fences, of any API (clEnqueueMarkerWithWaitList): on the device where it
   * can, else here. Answers a fence behind them, and behind all that was submitted so far.
   *
   * @throws {ArgumentError} where one is no fence.
   * @throws what made one of them fail.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using other = cl.createQueue();
   * using tensor = cl.allocate({ shape: [4], dtype: "f32" });
   * other.fill(tensor, 1);
   * const both = cl.queue.waitFor(other.fence());
   * await both.wait();
   * ```
   */
  waitFor(after: Fence | readonly Fence[]): Fence {
    return this.line.waitFor(fencesIn(after, "after"));
  }

  /** Hands what was submitted to the device. Every wait does this by itself. */
  flush(): void {
    if (this.resource.state !== "freed") this.line.lane.flush();
  }

  /**
   * Blocks until all that was submitted is done, by its other users too.
   *
   * @throws {AccessError} where it waits for a promise, or for a user event, that is not settled.
   * @throws {NativeCallError} where the last command failed. What others failed with is told by those who used them.
   */
  finish(): void {
    this.resource.assertLive();
    const { line } = this;
    line.assertUnblocked("finish()");
    check(opencl().clFinish(line.lane.queue), "clFinish");
    line.fence().waitSync(); // what counts is what the events say: rusticl 22.3 comes back early
  }

  /**
   * When a command was enqueued, began and was done, once it is. The last 1,024 of a queue with profiling are kept.
   *
   * @param fence at the command: `queue.fence()` behind it; of an attached queue `queue.line.fence()`, as the other is at
   * a marker
   * @throws {ArgumentError} where the queue has no profiling (`argument` is `"profiling"`), or the fence is not one of its
   * own, is not reached, or is too old.
   * @throws {NativeCallError} where the command failed, or the driver would not tell.
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
   * Copies `bytes` to the tensor, because you ask for it; blocks. Counted in `cl.bytesCopied`.
   *
   * @throws {LayoutError} where they are not as long as the tensor, padding included.
   * @throws {AccessError} where the tensor's bytes are lent, or the queue waits for a promise that is not settled.
   */
  write(tensor: OpenCLTensor, bytes: ArrayBufferView): void {
    write(this, tensor, bytes);
  }

  /** Copies the tensor to `bytes`, because you ask for it; blocks. Counted in `cl.bytesCopied`. @throws like {@link write}. */
  read(tensor: OpenCLTensor, bytes: ArrayBufferView): void {
    read(this, tensor, bytes);
  }

  /**
   * Copies elements to the tensor, and leaves what lies between them alone (clEnqueueWriteBufferRect); blocks. Counted
   * in `cl.bytesCopied`.
   *
   * @param at where the elements lie in `bytes`: a layout of the same shape and dtype; contiguous by default
   * @throws {LayoutError} where it is another shape or dtype, or no box of at most three dimensions of bytes.
   * @throws {AccessError} like {@link write}.
   */
  writeRect(tensor: OpenCLTensor, bytes: ArrayBufferView, at?: LayoutInit): void {
    writeRect(this, tensor, bytes, at);
  }

  /**
   * Copies the tensor's elements to `bytes`, and leaves what lies between them alone (clEnqueueReadBufferRect); blocks.
   * Counted in `cl.bytesCopied`.
   *
   * @param at where the elements go in `bytes`: a layout of the same shape and dtype; contiguous by default
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
    readRect(this, tensor, bytes, at);
  }

  /**
   * Fills the tensor's elements, on the device, and returns; what lies between them is left alone. Rows that are apart
   * take a command each (clEnqueueFillBuffer), so a failure in the middle leaves a part of them filled.
   *
   * @param pattern a value of the tensor's dtype, or several in turn; or bytes, as a typed array: 1 to 128 of them, a
   * power of two
   * @throws {ArgumentError} where the pattern is of another kind, size or range.
   * @throws {LayoutError} where a row is no multiple of it, or there are too many rows.
   * @throws {AccessError} where the tensor's bytes may not be written.
   */
  fill(tensor: OpenCLTensor, pattern: FillPattern): void {
    fill(this, tensor, pattern);
  }

  /**
   * Copies one tensor to another, on the device, because you ask for it; returns. Only elements are copied, not what
   * lies between them (clEnqueueCopyBuffer, clEnqueueCopyBufferRect). Not counted in `cl.bytesCopied`.
   *
   * @throws {LayoutError} where shape or dtype differ, the bytes overlap, or they are no box of at most three dimensions.
   * @throws {AccessError} where the tensors' bytes may not be used so.
   */
  copy(from: OpenCLTensor, to: OpenCLTensor): void {
    copy(this, from, to);
  }

  /**
   * Has the driver move the tensors' buffers, whole, to the device or the host, ahead of their use
   * (clEnqueueMigrateMemObjects); returns. It says where bytes are, not who may use them.
   *
   * @throws {LayoutError} where `contentUndefined` would spoil bytes that are not the tensor's.
   * @throws {AccessError} where the tensors' bytes are lent.
   */
  migrate(tensors: readonly OpenCLTensor[], options: MigrateOptions): void {
    migrate(this, tensors, options);
  }

  /**
   * Copies `bytes` to an image's pixels, because you ask for it (clEnqueueWriteImage); blocks. Counted in
   * `cl.bytesCopied`.
   *
   * @param bytes the pixels, row after row without gaps
   * @throws {LayoutError} where they are not as many as the image's.
   * @throws {AccessError} like {@link write}.
   */
  writeImage(image: OpenCLImage, bytes: ArrayBufferView): void {
    writeImage(this, image, bytes);
  }

  /** Copies an image's pixels to `bytes`, because you ask for it (clEnqueueReadImage). @see {@link writeImage} */
  readImage(image: OpenCLImage, bytes: ArrayBufferView): void {
    readImage(this, image, bytes);
  }

  /**
   * Copies pixels on the device, because you ask for it, and returns: between two images of one format and size, or
   * between an image and a buffer that has its pixels without gaps. Not counted in `cl.bytesCopied`.
   *
   * @throws {LayoutError} where formats or sizes differ, or the bytes overlap.
   * @throws {AccessError} where the bytes may not be used so.
   */
  copyImage(from: OpenCLImage | OpenCLTensor, to: OpenCLImage | OpenCLTensor): void {
    copyImage(this, from, to);
  }

  /**
   * Gives every pixel of an image one colour, on the device, and returns.
   *
   * @param colour four channels, as `read_imagef`, `read_imagei` or `read_imageui` would answer them
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
