import { cudaStreamDefault, cudaStreamNonBlocking } from "../../ffi/cuda_runtime/constants.ts";
import type { CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import { type Names, optionsIn, shown } from "../core/argument.ts";
import type { Call, Commands } from "../core/contract.ts";
import type { Fence } from "../core/device/fence.ts";
import { SemaphoreQueue } from "../core/device/foreign_semaphore.ts";
import { Line, type Use } from "../core/device/line.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import { ByHandle } from "../core/memory/peers.ts";
import { counted } from "../core/life/ledger.ts";
import type { Resource } from "../core/life/resource.ts";
import type { CudaArray } from "./arrays/array.ts";
import { checks } from "./check.ts";
import type { CudaPrimaryContext } from "./base.ts";
import { cudaLines, MARKER } from "./driver.ts";
import { check, checkRelease } from "./errors.ts";
import { cudart } from "./library.ts";
import { allocateInOrder, type OrderedAllocation } from "./memory/ordered.ts";
import { type ManagedTurns, turnsOf } from "./memory/managed_turns.ts";
import { MARK, StreamLane } from "./stream_lane.ts";
import type { CudaTensor } from "./tensor.ts";
import { CudaCommands } from "./transfers/commands.ts";

/** Options of {@link CudaContext.createStream}. */
export interface StreamOptions {
  /** True, the default, if the stream does not wait for the legacy default stream. */
  readonly nonBlocking?: boolean;
  /** A lower number runs first; `cuda.priorities` has the range. 0 by default. */
  readonly priority?: number;
}

const OPTIONS: Names<StreamOptions> = { nonBlocking: true, priority: true };

/** A context with a default stream. */
export interface CudaStreamContext extends CudaPrimaryContext {
  /** The stream of commands that name none. */
  readonly stream: CudaStream;
}

/** The resources of samepage's own streams; weak, so that finalizers notice a forgotten context. */
const ours = new ByHandle<WeakRef<Resource>>();
const STREAM = "cudaStream_t";

/** A stream: its commands run in order. Disposing an attached one does not destroy the `cudaStream_t`. */
export class CudaStream extends SemaphoreQueue<StreamLane, CudaTensor, CudaTensor | CudaArray> {
  /** Its context. */
  override readonly context: CudaPrimaryContext;
  /** Its line of work. For mappers. */
  override readonly line: Line<StreamLane>;
  /** CUDA's commands. */
  protected override readonly commands: Commands<StreamLane, CudaTensor, CudaTensor | CudaArray>;
  readonly #turns: ManagedTurns | undefined;

  /** Made by `cuda.createStream()`, `cuda.attachStream()`, and once by the context. */
  constructor(context: CudaPrimaryContext, from: StreamOptions | bigint = {}) {
    super();
    this.context = context;
    this.commands = new CudaCommands(context);
    const made = typeof from === "bigint"
      ? { stream: from as StreamHandle, destroy: undefined }
      : createStream(context, from);
    this.line = new Line<StreamLane>({
      driver: cudaLines,
      open: (events) => new StreamLane(events, { ...made, device: context }),
      name: `cuda stream (${context.name})`,
      owners: [context.resource, typeof from === "bigint" ? ours.find(STREAM, from)?.deref() : undefined], // who attached to ours ends first
    });
    const { resource } = this.line;
    if (made.destroy !== undefined) resource.undo.push(ours.add(STREAM, made.stream, new WeakRef(resource)));
    this.#turns = turnsOf(context.device);
    if (this.#turns !== undefined) this.line.lane.takeTurns(this.#turns, this.line);
  }

  /** The `cudaStream_t`. Declare work that you submit to it yourself with `tensor.usedBy(stream.fence())`. */
  get handle(): StreamHandle {
    this.resource.assertLive();
    return this.rawHandle;
  }

  /** The `cudaStream_t`, without a check that the stream lives. For mappers. */
  get rawHandle(): StreamHandle {
    return this.line.lane.stream;
  }

  /** A fence behind all commands so far, of all users of the handle. */
  override fence(): Fence {
    this.line.submit([], MARK);
    return this.line.fence();
  }

  /** A fence behind all commands so far; undefined if all are over. For mappers. */
  pending(): Fence | undefined {
    return this.line.lane.isIdle() ? undefined : this.fence();
  }

  /** A fence behind all commands so far, and perhaps behind later ones: its event is recorded by the first wait. For mappers. */
  lazyFence(): Fence {
    this.line.submit([], MARKER);
    return this.line.fence();
  }

  /** Blocks until all commands are over. @throws {CudaLostError} if a kernel has crashed. */
  override finish(): void {
    this.resource.assertLive();
    this.line.lane.finish();
  }

  /** Resolves once all commands are over. */
  async finished(): Promise<void> {
    await this.fence().wait();
  }

  /**
   * Allocates device memory from a pool, in this stream's order (cudaMallocAsync), without waiting for the device. The memory
   * is freed in this stream's order too, behind all work on it: by `dispose`, which blocks for that work, or by
   * `tensor.disposeAfter(stream.fence())`, which does not. Other streams wait for the allocation before they use it. CUDA IPC
   * cannot export it.
   *
   * @throws {ArgumentError} if the device has no memory pools (memoryPoolsSupported is 0).
   * @throws {NativeCallError} if memory runs out.
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

  /** Submits a call behind `after` and the work on its tensors, and records it on them. Returns its mark. For mappers. */
  override submit(uses: readonly Use[], call: Call<StreamLane>, after?: readonly Fence[]): number {
    this.#turns?.assertReachable(uses, this.line.lane);
    return this.line.submit(uses, call, after);
  }
}

function createStream(
  context: CudaPrimaryContext,
  options: StreamOptions,
): { readonly stream: StreamHandle; readonly destroy: () => void } {
  const { nonBlocking = true, priority = 0 } = optionsIn(options, OPTIONS);
  const { least, greatest } = context.priorities;
  checks.assertBoolean(nonBlocking, "nonBlocking");
  if (!Number.isInteger(priority) || priority > least || priority < greatest) {
    throw checks.wrong("priority", `expected ${greatest} (first) to ${least}, got ${shown(priority)}.`);
  }
  const flags = nonBlocking ? cudaStreamNonBlocking : cudaStreamDefault;
  const out = new BigUint64Array(1);
  context.within(() =>
    check(cudart().cudaStreamCreateWithPriority(out, flags, priority), "cudaStreamCreateWithPriority")
  );
  const stream = out[0] as StreamHandle;
  const release = () => checkRelease(cudart().cudaStreamDestroy(stream), "cudaStreamDestroy");
  return { stream, destroy: counted("cuda.cudaStream_t", () => context.near(release)) };
}
