import type { DPCTLSyclEventRef, DPCTLSyclKernelRef } from "../../ffi/sycl/handles.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import type { Call } from "../core/contract.ts";
import { assertArguments } from "../core/device/arguments.ts";
import { fencesIn } from "../core/device/fence.ts";
import { assertQueue, rangeIn, Sizes } from "../core/device/grid.ts";
import { DeviceKernel } from "../core/device/program.ts";
import type { CommandOptions } from "../core/device/queue.ts";
import type { Undo } from "../core/life/undo.ts";
import { type Declared, KernelArguments } from "./kernel_types.ts";
import { command, type SyclLane } from "./lane.ts";
import { sycl } from "./library.ts";
import type { SyclProgram } from "./program.ts";
import { SyclQueue } from "./queue.ts";
import type { SyclTensor } from "./usm.ts";

/** A kernel argument: a tensor for a pointer, a number or a bigint for a number, or its bytes. */
export type SyclKernelArgument = SyclTensor | number | bigint | ArrayBufferView<ArrayBuffer>;

/** How many work-items of a kernel run. */
export interface SyclRange {
  /** The work-items along each of 1 to 3 dimensions. */
  readonly items: readonly number[];
  /** The work-items of a group along each dimension; the driver's choice by default. */
  readonly groupSize?: readonly number[];
}

const RANGE: Names<SyclRange> = { items: true, groupSize: true };

/** Options of {@link SyclKernel.run}. */
export interface SyclRunOptions extends CommandOptions {
  /** The queue; the context's own by default. */
  readonly queue?: SyclQueue;
}

const OPTIONS: Names<SyclRunOptions> = { queue: true, after: true };

const FN = "DPCTLQueue_SubmitRange";
const IN_GROUPS = "DPCTLQueue_SubmitNDRange";

/** OpenCL's drivers count items in 32 bits. */
const MOST_ITEMS = 2 ** 31 - 1;

/** A kernel. Every run checks all arguments against their declarations. */
export class SyclKernel extends DeviceKernel<SyclProgram, DPCTLSyclKernelRef> {
  readonly #types: readonly string[];
  readonly #arguments: KernelArguments;
  readonly #items: Sizes;
  readonly #group: Sizes;
  readonly #most: number;
  readonly #call: Call<SyclLane>;
  readonly #callInGroups: Call<SyclLane>;

  /** Made by `program.kernel()`; takes the undo list over. */
  constructor(
    program: SyclProgram,
    name: string,
    handle: DPCTLSyclKernelRef,
    declared: readonly Declared[],
    most: number,
    undo: Undo,
  ) {
    const { device } = program.context;
    const launch = { api: "sycl", fn: FN, kernel: name };
    super(program, launch, handle, undo);
    this.#types = declared.map(({ parameter }) => parameter.type);
    this.#arguments = new KernelArguments(declared);
    this.#items = new Sizes(launch, "items", 1, Array(3).fill(MOST_ITEMS));
    this.#group = new Sizes(launch, "groupSize", 1, device.maxWorkItemSizes);
    this.#most = most;
    this.#call = command(FN, (lane) => this.#submit(lane));
    this.#callInGroups = command(IN_GROUPS, (lane) => this.#submitInGroups(lane));
  }

  /**
   * Submits the kernel, and returns at once. Its tensors record the work, and their dispose waits for it.
   *
   * It waits for other work on its tensors: on the device for work of this context, else by blocking.
   *
   * @param range how many work-items run
   * @param args one for each declared parameter
   * @throws {ArgumentError} for a wrong number, kind, type or range of arguments, or sizes beyond the device's.
   * @throws {AccessError} if a tensor's bytes are lent, or may not be written.
   * @throws {DisposedError} if a tensor, the kernel or its context was disposed.
   * @throws {NativeCallError} if SYCL refuses the launch.
   *
   * @example
   * ```ts ignore
   * import { SyclContext } from "@samepage/interop/sycl";
   *
   * using sycl = SyclContext.open();
   * using program = sycl.program("kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }");
   * using twice = program.kernel("twice", ["global float*"]);
   * using numbers = sycl.usm.allocate({ kind: "shared", shape: [4], dtype: "f32" });
   * sycl.queue.fill(numbers, 21);
   * twice.run({ items: [4] }, [numbers]);
   * ```
   */
  run(range: SyclRange, args: readonly SyclKernelArgument[], options: SyclRunOptions = {}): void {
    this.resource.assertLive();
    const { context } = this.program;
    const { queue = context.queue, after } = optionsIn(options, OPTIONS);
    if (queue !== context.queue) assertQueue(queue, SyclQueue, context, this.launch);
    queue.resource.assertLive();
    assertArguments(args, this.#types, this.launch);
    const call = this.#take(range);
    const waits = fencesIn(after, "after", "sycl");
    const held = this.#arguments;
    try {
      const mark = queue.line.submit(held.take(args, context), call, waits);
      this.resource.work.record(queue.line, mark, false); // the code stays while it runs
    } finally {
      held.release();
    }
  }

  /** Takes the sizes. Returns the command that runs so many. */
  #take(range: SyclRange): Call<SyclLane> {
    const { items, groupSize } = rangeIn(range, "items", RANGE, this.launch);
    this.#items.take(items);
    if (groupSize === undefined) return this.#call;
    const group = this.#group;
    group.take(groupSize, this.#items);
    group.assertItems(this.#most, "work-items", "a group of this kernel may have");
    for (let i = 0; i < group.length; i++) {
      if (this.#items.at(i) % group.at(i) === 0) continue;
      throw group.wrong(
        `[${i}]`,
        `${group.at(i)} does not divide the ${this.#items.at(i)} work-items of that dimension.`,
        "Round the items up, and let the kernel skip what is outside.",
      );
    }
    return this.#callInGroups;
  }

  #submit({ queue }: SyclLane): DPCTLSyclEventRef {
    const { values, types, parameters: { length } } = this.#arguments;
    const [items, dimensions] = [this.#items.address, BigInt(this.#items.length)];
    return sycl()[FN](this.rawHandle, queue, values, types, BigInt(length), items, dimensions, null, 0n);
  }

  #submitInGroups({ queue }: SyclLane): DPCTLSyclEventRef {
    const { values, types, parameters: { length } } = this.#arguments;
    const [items, group, dimensions] = [this.#items.address, this.#group.address, BigInt(this.#items.length)];
    return sycl()[IN_GROUPS](this.rawHandle, queue, values, types, BigInt(length), items, group, dimensions, null, 0n);
  }
}
