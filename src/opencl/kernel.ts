import type { ClKernel } from "../../ffi/opencl/handles.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { ArgumentError, ofArgument } from "../core/errors.ts";
import type { Fence } from "../core/life/fence.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { acceptIndirect, tellIndirect, withOwnKernel } from "./arguments/indirect.ts";
import { type KernelArgument, parametersOf } from "./arguments/mod.ts";
import type { Parameter, ParameterInfo } from "./arguments/parameter.ts";
import { assertInstance, kindOf, unreached } from "./check.ts";
import type { OpenCLDevice } from "./device.ts";
import { check } from "./errors.ts";
import { OpenCLFence } from "./event.ts";
import { createKernel } from "./kernels/handle.ts";
import { opencl } from "./library.ts";
import type { OpenCLProgram } from "./program.ts";
import type { OpenCLPointerTensor } from "./pointers/tensor.ts";
import { OpenCLQueue } from "./queue.ts";
import type { Used } from "./queues/wait_list.ts";
import { SizeWords, WorkLimits, type WorkRange } from "./kernels/work_range.ts";

const FN = "clEnqueueNDRangeKernel";

/** Options of {@link OpenCLKernel.run}. */
export interface RunOptions {
  /** Work-items of a group along each dimension; the driver's choice by default. */
  readonly local?: readonly number[];
  /** The first work-item's global id along each dimension; 0 by default. */
  readonly offset?: readonly number[];
  /** The queue; the context's own by default. */
  readonly queue?: OpenCLQueue;
  /** Work that has to be done first. */
  readonly after?: Fence | readonly Fence[];
  /**
   * Tensors of `cl.svm` or `cl.usm` that the kernel reaches by pointers which it finds in memory. Their work is
   * recorded, and their bytes are used as far as their access goes, as those of arguments.
   */
  readonly indirect?: readonly OpenCLPointerTensor[];
}

const OPTIONS: Names<RunOptions> = { local: true, offset: true, queue: true, after: true, indirect: true };

/** A kernel: checks every argument against what clGetKernelArgInfo says, at every run. */
export class OpenCLKernel extends NativeObject {
  /** The program it is of. */
  readonly program: OpenCLProgram;
  /** Its name in the source. */
  readonly name: string;
  /** Its end of life. */
  readonly resource: Resource;
  readonly #handle: ClKernel;
  readonly #parameters: readonly Parameter[];
  readonly #limits = new Map<OpenCLDevice, WorkLimits>();
  /** What clEnqueueNDRangeKernel reads: global sizes, offsets and local sizes, written at every run. */
  readonly #global = new SizeWords();
  readonly #offset = new SizeWords();
  readonly #local = new SizeWords();

