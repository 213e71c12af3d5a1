import {
  CL_KERNEL_ARG_ACCESS_NONE,
  CL_KERNEL_ARG_ACCESS_QUALIFIER,
  CL_KERNEL_ARG_ADDRESS_PRIVATE,
  CL_KERNEL_ARG_ADDRESS_QUALIFIER,
  CL_KERNEL_ARG_NAME,
  CL_KERNEL_ARG_TYPE_NAME,
  CL_KERNEL_ARG_TYPE_QUALIFIER,
  CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
  CL_KERNEL_LOCAL_MEM_SIZE,
  CL_KERNEL_NUM_ARGS,
  CL_KERNEL_WORK_GROUP_SIZE,
} from "../../ffi/opencl/constants.ts";
import { CL_INVALID_SAMPLER } from "../../ffi/opencl/errors.ts";
import type { ClKernel } from "../../ffi/opencl/handles.ts";
import { object, shown } from "../core/argument.ts";
import { ArgumentError } from "../core/errors.ts";
import { Fence } from "../core/fence.ts";
import { finalizers } from "../core/finalizers.ts";
import { ledger } from "../core/ledger.ts";
import { Resource } from "../core/resource.ts";
import { type Undo, unwind } from "../core/undo.ts";
import { ArgumentSlot, isNumeric, type KernelArgument, type Prepared } from "./argument.ts";
import { assertInstance, kindOf } from "./check.ts";
import { check, errcode, made } from "./errors.ts";
import { OpenCLFence } from "./event.ts";
import { infoString, infoU32, infoU64, infoU64s, type Query } from "./info.ts";
import { opencl } from "./library.ts";
import type { OpenCLProgram } from "./program.ts";
import { OpenCLQueue } from "./queue.ts";

/** Options of {@link OpenCLKernel.run}. */
export interface RunOptions {
  /** Work-items of a group along each dimension; the driver's choice by default. */
  readonly local?: readonly number[];
  /** The first work-item's global id along each dimension; 0 by default. */
  readonly offset?: readonly number[];
  /** The queue; the context's own by default. */
  readonly queue?: OpenCLQueue;
  /** Work that has to be done first. */
  readonly after?: Fence;
}

/** Work-items along one dimension: rusticl 22.3 ends the process for more. */
const MOST_ITEMS = 2 ** 32 - 1;

/** Groups of one run: drivers count them in 32 bits, and PoCL 3.1 and rusticl 22.3 end the process for more. */
const MOST_GROUPS = 2 ** 31 - 1;

/** Checked work sizes, as clEnqueueNDRangeKernel takes them. */
interface WorkRange {
  readonly global: BigUint64Array<ArrayBuffer>;
  readonly offset: BigUint64Array<ArrayBuffer> | null;
  readonly local: BigUint64Array<ArrayBuffer> | null;
}

/** What a kernel was compiled to need. */
interface Limits {
  readonly groupSize: number;
  readonly requiredGroup: readonly number[] | undefined;
  readonly localMemory: number;
}

/** A kernel: checks every argument against what clGetKernelArgInfo says, at every run. */
export class OpenCLKernel implements Disposable {
  /** The program it is of. */
  readonly program: OpenCLProgram;
  /** Its name in the source. */
  readonly name: string;
  /** Its end of life. */
  readonly resource: Resource;
  readonly #handle: ClKernel;
  readonly #slots: readonly ArgumentSlot[];
  readonly #limits: Limits;

  /** Made by `program.kernel()`. */
  constructor(program: OpenCLProgram, name: string) {
    this.program = program;
    this.name = name;
    const undo: Undo = [];
    try {
      const handle = made(
        opencl().clCreateKernel(program.handle, new TextEncoder().encode(`${name}\0`), errcode),
        "clCreateKernel",
      );
      ledger.add("opencl.cl_kernel");
      undo.push(() => {
        ledger.remove("opencl.cl_kernel");
        check(opencl().clReleaseKernel(handle), "clReleaseKernel");
      });
      this.#handle = handle;
      this.#slots = slotsOf(handle, name);
      this.#limits = limitsOf(handle, program);
    } catch (error) {
      unwind(undo);
      throw error;
    }
    this.resource = new Resource({ name: `opencl kernel ${name}`, owners: [program.resource], undo });
    finalizers.register(this, this.resource, this);
  }

  /** The `cl_kernel`. */
  get handle(): ClKernel {
    this.resource.assertLive();
    return this.#handle;
  }

