import { type Maker, type Names, optionsIn } from "../argument.ts";
import type { Call } from "../contract.ts";
import { type Arguments, assertArguments } from "../device/arguments.ts";
import { fencesIn } from "../device/fence.ts";
import { assertQueue, type Launch } from "../device/grid.ts";
import { DeviceKernel } from "../device/program.ts";
import type { CommandOptions } from "../device/queue.ts";
import type { Line } from "../device/line.ts";
import type { Resource } from "../life/resource.ts";
import type { Undo } from "../life/undo.ts";

/** Options of a kernel's `run()`. */
export interface KernelOptions<Q> extends CommandOptions {
  /** The queue; the context's own by default. */
  readonly queue?: Q;
}

const OPTIONS: Names<KernelOptions<unknown>> = { queue: true, after: true };

/** A program of one device, as its kernels know it. */
export interface UnifiedProgram<Q> {
  /** Its context. */
  readonly context: { readonly queue: Q };
  /** Its end of life. */
  readonly resource: Resource;
}

/** A queue, as kernels know it. */
export interface KernelQueue<L> {
  /** Its context. */
  readonly context: unknown;
  /** Its line of work. */
  readonly line: Line<L>;
  /** Its end of life. */
  readonly resource: Resource;
}

/**
 * A kernel of one device. Every run checks its arguments against its parameters.
 *
 * @typeParam R how many work-items run
 * @typeParam A what a parameter takes
 */
export abstract class UnifiedKernel<P extends UnifiedProgram<Q>, H, L, Q extends KernelQueue<L>, R, A>
  extends DeviceKernel<P, H> {
  readonly #queues: Maker<Q>;
  readonly #types: readonly string[];
  readonly #held: Arguments<P["context"]>;

  /** `queues` is the class of its queues; `types` are those of its parameters, for messages. Takes the undo list over. */
  constructor(
    program: P,
    launch: Launch,
    handle: H,
    undo: Undo,
    { queues, types, held }: { queues: Maker<Q>; types: readonly string[]; held: Arguments<P["context"]> },
  ) {
    super(program, launch, handle, undo);
    this.#queues = queues;
    this.#types = types;
    this.#held = held;
  }

  /** Takes the sizes of a launch. Returns the command that launches with them. */
  protected abstract take(range: R): Call<L>;

  /**
   * Submits the kernel, and returns at once. Its tensors record the work, and their dispose waits for it.
   *
   * It waits for other work on its tensors: on the device for work of this context, else by blocking.
   *
   * @param range how many work-items run
   * @param args one for each parameter of the kernel
   * @throws {ArgumentError} for a wrong number, kind, type or range of arguments, or sizes beyond the device's.
   * @throws {AccessError} if a tensor's bytes are lent, or may not be written.
   * @throws {DisposedError} if a tensor, the kernel, the queue or their context was disposed.
   * @throws {NativeCallError} if the driver refuses the launch.
   */
  run(range: R, args: readonly A[], options: KernelOptions<Q> = {}): void {
    this.resource.assertLive();
    const { context } = this.program;
    const { queue = context.queue, after } = optionsIn(options, OPTIONS) as KernelOptions<Q>;
    if (queue !== context.queue) assertQueue(queue, this.#queues, context, this.launch);
    queue.resource.assertLive();
    assertArguments(args, this.#types, this.launch);
    const call = this.take(range);
    const waits = fencesIn(after, "after", this.launch.api);
    const held = this.#held;
    try {
      const mark = queue.line.submit(held.take(args, context), call, waits);
      this.resource.work.record(queue.line, mark, false); // the kernel stays while it runs
    } finally {
      held.release();
    }
  }
}
