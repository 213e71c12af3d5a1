import { CL_TRUE } from "../../ffi/opencl/constants.ts";
import type { ClCommandQueue, ClEvent } from "../../ffi/opencl/handles.ts";
import { object } from "../core/argument.ts";
import { ArgumentError, LayoutError, throwAll } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import { ledger } from "../core/ledger.ts";
import { pinned } from "../core/pin.ts";
import { Resource } from "../core/resource.ts";
import { unwind } from "../core/undo.ts";
import type { OpenCLContext } from "./context.ts";
import { assertInstance, bytesIn, kindOf } from "./check.ts";
import type { OpenCLDevice } from "./device.ts";
import { check, errcode, made } from "./errors.ts";
import { assertNoGates, type Gate, OpenCLFence, Point } from "./event.ts";
import { opencl } from "./library.ts";
import { outlastWorkers } from "./sub_devices.ts";
import { OpenCLTensor } from "./tensor.ts";

const submitted = new BigUint64Array(1);

/** Commands that may wait for a flush before the next one brings it about. */
const MOST_UNFLUSHED = 64;

/** One enqueue: is given what every clEnqueue… takes last, and answers its code. */
export type Enqueue = (waits: number, waitList: BufferSource | null, event: BufferSource) => number;

/** Options of {@link OpenCLContext.createQueue}. */
export interface QueueOptions {
  /** Which of the context's devices; the first by default. */
  readonly device?: OpenCLDevice;
}

/**
 * An in-order command queue. Every command's event is held until it is seen over, by the queue if by nobody else.
 */
export class OpenCLQueue implements Disposable {
  /** The context it belongs to. */
  readonly context: OpenCLContext;
  /** The device whose work it is. */
  readonly device: OpenCLDevice;
  /** Its end of life. */
  readonly resource: Resource;
  readonly #handle: ClCommandQueue;
  #last: Point | undefined;
  #pending: Point[] = [];
  #forgetting: unknown;
  #gates: readonly Gate[] = [];
  #flushed = true;

