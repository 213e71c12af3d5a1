import { cudaStreamDefault, cudaStreamNonBlocking } from "../../ffi/cuda_runtime/constants.ts";
import type { CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import { type Names, optionsIn, shown } from "../core/argument.ts";
import type { Call } from "../core/device/driver.ts";
import type { Fence } from "../core/device/fence.ts";
import { Line, type Use } from "../core/device/line.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import { ledger } from "../core/life/ledger.ts";
import { NativeObject } from "../core/life/native_object.ts";
import type { Resource } from "../core/life/resource.ts";
import type { CudaArray } from "./arrays/array.ts";
import { checks } from "./check.ts";
import type { CudaContext } from "./context.ts";
import { cudaLines } from "./driver.ts";
import { check, checkRelease } from "./errors.ts";
import { cudart } from "./library.ts";
import { allocateInOrder, type OrderedAllocation } from "./memory/ordered.ts";
import { MARK, StreamLane } from "./stream_lane.ts";
import { CudaTensor } from "./tensor.ts";
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

/** A tensor that a command uses, what for, and what the caller knows it as. */
export type CudaUse = Use<CudaTensor>;

/**
 * A stream: its commands run in order, and beside those of other streams. Disposing one that was attached to leaves it to
 * its owner.
 */
export class CudaStream extends NativeObject {
  /** The context it belongs to. */
  readonly context: CudaContext;
  /** Its commands: for those who write mappers. */
  readonly line: Line<StreamLane>;
  /** Its end of life. */
  readonly resource: Resource;
  readonly #made = true;

  /** Made by `cuda.createStream()`, or of a handle by `cuda.attachStream()`; a context has one to begin with. */
  constructor(context: CudaContext, from: StreamOptions | bigint = {}) {
    super();
    this.context = context;
    const made = typeof from === "bigint"
      ? { stream: from as StreamHandle, destroy: undefined }
      : createStream(context, from);
    this.line = new Line<StreamLane>({
      driver: cudaLines,
      open: (events) => new StreamLane(events, { ...made, device: context }),
      name: `cuda stream (${context.name})`,
      owners: [context.resource],
    });
    this.resource = this.line.resource;
    const { turns } = context.managed;
    if (turns !== undefined) this.line.lane.takeTurns(turns, this.line);
  }

  /** True for what this class has made, and not for a proxy of it: for those who write mappers. */
  static owns(value: object): boolean {
    return #made in value;
  }

  /** The `cudaStream_t`. What you submit to it is yours to declare, by `tensor.usedBy(stream.fence())`. */
  get handle(): StreamHandle {
    this.resource.assertLive();
    return this.rawHandle;
  }

  /** The same without a check: for those who write mappers. */
  get rawHandle(): StreamHandle {
    return this.line.lane.stream;
  }

  /** A fence behind all that was submitted so far, by any user of the handle. */
  fence(): Fence {
    this.line.submit([], MARK);
    return this.line.fence();
  }

  /** What is submitted from now on runs behind fences. The host waits here for those of other APIs. */
  waitFor(after: Fence | readonly Fence[]): void {
    this.line.waitFor(checks.fencesIn(after, "after"));
  }

  /** Blocks until all that was submitted is done. @throws {CudaLostError} where a kernel has gone wrong. */
  finish(): void {
    this.resource.assertLive();
    this.line.lane.finish();
  }

  /** The same without blocking the event loop. */
  async finished(): Promise<void> {
    await this.fence().wait();
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
   * Submits a call that uses tensors (and arrays) behind the work on them and `after`, and records it on them. Answers its
   * mark. For those who write mappers.
   */
  submit(uses: readonly Use[], call: Call<StreamLane>, after?: readonly Fence[]): number {
    const { turns } = this.context.managed;
    if (turns !== undefined) turns.assertReachable(uses, this.line.lane);
    return this.line.submit(uses, call, after);
  }

  /** Throws unless it is live, and these are tensors: for those who write mappers. */
  assertTakes(uses: readonly CudaUse[]): void {
    this.resource.assertLive();
    for (const { tensor, argument } of uses) checks.assertInstance<unknown>(tensor, CudaTensor, argument);
  }
}

function createStream(
  context: CudaContext,
  options: StreamOptions,
): { readonly stream: StreamHandle; readonly destroy: () => void } {
  const { nonBlocking = true, priority = 0 } = optionsIn(options, OPTIONS);
  const { least, greatest } = context.priorities;
  checks.assertBoolean(nonBlocking, "nonBlocking");
  if (!Number.isInteger(priority) || priority > least || priority < greatest) {
    throw checks.wrong("priority", `${shown(priority)} is none of ${greatest} (soonest) to ${least}.`);
  }
  const flags = nonBlocking ? cudaStreamNonBlocking : cudaStreamDefault;
  const out = new BigUint64Array(1);
  context.within(() =>
    check(cudart().cudaStreamCreateWithPriority(out, flags, priority), "cudaStreamCreateWithPriority")
  );
  const stream = out[0] as StreamHandle;
  ledger.add("cuda.cudaStream_t");
  const destroy = () => {
    ledger.remove("cuda.cudaStream_t");
    context.near(() => checkRelease(cudart().cudaStreamDestroy(stream), "cudaStreamDestroy"));
  };
  return { stream, destroy };
}
