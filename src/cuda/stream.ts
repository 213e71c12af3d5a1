import { cudaStreamDefault, cudaStreamNonBlocking } from "../../ffi/cuda_runtime/constants.ts";
import type { CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import type { Access } from "../core/memory/access.ts";
import { isMade, type Names, optionsIn, shown } from "../core/argument.ts";
import { ofArgument } from "../core/errors.ts";
import type { Fence } from "../core/life/fence.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import { ledger } from "../core/life/ledger.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { waitsOnDevice } from "../core/life/waits.ts";
import type { CudaArray } from "./arrays/array.ts";
import { checks } from "./check.ts";
import type { CudaContext } from "./context.ts";
import { check, checkRelease } from "./errors.ts";
import { CudaEventFence } from "./event_fence.ts";
import { CudaFence } from "./fence.ts";
import { cudart } from "./library.ts";
import { allocateInOrder, type OrderedAllocation } from "./memory/ordered.ts";
import { CudaTensor } from "./tensor.ts";
import type { Timeline } from "./timeline.ts";
import { copy } from "./transfers/copy.ts";
import { copyFromArray, copyToArray } from "./transfers/array.ts";
import { fill } from "./transfers/fill.ts";
import { read, write } from "./transfers/read_write.ts";

/** Options of {@link CudaContext.createStream}. */
export interface StreamOptions {
  /** Does it run beside the legacy default stream, instead of waiting for it? True by default. */
  readonly nonBlocking?: boolean;
  /** The lower, the sooner: `cuda.priorities` says what there is. 0 by default. */
  readonly priority?: number;
}

const OPTIONS: Names<StreamOptions> = { nonBlocking: true, priority: true };

const NONE: readonly Resource[] = [];

/** A tensor that a command uses, and what for. */
export interface CudaUse {
  /** What it uses. */
  readonly tensor: CudaTensor;
  /** What is done to it. */
  readonly access: Access;
  /** What the caller knows it as. */
  readonly argument: string;
}

/**
 * A stream: its commands run in order, and beside those of other streams. Disposing one that was attached to leaves it to
 * its owner.
 */
export class CudaStream extends NativeObject {
  /** The context it belongs to. */
  readonly context: CudaContext;
  /** Its end of life. */
  readonly resource: Resource;
  /** Its commands: for those who write mappers. */
  readonly timeline: Timeline;
  readonly #handle: StreamHandle;

  /** Made by `cuda.createStream()`, or of a handle by `cuda.attachStream()`; a context has one to begin with. */
  constructor(context: CudaContext, from: StreamOptions | bigint = {}) {
    super();
    this.context = context;
    const undo: Undo = [];
    try {
      this.#handle = typeof from === "bigint" ? from as StreamHandle : createStream(context, from, undo);
    } catch (error) {
      unwind(undo);
      throw error;
    }
    this.timeline = context.timelineOf(this.#handle);
    const { timeline } = this;
    let last = 0;
    undo.push(() => timeline.end(last)); // others may go on with a stream that was attached to
    const owned = typeof from !== "bigint";
    undo.push(() => context.managed.turns?.streamEnds(timeline, owned));
    this.resource = new Resource({
      name: `cuda stream (${context.name})`,
      owners: [context.resource],
      undo,
      giveBack: { context, submit: () => new CudaFence(context, timeline, last = timeline.newest) },
    });
  }

  /** True for what this class has made, and not for a proxy of it: for those who write mappers. */
  static owns(value: object): boolean {
    return #handle in value;
  }

  /** The `cudaStream_t`. What you submit to it is yours to declare, by `tensor.usedBy(stream.fence())`. */
  get handle(): StreamHandle {
    this.resource.assertLive();
    return this.#handle;
  }

  /** The same without a check: for those who write mappers. */
  get rawHandle(): StreamHandle {
    return this.#handle;
  }

  /** A fence behind all that was submitted so far, by whoever has the handle. */
  fence(): CudaFence {
    this.resource.assertLive();
    this.timeline.advance(); // an event that was recorded before may not stand behind what others have submitted
    this.timeline.record();
    return new CudaFence(this.context, this.timeline, this.timeline.newest);
  }

  /** Has what is submitted from now on wait for fences; of other APIs, the host waits here. */
  waitFor(after: Fence | readonly Fence[]): void {
    const fences = checks.unreached(after, "after");
    this.resource.assertLive();
    this.#waitFor(fences);
  }

  /** Blocks until all that was submitted is done. @throws {CudaLostError} where a kernel has gone wrong. */
  finish(): void {
    this.resource.assertLive();
    this.timeline.finish();
  }

  /** The same without blocking the event loop. */
  async finished(): Promise<void> {
    using fence = this.fence();
    await fence.wait();
  }

  /**
   * Copies one tensor to another of the same shape and dtype, because you ask for it; returns. The memory may be of any
   * kind and of any device of CUDA's. Between the host and a device it is counted in `cuda.bytesCopied`.
   *
   * @throws {LayoutError} where shape or dtype differ, the bytes overlap, or the rows of both are no pitches.
   * @throws {AccessError} where the tensors' bytes may not be used so.
   */
  copy(from: CudaTensor, to: CudaTensor): void {
    copy(this, from, to);
  }

  /**
   * Copies a tensor to an array, because you ask for it; returns. The tensor has the array's `shape`, and its rows have no
   * gaps; one channel needs no dimension of its own.
   *
   * @throws {LayoutError} where shape, dtype or strides do not fit.
   * @throws {AccessError} where the tensor's bytes may not be used so.
   */
  copyToArray(tensor: CudaTensor, array: CudaArray): void {
    copyToArray(this, tensor, array);
  }

  /** Copies an array to a tensor, because you ask for it; returns. @see {@link copyToArray} */
  copyFromArray(array: CudaArray, tensor: CudaTensor): void {
    copyFromArray(this, array, tensor);
  }

  /**
   * Allocates memory of the device in this stream's order (cudaMallocAsync), from a pool: no call waits for the device, and
   * what one tensor gives back the next one gets. It goes back in this stream's order too, behind all work on it: by
   * `dispose`, which blocks for that work, or by `tensor.disposeAfter(stream.fence())`, which does not. Other streams that
   * use it wait for its making; CUDA IPC cannot export it.
   *
   * @throws {ArgumentError} where the device has no memory pools (memoryPoolsSupported is 0).
   * @throws {NativeCallError} where there is not enough memory.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using tensor = cuda.stream.allocate({ shape: [1 << 20], dtype: "f32" });
   * cuda.stream.fill(tensor, 0);
   * ```
   */
  allocate(init: LayoutInit, options: OrderedAllocation = {}): CudaTensor {
    return allocateInOrder(this, init, options);
  }

  /**
   * Copies `bytes` to a tensor without gaps, because you ask for it; blocks. Counted in `cuda.bytesCopied`.
   *
   * @throws {LayoutError} where they are not as many as the tensor's, or that has gaps.
   * @throws {AccessError} where its bytes may not be written.
   */
  write(tensor: CudaTensor, bytes: ArrayBufferView): void {
    write(this, tensor, bytes);
  }

  /** Copies a tensor to `bytes`, because you ask for it; blocks. @see {@link write} */
  read(tensor: CudaTensor, bytes: ArrayBufferView): void {
    read(this, tensor, bytes);
  }

  /**
   * Gives every byte of a tensor's elements one value, on the device, and returns (cudaMemset2DAsync): what lies between
   * its rows stays as it is.
   *
   * @param byte 0 to 255
   * @throws {LayoutError} for gaps along more than one dimension.
   * @throws {AccessError} where its bytes may not be written.
   */
  fill(tensor: CudaTensor, byte: number): void {
    fill(this, tensor, byte);
  }

  /**
   * Submits a command that uses tensors, and `others`, behind the work on them and `after`, and records it on them: for
   * those who write mappers. The command is one call of the runtime, given the stream, with the context's device as the
   * current one. Answers the fence.
   */
  submit(
    fn: string,
    uses: readonly CudaUse[],
    after: readonly Fence[],
    call: (stream: StreamHandle) => number,
    others: readonly Resource[] = NONE,
  ): CudaFence {
    const { timeline, context } = this;
    const { turns } = context.managed;
    this.#waitFor(after, (waits) => {
      for (const { tensor } of uses) tensor.workBeside(timeline, waits);
      for (const other of others) other.workBeside(timeline, waits);
      this.#assertUsable(uses);
      for (const other of others) other.assertLive();
    });
    if (turns !== undefined) {
      for (const { tensor, argument } of uses) turns.assertReachable(tensor.grant.allocation, timeline, argument);
    }
    for (const { tensor, access } of uses) tensor.grant.revokeConflicting(access); // those of a peer's, who wrapped it
    turns?.before(timeline);
    return context.within(() => {
      check(call(this.#handle), fn);
      const fence = new CudaFence(context, timeline, timeline.advance(), uses.length + others.length + 1);
      for (const { tensor } of uses) tensor.resource.record(fence);
      for (const other of others) other.record(fence);
      turns?.after(timeline, fence);
      return fence;
    });
  }

  /**
   * The same of memory that is no tensor, behind `after` and what `gather` finds: answers the fence, recorded nowhere yet.
   * For those who write mappers.
   */
  submitRaw(
    fn: string,
    after: readonly Fence[],
    call: (stream: StreamHandle) => number,
    gather?: (waits: Fence[]) => void,
  ): CudaFence {
    const { timeline, context } = this;
    this.#assertThere(); // while it ends, what it carries goes back
    this.#waitFor(after, gather);
    const { turns } = context.managed;
    turns?.before(timeline);
    return context.within(() => {
      check(call(this.#handle), fn);
      const fence = new CudaFence(context, timeline, timeline.advance());
      turns?.after(timeline, fence);
      return fence;
    });
  }

  /** May it use these tensors so? All that can be known before a native call: for those who write mappers. */
  assertUsable(uses: readonly CudaUse[]): void {
    for (const { tensor, argument } of uses) checks.assertInstance<unknown>(tensor, CudaTensor, argument);
    this.#assertUsable(uses);
  }

  /** The same of what are tensors. */
  #assertUsable(uses: readonly CudaUse[]): void {
    this.resource.assertLive();
    for (const { tensor, access, argument } of uses) {
      try {
        tensor.assertUsable(access);
      } catch (error) {
        throw ofArgument(error, argument, argument);
      }
    }
  }

  /** Throws unless its `cudaStream_t` is still there. */
  #assertThere(): void {
    if (this.resource.state === "freed") this.resource.assertLive();
  }

  /** On the device for CUDA's own fences, here for others. */
  #waitFor(after: readonly Fence[], gather?: (waits: Fence[]) => void): void {
    const waits = waitsOnDevice(after, isOfStreams, gather);
    this.#assertThere(); // a program's own code may have ended it
    const { timeline } = this;
    for (const fence of waits) {
      if (isMade(fence, CudaEventFence)) {
        if (!fence.reached()) timeline.waitFor(fence.event);
      } else if (isMade(fence, CudaFence) && fence.line !== timeline && !fence.reached()) {
        timeline.waitFor(fence.line.at(fence.mark).handle);
      }
    }
  }
}

/** Can a stream wait for a fence on the device? What a program makes of fences it cannot. */
export function isOfStreams(fence: Fence): boolean {
  return isMade(fence, CudaFence) || isMade(fence, CudaEventFence);
}

function createStream(context: CudaContext, options: StreamOptions, undo: Undo): StreamHandle {
  const { nonBlocking = true, priority = 0 } = optionsIn(options, OPTIONS);
  const { least, greatest } = context.priorities;
  checks.assertBoolean(nonBlocking, "nonBlocking");
  if (!Number.isInteger(priority) || priority > least || priority < greatest) {
    throw checks.wrong("priority", `${shown(priority)} is none of ${greatest} (soonest) to ${least}.`);
  }
  context.resource.assertLive(); // asked last: reading the options may have run the program's own code
  const flags = nonBlocking ? cudaStreamNonBlocking : cudaStreamDefault;
  const out = new BigUint64Array(1);
  context.within(() =>
    check(cudart().cudaStreamCreateWithPriority(out, flags, priority), "cudaStreamCreateWithPriority")
  );
  const handle = out[0] as StreamHandle;
  ledger.add("cuda.cudaStream_t");
  undo.push(() => {
    ledger.remove("cuda.cudaStream_t");
    context.near(() => checkRelease(cudart().cudaStreamDestroy(handle), "cudaStreamDestroy"));
  });
  return handle;
}