  /** Made by `cl.createQueue()`; a context has one to begin with. */
  constructor(context: OpenCLContext, options: QueueOptions = {}) {
    const { device } = object(options, "options");
    this.context = context;
    this.device = device === undefined ? context.device : context.deviceIn(device);
    this.#handle = made(
      opencl().clCreateCommandQueue(context.handle, this.device.handle, 0n, errcode),
      "clCreateCommandQueue",
    );
    ledger.add("opencl.cl_command_queue");
    this.resource = new Resource({
      name: `opencl queue (${context.name})`,
      owners: [context.resource],
      undo: [() => this.#release()],
      giveBack: { context, submit: () => this.#last === undefined ? undefined : this.#fence(this.#last) },
    });
  }

  /** The `cl_command_queue`. What you submit to it yourself is yours to declare, by `tensor.usedBy`. */
  get handle(): ClCommandQueue {
    this.resource.assertLive();
    return this.#handle;
  }

  /** The same without a check: the work that ends a resource runs while its context is being disposed. */
  get rawHandle(): ClCommandQueue {
    return this.#handle;
  }

  /**
   * Submits one command behind `waits`: events of this context by its wait list, all others by waiting on the host.
   * Answers the point at which it is done. Once `enqueue` is called nothing runs but what it does: what it uses has to
   * be checked there, because a wait may have run code of the program's.
   *
   * @throws {DisposedError} where the queue was released.
   * @throws {NativeCallError} with the name of the function.
   */
  submit(fn: string, waits: readonly Fence[], enqueue: Enqueue): Point {
    const own: OpenCLFence[] = [];
    for (const fence of waits) {
      if (fence instanceof OpenCLFence && fence.context === this.context) own.push(fence);
      else fence.waitSync();
    }
    if (this.resource.state === "freed") this.resource.assertLive();
    // To ask is to flush, and rusticl 22.3 may not come back from a flush before the work is done.
    if (this.#flushed || this.#pending.length >= MOST_UNFLUSHED) this.#forget();
    this.#closedGates();
    const behind = this.#unfinished(own);
    const waitList = behind.length === 0 ? null : BigUint64Array.from(behind, (point) => point.event!);
    check(enqueue(behind.length, waitList, submitted), fn);
    this.#flushed = false;
    const point = new Point(submitted[0] as ClEvent, fn, this.#gates, behind, () => this.flush()).share();
    this.#last = point;
    this.#pending.push(point);
    return point;
  }

  /** A fence at all that was submitted so far. */
  fence(): OpenCLFence {
    this.resource.assertLive();
    const last = this.#last ??
      this.submit(
        "clEnqueueMarkerWithWaitList",
        [],
        (n, list, event) => opencl().clEnqueueMarkerWithWaitList(this.#handle, n, list, event),
      );
    return this.#fence(last);
  }

  /** Hands what was submitted to the device. Every wait does this by itself. */
  flush(): void {
    if (this.#flushed || this.resource.state === "freed") return;
    check(opencl().clFlush(this.#handle), "clFlush");
    this.#flushed = true;
  }

  /**
   * Blocks until all that was submitted is done, by you on its handle too.
   *
   * @throws {AccessError} where it waits for a user event that is not set.
   * @throws {NativeCallError} where the last command failed.
   */
  finish(): void {
    this.assertUnblocked("finish()");
    check(opencl().clFinish(this.handle), "clFinish");
    this.#forget();
    if (this.#last === undefined) return;
    // Completion is what the event says: rusticl's clFinish has been seen to return early.
    using fence = this.fence();
    fence.waitSync();
    this.#forget();
  }

  /** Copies `bytes` to the tensor, because you ask for it; blocks. Counted in `cl.bytesCopied`. */
  write(tensor: OpenCLTensor, bytes: ArrayBufferView): void {
    this.#copy(tensor, bytes, "write", "clEnqueueWriteBuffer");
  }

  /** Copies the tensor to `bytes`, because you ask for it; blocks. Counted in `cl.bytesCopied`. */
  read(tensor: OpenCLTensor, bytes: ArrayBufferView): void {
    this.#copy(tensor, bytes, "read", "clEnqueueReadBuffer");
  }

  /** Throws where a blocking call on this queue could never end. */
  assertUnblocked(what: string): void {
    assertNoGates(this.#closedGates(), what);
  }

  /** Releases it, after all that was submitted is done. */
  [Symbol.dispose](): void {
    this.resource.dispose();
  }

  #fence(point: Point): OpenCLFence {
    return new OpenCLFence(this.context, this, point);
  }

  #copy(
    tensor: OpenCLTensor,
    bytes: ArrayBufferView,
    access: "read" | "write",
    fn: "clEnqueueReadBuffer" | "clEnqueueWriteBuffer",
  ): void {
    this.resource.assertLive();
    assertInstance(tensor, OpenCLTensor, "tensor");
    const given = bytesIn(bytes);
    if (given === undefined) {
      throw new ArgumentError(`bytes: it is to be a typed array or DataView; got ${kindOf(bytes)}.`, {
        api: "opencl",
        fn,
        argument: "bytes",
      });
    }
    const { layout } = tensor;
    tensor.assertUsable(access);
    if (tensor.context !== this.context) {
      throw new ArgumentError(
        `tensor: ${tensor.name} belongs to ${tensor.context.name}, the queue to ${this.context.name}.`,
        { api: "opencl", fn, argument: "tensor" },
      );
    }
    if (given.byteLength !== layout.byteLength) {
      throw new LayoutError(`bytes: ${given.byteLength} bytes were given, ${tensor.name} has ${layout.byteLength}.`, {
        api: "opencl",
        fn,
        argument: "bytes",
      });
    }
    const { work } = tensor;
    const gates = work.flatMap((fence) => fence instanceof OpenCLFence ? fence.point.gates : []);
    assertNoGates([...this.#closedGates(), ...gates], `${access}()`);
    const point = this.submit(fn, work, (n, list, event) => {
      // Waiting may have run code of the program's: it may have disposed the tensor, or moved the bytes away.
      this.resource.assertLive();
      tensor.assertUsable(access);
      if (given.byteLength !== layout.byteLength) {
        throw new ArgumentError("bytes: their buffer was moved away.", { api: "opencl", fn, argument: "bytes" });
      }
      return pinned(given, "opencl", (address) =>
        opencl()[fn](
          this.#handle,
          tensor.rawHandle,
          CL_TRUE,
          BigInt(layout.byteOffset),
          BigInt(layout.byteLength),
          address,
          n,
          list,
          event,
        ));
    });
    this.context.countCopied(layout.byteLength);
    using fence = new OpenCLFence(this.context, this, point);
    fence.waitSync();
  }

  /** The user events that what was submitted waits for. */
  #closedGates(): readonly Gate[] {
    return this.#gates = this.#gates.filter((gate) => !gate.set);
  }

  /** The points of these fences that have to stand in a wait list. */
  #unfinished(fences: readonly OpenCLFence[]): Point[] {
    const points = new Set<Point>();
    for (const { line, point } of fences) {
      if (line === this) continue;
      if (line instanceof OpenCLQueue) line.flush();
      // PoCL 3.1 never ends a command that was submitted behind an event that had failed by then.
      if (point.over()) point.raise();
      else points.add(point);
    }
    // To ask about a later one may have shown that an earlier one is over.
    const behind: Point[] = [];
    for (const point of points) {
      if (point.event === undefined) point.raise();
      else behind.push(point);
    }
    if (behind.length > 0) this.#gates = [...new Set([...this.#gates, ...behind.flatMap((point) => point.gates)])];
    return behind;
  }

  /**
   * Lets go of the commands that are over. What fails here concerns none that is asked for now: those that could not be
   * asked are asked again next time, and the first failure is thrown with the end of the queue.
   */
  #forget(): void {
    try {
      while (this.#pending.length > 0 && isPast(this.#pending[0])) this.#pending.shift()!.letGo();
    } catch (error) {
      this.#forgetting ??= error;
    }
  }

  #release(): void {
    this.#forget();
    const errors: unknown[] = this.#forgetting === undefined ? [] : [this.#forgetting];
    const release = () => {
      ledger.remove("opencl.cl_command_queue");
      check(opencl().clReleaseCommandQueue(this.#handle), "clReleaseCommandQueue");
    };
    const outlast = () => outlastWorkers(this.#handle, this.device);
    // Its end has waited for the last command, which may have failed before those in front of it were done.
    const left = this.#pending.splice(0);
    for (const point of left.flatMap((each) => [each, ...each.behind])) this.#outlast(point);
    errors.push(...unwind([release, outlast, ...left.map((point) => () => point.letGo())]));
    throwAll(errors, `releasing ${this.resource.name}`);
  }

  /** Waits for what somebody else is told of. */
  #outlast(point: Point): void {
    if (point.event === undefined) return;
    using fence = this.#fence(point);
    try {
      fence.waitSync();
    } catch {
      // Told by whoever used the work; what could not be asked is over as well.
    }
  }
}

/** True for a command that is done, or has failed and nothing is left that it had waited for. */
function isPast(point: Point): boolean {
  return point.over() && point.behind.every((each) => each.over());
}
