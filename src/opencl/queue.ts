import type { ClCommandQueue, ClEvent } from "../../ffi/opencl/handles.ts";
import { throwAll } from "../core/errors.ts";
import type { Used } from "../core/device/arguments.ts";
import type { Fence } from "../core/life/fence.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import { ledger } from "../core/life/ledger.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { unwind } from "../core/life/undo.ts";
import { unreached } from "./check.ts";
import type { OpenCLContext } from "./context.ts";
import type { OpenCLDevice } from "./device.ts";
import { check } from "./errors.ts";
import { OpenCLFence } from "./event.ts";
import { assertNoGates, gatesOf } from "./queues/gate.ts";
import { opencl } from "./library.ts";
import { Point } from "./queues/point.ts";
import { attachedQueue, createdQueue, type QueueOptions, type QueueOrder } from "./queues/handle.ts";
import { type CommandKind, Submitted } from "./queues/submitted.ts";
import type { OpenCLImage } from "./image.ts";
import type { OpenCLTensor } from "./tensor.ts";
import { type Colour, copyImage, fillImage, readImage, writeImage } from "./transfers/image.ts";
import { copy } from "./transfers/copy.ts";
import { fill } from "./transfers/fill.ts";
import { migrate, type MigrateOptions } from "./transfers/migrate.ts";
import type { FillPattern } from "./transfers/pattern.ts";
import { read, write } from "./transfers/read_write.ts";
import { readRect, writeRect } from "./transfers/rect.ts";
import { unfinishedIn, waitsOf } from "./queues/wait_list.ts";

const submitted = new BigUint64Array(1);
const NOTHING: readonly Used[] = [];

/** One enqueue: is given what every clEnqueue… takes last, and answers its code. */
export type Enqueue = (waits: number, waitList: BufferSource | null, event: BufferSource) => number;

/**
 * A command queue. Every command's event is held until it is seen over, by the queue if by nobody else.
 *
 * Whatever its order, work on a tensor waits for the work on it that was submitted before.
 */
export class OpenCLQueue extends NativeObject {
  /** The context it belongs to. */
  readonly context: OpenCLContext;
  /** The device whose work it is. */
  readonly device: OpenCLDevice;
  /** In which order commands run. */
  readonly order: QueueOrder;
  /** Do its fences tell {@link OpenCLFence.times}? */
  readonly profiling: boolean;
  /** Its end of life. */
  readonly resource: Resource;
  readonly #handle: ClCommandQueue;
  readonly #submitted: Submitted;
  #flushed = true;
  readonly #flush = () => this.flush();