  /** Made by `program.kernel()`; `kept` is what its program's binary was kept with. */
  constructor(program: OpenCLProgram, name: string, kept?: readonly ParameterInfo[]) {
    super();
    this.program = program;
    this.name = name;
    const undo: Undo = [];
    try {
      const handle = createKernel(program, name, undo);
      this.#handle = handle;
      this.#parameters = parametersOf(handle, name, kept, program.sizes);
      this.#limitsOn(program.context.device);
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

  /** What is known of its parameters, in order. */
  get parameters(): readonly ParameterInfo[] {
    return this.#parameters.map(({ info }) => ({ ...info }));
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
    const { queue = this.program.context.queue, after, local, offset, indirect } = optionsIn(options, OPTIONS);
    assertInstance(queue, OpenCLQueue, "queue");
    queue.resource.assertLive();
    this.resource.assertLive(); // the options may have been the program's own code
    if (queue.context !== this.program.context) throw this.#wrong("queue", "it is of another context.");
    const limits = this.#limitsOn(queue.device);
    const range = limits.check({ global, local, offset });
    const accepted = this.#accept(args, limits);
    const hidden = acceptIndirect(indirect, this.name, this.program.context);
    const used = this.#usedBy(accepted);
    if (hidden !== undefined) used.push(...hidden);
    const waits = unreached(after, "after");
    const submit = (kernel: ClKernel) => {
      const point = queue.submit(FN, waits, (n, list, event) => {
        // Looking at what was passed, and waiting, may have run code of the program's: from here on nothing does.
        this.resource.assertLive();
        queue.resource.assertLive();
        if (hidden !== undefined) tellIndirect(kernel, hidden);
        return this.#enqueue(kernel, accepted, queue, range, n, list, event);
      }, used);
      for (const one of used) one.resource.record(new OpenCLFence(queue.context, queue, point));
    };
    if (hidden === undefined && !this.#isSpoiltFor(accepted)) submit(this.#handle);
    else withOwnKernel(this.program, this.name, submit);
  }

  #accepted(parameter: Parameter, value: KernelArgument): unknown {
    try {
      return parameter.accept(value, this.program.context);
    } catch (error) {
      throw ofParameter(error, parameter);
    }
  }

  /** What was passed for each parameter, once it was looked at. */
  #accept(args: readonly KernelArgument[], limits: WorkLimits): unknown[] {
    if (!Array.isArray(args)) throw this.#wrong("args", `it is no array; got ${kindOf(args)}.`);
    const parameters = this.#parameters;
    if (args.length !== parameters.length) {
      const names = parameters.map(({ info }) => `${info.type} ${info.name}`).join(", ");
      throw this.#wrong("args", `it takes ${parameters.length} arguments (${names}); got ${args.length}.`);
    }
    const accepted = new Array<unknown>(parameters.length);
    let local = 0;
    for (let i = 0; i < parameters.length; i++) {
      accepted[i] = this.#accepted(parameters[i], args[i]);
      local += parameters[i].localBytes(accepted[i]);
    }
    limits.checkLocal(local);
    return accepted;
  }

  /** Has it taken arguments that keep a driver from taking these? */
  #isSpoiltFor(accepted: readonly unknown[]): boolean {
    for (let i = 0; i < accepted.length; i++) if (this.#parameters[i].isSpoiltFor(accepted[i])) return true;
    return false;
  }

  /** The tensors and samplers that it will use. */
  #usedBy(accepted: readonly unknown[]): Used[] {
    const used: Used[] = [];
    for (let i = 0; i < accepted.length; i++) {
      const one = this.#parameters[i].usedBy(accepted[i]);
      if (one !== undefined) used.push(one);
    }
    return used;
  }

  #enqueue(
    kernel: ClKernel,
    accepted: readonly unknown[],
    queue: OpenCLQueue,
    { global, offset, local }: WorkRange,
    waits: number,
    list: BufferSource | null,
    event: BufferSource,
  ): number {
    for (let i = 0; i < accepted.length; i++) {
      try {
        check(this.#parameters[i].set(kernel, accepted[i]), "clSetKernelArg");
      } catch (error) {
        throw ofParameter(error, this.#parameters[i]);
      }
    }
    return opencl().clEnqueueNDRangeKernel(
      queue.rawHandle,
      kernel,
      global.length,
      offset === undefined ? null : this.#offset.write(offset),
      this.#global.write(global),
      local === undefined ? null : this.#local.write(local),
      waits,
      list,
      event,
    );
  }

  /** What it needs on a device of its context, asked for once. */
  #limitsOn(device: OpenCLDevice): WorkLimits {
    let limits = this.#limits.get(device);
    if (limits === undefined) this.#limits.set(device, limits = new WorkLimits(this.name, this.#handle, device));
    return limits;
  }

  #wrong(argument: string, what: string): ArgumentError {
    return new ArgumentError(`${this.name}: ${argument}: ${what}`, { api: "opencl", fn: FN, argument });
  }
}

/** What a tensor throws of itself, with the parameter that it was passed for. */
function ofParameter(error: unknown, { where, info }: Parameter): unknown {
  return ofArgument(error, where, info.name);
}