  /**
   * Submits the kernel, and returns: its work is recorded on the tensors, whose end waits for it.
   *
   * Tensors that other work uses are waited for: on the device where they were used by this context, here otherwise.
   *
   * @param global work-items along each dimension, 1 to 3 of them
   * @param args one for each parameter of the kernel
   * @throws {ArgumentError} for a wrong number, kind, type or range of arguments, or work sizes beyond the device's.
   * @throws {AccessError} where a tensor's bytes may not be used so.
   * @throws {DisposedError} where a tensor, the kernel or its context were disposed.
   *
   * @example
   * ```ts
   * import { host, MapperGraph } from "@samepage/interop";
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using graph = new MapperGraph([host, cl]);
   * using program = cl.program(`kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }`);
   * using twice = program.kernel("twice");
   * using numbers = host.allocate({ shape: [4], dtype: "f32" });
   * numbers.view().set([1, 2, 3, 4]);
   * {
   *   using onDevice = graph.map(numbers, cl);
   *   twice.run([4], [onDevice]);
   * }
   * console.log(numbers.view()); // Float32Array(4) [ 2, 4, 6, 8 ]
   * ```
   */
  run(global: readonly number[], args: readonly KernelArgument[], options: RunOptions = {}): void {
    this.resource.assertLive();
    object(options, "options");
    const { queue = this.program.context.queue, after } = options;
    assertInstance(queue, OpenCLQueue, "queue");
    if (after !== undefined) assertInstance(after, Fence, "after");
    queue.resource.assertLive();
    if (queue.context !== this.program.context) throw this.#wrong("queue", "it is of another context.");
    const range = this.#range(global, options);
    const prepared = this.#prepare(args);
    const used = prepared.filter((p) => p.tensor !== undefined);
    const waits = used.flatMap((p) => p.tensor!.work.filter((fence) => fence.line !== queue));
    if (after !== undefined && !after.reached()) waits.push(after);
    const point = queue.submit("clEnqueueNDRangeKernel", waits, (n, list, event) => {
      // Looking at what was passed, and waiting, may have run code of the program's: from here on nothing does.
      this.resource.assertLive();
      queue.resource.assertLive();
      for (const { tensor, access } of used) tensor!.assertUsable(access!);
      prepared.forEach(({ size, value }, i) =>
        check(opencl().clSetKernelArg(this.#handle, i, BigInt(size), value), "clSetKernelArg")
      );
      return opencl().clEnqueueNDRangeKernel(
        queue.rawHandle,
        this.#handle,
        range.global.length,
        range.offset,
        range.global,
        range.local,
        n,
        list,
        event,
      );
    });
    for (const { tensor } of used) tensor!.resource.record(new OpenCLFence(queue.context, queue, point));
  }

  /** Releases it. */
  [Symbol.dispose](): void {
    finalizers.unregister(this);
    this.resource.dispose();
  }

  #prepare(args: readonly KernelArgument[]): Prepared[] {
    if (!Array.isArray(args)) throw this.#wrong("args", `it is no array; got ${kindOf(args)}.`);
    if (args.length !== this.#slots.length) {
      throw this.#wrong("args", `it takes ${this.#slots.length} arguments; got ${args.length}.`);
    }
    const { context } = this.program;
    const prepared = this.#slots.map((slot, i) => slot.prepare(args[i]));
    let local = this.#limits.localMemory;
    prepared.forEach(({ tensor, size, value }, i) => {
      if (value === null) local += size;
      if (tensor === undefined || tensor.context === context) return;
      throw this.#wrong(
        `args[${i}]`,
        `${tensor.name} belongs to ${tensor.context.name}, the kernel to ${context.name}.`,
      );
    });
    if (local > context.device.localMemory) {
      throw this.#wrong(
        "args",
        `${local} bytes of local memory are more than the device's ${context.device.localMemory}.`,
      );
    }
    return prepared;
  }

  /** The work sizes, read once. */
  #range(global: readonly number[], { local, offset }: RunOptions): WorkRange {
    const items = this.#sizes("global", global, undefined, 1, MOST_ITEMS);
    const dimensions = items.length;
    const most = 2 ** Math.min(this.program.context.device.addressBits, 53) - 1;
    const begin = offset === undefined ? undefined : this.#sizes("offset", offset, dimensions, 0, most);
    const required = this.#limits.requiredGroup?.slice(0, dimensions);
    const group = local === undefined ? required : this.#sizes("local", local, dimensions, 1, MOST_ITEMS);
    if (group !== undefined) this.#checkGroup(items, group, required);
    const groups = items.reduce((product, n, i) => product * n / (group?.[i] ?? 1), 1);
    if (groups > MOST_GROUPS) {
      throw this.#wrong(
        "global",
        `${groups} groups are more than ${MOST_GROUPS}${group === undefined ? ", where each may have one item" : ""}.`,
        "Give larger groups, as `local`, or run it in parts, with `offset`.",
      );
    }
    return { global: words(items), offset: begin ? words(begin) : null, local: group ? words(group) : null };
  }

  #sizes(
    argument: string,
    given: readonly number[],
    dimensions: number | undefined,
    least: number,
    most: number,
  ): readonly number[] {
    if (!Array.isArray(given)) {
      throw this.#wrong(argument, `it is no array; got ${kindOf(given)}.`, "Pass a number for each dimension: [64].");
    }
    const sizes = Array.from<number>(given);
    if (dimensions === undefined && (sizes.length < 1 || sizes.length > 3)) {
      throw this.#wrong(argument, `${sizes.length} dimensions; it takes 1 to 3.`);
    }
    if (dimensions !== undefined && sizes.length !== dimensions) {
      throw this.#wrong(argument, `${sizes.length} dimensions; global has ${dimensions}.`);
    }
    sizes.forEach((size, i) => {
      if (!Number.isInteger(size) || size < least || size > most) {
        throw this.#wrong(`${argument}[${i}]`, `${shown(size)} is no whole number from ${least} to ${most}.`);
      }
    });
    return sizes;
  }

  #checkGroup(global: readonly number[], local: readonly number[], required: readonly number[] | undefined): void {
    const { device } = this.program.context;
    const items = local.reduce((product, n) => product * n, 1);
    if (required !== undefined && required.some((n, i) => n !== local[i])) {
      throw this.#wrong("local", `the kernel requires groups of ${required.join(" × ")}.`);
    }
    if (items > this.#limits.groupSize) {
      throw this.#wrong(
        "local",
        `${items} work-items are more than the ${this.#limits.groupSize} that a group of this kernel may have.`,
      );
    }
    local.forEach((n, i) => {
      if (n > device.maxWorkItemSizes[i]) {
        throw this.#wrong(`local[${i}]`, `${n} is more than the device's ${device.maxWorkItemSizes[i]}.`);
      }
      if (global[i] % n !== 0) {
        throw this.#wrong(
          `local[${i}]`,
          `${n} does not divide the ${global[i]} work-items of that dimension.`,
          "Round the global size up, and let the kernel skip what is outside.",
        );
      }
    });
  }

  #wrong(argument: string, what: string, hint?: string): ArgumentError {
    return new ArgumentError(`${this.name}: ${argument}: ${what}`, {
      api: "opencl",
      fn: "clEnqueueNDRangeKernel",
      argument,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

function slotsOf(handle: ClKernel, kernel: string): ArgumentSlot[] {
  const count = infoU32(
    "clGetKernelInfo",
    (name, size, value, written) => opencl().clGetKernelInfo(handle, name, size, value, written),
    CL_KERNEL_NUM_ARGS,
  );
  return Array.from({ length: count }, (_, i) => {
    const fn = "clGetKernelArgInfo";
    const query: Query = (name, size, value, written) =>
      opencl().clGetKernelArgInfo(handle, i, name, size, value, written);
    const type = infoString(fn, query, CL_KERNEL_ARG_TYPE_NAME);
    const address = infoU32(fn, query, CL_KERNEL_ARG_ADDRESS_QUALIFIER);
    const isNamed = address === CL_KERNEL_ARG_ADDRESS_PRIVATE && !isNumeric(type);
    return new ArgumentSlot(kernel, i, {
      name: infoString(fn, query, CL_KERNEL_ARG_NAME),
      type,
      address,
      qualifiers: infoU64(fn, query, CL_KERNEL_ARG_TYPE_QUALIFIER),
      opaque: infoU32(fn, query, CL_KERNEL_ARG_ACCESS_QUALIFIER) !== CL_KERNEL_ARG_ACCESS_NONE ||
        (isNamed && isObject(handle, i)),
    });
  });
}

/** Is what is passed by value an object of the driver's own? No value at all is an error for data, and for data only. */
function isObject(handle: ClKernel, index: number): boolean {
  const code = opencl().clSetKernelArg(handle, index, 8n, null);
  return code === 0 || code === CL_INVALID_SAMPLER;
}

function words(sizes: readonly number[]): BigUint64Array<ArrayBuffer> {
  return BigUint64Array.from(sizes, BigInt);
}

function limitsOf(handle: ClKernel, program: OpenCLProgram): Limits {
  const fn = "clGetKernelWorkGroupInfo";
  const query: Query = (name, size, value, written) =>
    opencl().clGetKernelWorkGroupInfo(handle, program.context.device.handle, name, size, value, written);
  const required = infoU64s(fn, query, CL_KERNEL_COMPILE_WORK_GROUP_SIZE).map(Number);
  return {
    groupSize: Number(infoU64(fn, query, CL_KERNEL_WORK_GROUP_SIZE)),
    requiredGroup: required[0] === 0 ? undefined : required,
    localMemory: Number(infoU64(fn, query, CL_KERNEL_LOCAL_MEM_SIZE)),
  };
}
