import type { DPCTLSyclEventRef, DPCTLSyclKernelRef } from "../../ffi/sycl/handles.ts";
import type { Names } from "../core/argument.ts";
import type { Call } from "../core/contract.ts";
import { rangeIn, Sizes } from "../core/device/grid.ts";
import type { Undo } from "../core/life/undo.ts";
import { type KernelOptions, UnifiedKernel } from "../core/tensors/unified_kernel.ts";
import { type Declared, KernelArguments } from "./kernel_types.ts";
import { command, type SyclLane } from "./lane.ts";
import { sycl } from "./library.ts";
import type { SyclProgram } from "./program.ts";
import { SyclQueue } from "./queue.ts";
import type { SyclTensor } from "./usm.ts";

/** A kernel argument: a tensor for a pointer, a number or a bigint for a number, or its bytes. */
export type SyclKernelArgument = SyclTensor | number | bigint | ArrayBufferView<ArrayBuffer>;

/** The number of work-items to run. */
export interface SyclRange {
  /** The work-items along each of 1 to 3 dimensions. */
  readonly items: readonly number[];
  /** The work-items of a group along each dimension; the driver's choice by default. */
  readonly groupSize?: readonly number[];
}

const RANGE: Names<SyclRange> = { items: true, groupSize: true };

/** Options of {@link SyclKernel.run}. */
export type SyclRunOptions = KernelOptions<SyclQueue>;

const FN = "DPCTLQueue_SubmitRange";
const IN_GROUPS = "DPCTLQueue_SubmitNDRange";

/** OpenCL's drivers count items in 32 bits. */
const MAX_ITEMS = 2 ** 31 - 1;

/**
 * A kernel. Every run checks all arguments against their declarations.
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
export class SyclKernel
  extends UnifiedKernel<SyclProgram, DPCTLSyclKernelRef, SyclLane, SyclQueue, SyclRange, SyclKernelArgument> {
  readonly #arguments: KernelArguments;
  readonly #items: Sizes;
  readonly #group: Sizes;
  readonly #most: number;
  readonly #call: Call<SyclLane>;
  readonly #callInGroups: Call<SyclLane>;

  /** Made by `program.kernel()`; takes over the undo list. */
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
    const held = new KernelArguments(declared);
    const types = declared.map(({ parameter }) => parameter.type);
    super(program, launch, handle, undo, { queues: SyclQueue, types, held });
    this.#arguments = held;
    this.#items = new Sizes(launch, "items", 1, Array(3).fill(MAX_ITEMS));
    this.#group = new Sizes(launch, "groupSize", 1, device.maxWorkItemSizes);
    this.#most = most;
    this.#call = command(FN, (lane) => this.#submit(lane));
    this.#callInGroups = command(IN_GROUPS, (lane) => this.#submit(lane, this.#group));
  }

  /** Takes the sizes. Returns the command that launches them. */
  protected override take(range: SyclRange): Call<SyclLane> {
    const { items, groupSize } = rangeIn(range, "items", RANGE, this.launch);
    this.#items.take(items);
    if (groupSize === undefined) return this.#call;
    const group = this.#group;
    group.take(groupSize, this.#items);
    group.assertItems(this.#most, "work-items", "a group of this kernel may have");
    for (let i = 0; i < group.length; i++) {
      if (this.#items.at(i) % group.at(i) === 0) continue;
      const what = `${group.at(i)} does not divide the ${this.#items.at(i)} work-items of that dimension.`;
      throw group.wrong(`[${i}]`, what, "Round the items up, and let the kernel skip what is outside.");
    }
    return this.#callInGroups;
  }

  #submit({ handle: queue }: SyclLane, group?: Sizes): DPCTLSyclEventRef {
    const { values, types, parameters } = this.#arguments;
    const [count, items, dimensions] = [BigInt(parameters.length), this.#items.address, BigInt(this.#items.length)];
    return group === undefined
      ? sycl()[FN](this.rawHandle, queue, values, types, count, items, dimensions, null, 0n)
      : sycl()[IN_GROUPS](this.rawHandle, queue, values, types, count, items, group.address, dimensions, null, 0n);
  }
}