  /** Made by `cl.createQueue()`, or of a handle by `cl.attachQueue()`; a context has one to begin with. */
  constructor(context: OpenCLContext, from: QueueOptions | bigint = {}) {
    super();
    const made = typeof from === "bigint" ? attachedQueue(context, from) : createdQueue(context, from);
    this.context = context;
    this.device = made.device;
    this.order = made.order;
    this.profiling = made.profiling;
    this.#handle = made.handle;
    this.#submitted = Submitted.to(made.handle, made.overtakes);
    this.resource = new Resource({
      name: `opencl queue (${context.name})`,
      owners: [context.resource],
      undo: [() => this.#release()],
      giveBack: { context, submit: () => this.#recordEnds() },
    });
  }

  /** True for what this class has made, and not for a proxy of it: for those who write mappers. */
  static owns(value: object): boolean {
    return #handle in value;
  }

  /** The `cl_command_queue`. What you submit to it yourself is yours to declare, by `tensor.usedBy`. */
  get handle(): ClCommandQueue {
    this.resource.assertLive();
    return this.#handle;
  }

  /** The same without a check, for those who write mappers: the work that ends a resource runs while its context ends. */
  get rawHandle(): ClCommandQueue {
    return this.#handle;
  }

  /**
   * Submits one command behind `after` and the work on what it uses: events of this context by its wait list, all others
   * by waiting on the host. Answers the point at which it is done, recorded nowhere yet. Once `enqueue` is called nothing
   * runs but what it does: what it uses has to be checked there, because a wait may have run code of the program's. For
   * those who write mappers.
   *
   * @throws {DisposedError} where the queue was released.
   * @throws {NativeCallError} with the name of the function.
   */
  submit(fn: string, after: readonly Fence[], enqueue: Enqueue, used: readonly Used[] = NOTHING): Point {
    return this.#submit(fn, waitsOf(this, after, used), enqueue, "command");
  }

  /** A fence at all that was submitted so far. Out of order, it is a marker of its own. */
  fence(): OpenCLFence {
    this.resource.assertLive();
    const { whole } = this.#submitted;
    return whole === undefined ? this.marker() : this.#fence(whole);
  }

  /** A fence at the command that was submitted last, and no other; at a marker where there was none. */
  lastCommand(): OpenCLFence {
    this.resource.assertLive();
    const { last } = this.#submitted;
    return last === undefined ? this.marker() : this.#fence(last);
  }

  /**
   * Submits a marker (clEnqueueMarkerWithWaitList): a command that does nothing, after `after`. Where that is left out,
   * empty or done, it is a fence at all that was submitted so far. A driver may let it wait for all of that in any case:
   * PoCL 3.1 does.
   *
   * @param after fences of any context; those of others are waited for here
   * @throws {ArgumentError} where one is no fence.
   * @throws {NativeCallError} where one has failed.
   */
  marker(after?: Fence | readonly Fence[]): OpenCLFence {
    return this.#join("clEnqueueMarkerWithWaitList", after, "marker");
  }

  /** The same, and what is submitted later begins only after it (clEnqueueBarrierWithWaitList). @throws like {@link marker}. */
  barrier(after?: Fence | readonly Fence[]): OpenCLFence {
    return this.#join("clEnqueueBarrierWithWaitList", after, "barrier");
  }

  /** Hands what was submitted to the device. Every wait does this by itself. */
  flush(): void {
    if (this.#flushed || this.resource.state === "freed") return;
    check(opencl().clFlush(this.#handle), "clFlush");
    this.#flushed = true;
  }

  /**
   * Blocks until all that was submitted is done, by whomever on its handle.
   *
   * @throws {AccessError} where it waits for a user event that is not set.
   * @throws {NativeCallError} where the last command failed; out of order, any that was not over before. What others
   * failed with is told by whoever used them.
   */
  finish(): void {
    this.assertUnblocked("finish()");
    const { ends } = this.#submitted;
    check(opencl().clFinish(this.handle), "clFinish");
    // Completion is what the events say: rusticl's clFinish has been seen to return early.
    const errors = ends.flatMap((point) => this.#outlast(point));
    this.#submitted.forget();
    throwAll(errors, `finishing ${this.resource.name}`);
  }

  /**
   * Copies `bytes` to the tensor, because you ask for it; blocks. Counted in `cl.bytesCopied`.
   *
   * @throws {LayoutError} where they are not as long as the tensor, padding included.
   * @throws {AccessError} where the tensor's bytes are lent, or the queue waits for a user event that is not set.
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

  /** Throws where a blocking call on this queue, behind these, could never end: for those who write mappers. */
  assertUnblocked(what: string, behind: readonly Fence[] = []): void {
    const points = behind.flatMap((fence) => OpenCLFence.pointOf(fence) ?? []);
    assertNoGates([...this.#submitted.gates, ...gatesOf(points)], what);
  }

  #fence(point: Point): OpenCLFence {
    return new OpenCLFence(this.context, this, point);
  }

  #join(
    fn: "clEnqueueMarkerWithWaitList" | "clEnqueueBarrierWithWaitList",
    after: Fence | readonly Fence[] | undefined,
    kind: CommandKind,
  ): OpenCLFence {
    const fences = unreached(after, "after");
    this.resource.assertLive();
    const point = this.#submit(fn, waitsOf(this, fences, NOTHING), (n, list, event) => {
      this.resource.assertLive();
      return opencl()[fn](this.#handle, n, list, event);
    }, kind);
    return this.#fence(point);
  }

  #submit(fn: string, waits: readonly Fence[], enqueue: Enqueue, kind: CommandKind): Point {
    if (this.resource.state === "freed") this.resource.assertLive();
    // To ask is to flush, and rusticl 22.3 may not come back from a flush before the work is done.
    if (this.#flushed || this.#submitted.crowded) this.#submitted.forget();
    const listed = unfinishedIn(waits, this);
    const { behind, gates, before, follows } = this.#submitted.ahead(listed, kind);
    const waitList = listed.length === 0 ? null : BigUint64Array.from(listed, (point) => point.event!);
    check(enqueue(listed.length, waitList, submitted), fn);
    this.#flushed = false;
    const event = submitted[0] as ClEvent;
    const { profiling: profiled } = this;
    const point = new Point({ event, fn, gates, behind, before, follows, flush: this.#flush, profiled }).share();
    this.#submitted.add(point, kind, gates, kind !== "command" && listed.length === 0);
    return point;
  }

  /** Its end waits for all that it was given, unless others use the same `cl_command_queue`: then theirs does. */
  #recordEnds(): undefined {
    if (!this.#submitted.leave()) return void this.flush();
    for (const point of this.#submitted.ends) this.resource.record(this.#fence(point));
  }

  #release(): void {
    const release = () => {
      ledger.remove("opencl.cl_command_queue");
      check(opencl().clReleaseCommandQueue(this.#handle), "clReleaseCommandQueue");
    };
    if (this.#submitted.inUse) return release();
    const { left, failures } = this.#submitted.takeAll();
    // Its end has waited for the last command, which may have failed before those in front of it were done. What these
    // failed with is told by whoever used the work.
    for (const point of new Set(left.flatMap((each) => [each, ...each.behind]))) this.#outlast(point);
    const errors = [...failures, ...unwind([release, ...left.map((point) => () => point.letGo())])];
    throwAll(errors, `releasing ${this.resource.name}`);
  }

  /** Waits until it is over; answers what it failed with. */
  #outlast(point: Point): unknown[] {
    using fence = this.#fence(point);
    try {
      fence.waitSync();
      return [];
    } catch (error) {
      return [error];
    }
  }
}
