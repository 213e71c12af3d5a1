import type { ClCommandQueue } from "../../ffi/opencl/handles.ts";
import { type Fence, fenceIn, fencesIn } from "../core/device/fence.ts";
import { optionsIn } from "../core/argument.ts";
import { SemaphoreQueue } from "../core/device/foreign_semaphore.ts";
import { Line } from "../core/device/line.ts";
import type { Commands } from "../core/contract.ts";
import type { OpenCLContext } from "./context.ts";
import type { OpenCLDevice } from "./device.ts";
import { failsAsOne } from "./devices/identity.ts";
import { check } from "./errors.ts";
import type { OpenCLImage } from "./image.ts";
import { ClLane } from "./lane.ts";
import { opencl } from "./library.ts";
import { attachedQueue, createdQueue, joinQueue, linesOn, type QueueOptions, releaseQueue } from "./queues/handle.ts";
import { CommandLog, type CommandTimes, notTimed } from "./queues/profiling.ts";
import type { OpenCLSvmTensor } from "./svm.ts";
import type { OpenCLTensor } from "./tensor.ts";
import { ClCommands } from "./transfers/commands.ts";
import { MIGRATE_OPTIONS, type MigrateOptions, migration } from "./transfers/migrate.ts";
import type { OpenCLUsmTensor } from "./usm.ts";

/** A command queue, which runs commands in order. Work on a tensor waits for the earlier work on it. */
export class OpenCLQueue
  extends SemaphoreQueue<ClLane, OpenCLTensor | OpenCLImage | OpenCLSvmTensor | OpenCLUsmTensor> {
  /** Its context. */
  override readonly context: OpenCLContext;
  /** Its device. */
  readonly device: OpenCLDevice;
  /** True if it keeps the {@link times} of its commands. */
  readonly profiling: boolean;
  /** Its line of work. For mappers. */
  override readonly line: Line<ClLane>;
  /** OpenCL's commands. */
  protected override readonly commands: Commands<
    ClLane,
    OpenCLTensor | OpenCLImage | OpenCLSvmTensor | OpenCLUsmTensor
  >;
  readonly #isShared: boolean;
  readonly #log: CommandLog | undefined;

  /** Made by `cl.createQueue()`, `cl.attachQueue()`, and once by the context. */
  constructor(context: OpenCLContext, from: QueueOptions | bigint = {}) {
    super();
    const made = typeof from === "bigint" ? attachedQueue(context, from) : createdQueue(context, from);
    const { handle: queue, device, profiling, isShared } = made;
    this.context = context;
    this.commands = new ClCommands(context);
    this.device = device;
    this.profiling = profiling;
    this.#isShared = isShared;
    const log = this.#log = profiling ? new CommandLog() : undefined;
    const { driver } = context;
    const release = () => releaseQueue(queue);
    const beside = linesOn(queue);
    this.line = new Line<ClLane>({
      driver,
      name: `opencl queue (${context.name})`,
      owners: [context.resource],
      beside,
      open: (events) =>
        new ClLane({
          ...{ context: driver.context, queue, events, failed: driver.failed, log, release },
          failsAsOne: failsAsOne(device),
        }),
    });
    joinQueue(queue, this.line, beside);
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
   * Moves the tensors' whole buffers to the device or the host ahead of their use (clEnqueueMigrateMemObjects); returns at
   * once. It changes no access.
   *
   * @throws {LayoutError} if `contentUndefined` would spoil bytes outside the tensor.
   * @throws {AccessError} if the tensors' bytes are lent.
   */
  migrate(tensors: readonly OpenCLTensor[], options: MigrateOptions): void {
    const { after, ...how } = optionsIn(options, MIGRATE_OPTIONS);
    const waits = fencesIn(after, "after", "opencl");
    this.resource.assertLive();
    const { uses, call } = migration(this.context, tensors, how);
    this.submit(uses, call, waits);
  }
}
