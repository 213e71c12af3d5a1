import type { ClKernel } from "../../ffi/opencl/handles.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { assertArguments } from "../core/device/arguments.ts";
import type { Call } from "../core/contract.ts";
import { type Fence, fencesIn } from "../core/device/fence.ts";
import { assertQueue } from "../core/device/grid.ts";
import type { Use } from "../core/device/line.ts";
import { DeviceKernel } from "../core/device/program.ts";
import type { CommandOptions } from "../core/device/queue.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { acceptIndirect, tellIndirect } from "./arguments/indirect.ts";
import { KernelArguments } from "./arguments/arguments.ts";
import { infosOf, type ParameterInfo } from "./arguments/info.ts";
import type { LocalMemory } from "./arguments/local.ts";
import { parametersOf, withSizes } from "./arguments/mod.ts";
import type { BaseOf } from "./buffers/base_of.ts";
import type { OpenCLDevice } from "./device.ts";
import type { OpenCLImage, OpenCLSampler } from "./image.ts";
import { createKernel, withOwnKernel } from "./kernels/handle.ts";
import type { ClLane } from "./lane.ts";
import { opencl } from "./library.ts";
import type { OpenCLProgram } from "./program.ts";
import type { OpenCLPointerTensor } from "./pointers/tensor.ts";
import { OpenCLQueue } from "./queue.ts";
import type { OpenCLTensor } from "./tensor.ts";
import { type ItemRange, WorkRange } from "./kernels/work_range.ts";

const FN = "clEnqueueNDRangeKernel";

/**
 * A kernel argument: a tensor for a pointer; a number or bigint for a scalar; an array of them for a vector;
 * {@link LocalMemory} for `local` memory; bytes for any other value (a struct).
 */
export type KernelArgument =
  | OpenCLTensor
  | OpenCLPointerTensor
  | BaseOf
  | OpenCLImage
  | OpenCLSampler
  | LocalMemory
  | number
  | bigint
  | readonly number[]
  | ArrayBufferView<ArrayBuffer>;

/** Options of {@link OpenCLKernel.run}. */
export interface RunOptions extends CommandOptions {
  /** The queue; the context's own by default. */
  readonly queue?: OpenCLQueue;
  /** Tensors of `cl.svm` or `cl.usm` that the kernel reaches by pointers in memory, checked like arguments. */
  readonly indirect?: readonly OpenCLPointerTensor[];
}

const OPTIONS: Names<RunOptions> = { queue: true, after: true, indirect: true };

const NONE: readonly OpenCLPointerTensor[] = [];

/** A tensor that a kernel reaches by a pointer in memory. It may do all that the tensor allows. */
function reached(tensor: OpenCLPointerTensor): Use {
  return { tensor, access: tensor.access, argument: "indirect" };
}

/** One launch. The kernel has its arguments, and the range its sizes. */
class RunCall implements Call<ClLane> {
  readonly fn = FN;
  readonly #kernel: ClKernel;
  range: WorkRange;

  constructor(kernel: ClKernel, range: WorkRange) {
    this.#kernel = kernel;
    this.range = range;
  }

  call({ queue, waitCount, waitList, kernelSlot: slot }: ClLane): number {
    const { dimensions, offset, global, local } = this.range;
    const { clEnqueueNDRangeKernel } = opencl();
    return clEnqueueNDRangeKernel(queue, this.#kernel, dimensions, offset, global, local, waitCount, waitList, slot);
  }
}

/** A kernel. Every run checks all arguments against clGetKernelArgInfo. */
export class OpenCLKernel extends DeviceKernel<OpenCLProgram, ClKernel> {
  /** Its parameters, in order. */
  readonly parameters: readonly ParameterInfo[];
  readonly #types: readonly string[];
  readonly #arguments: KernelArguments;
  readonly #call: RunCall;
  /** False once the program has the handle, and may set arguments itself. */
  #remembers = true;
  readonly #ranges: Map<OpenCLDevice, WorkRange>;

  /** Made by `program.kernel()`; `kept` are the parameters in its program's binary. */
  constructor(program: OpenCLProgram, name: string, kept?: readonly ParameterInfo[]) {
    const { device } = program.context;
    const launch = { api: "opencl", fn: FN, kernel: name };
    const undo: Undo = [];
    const { handle, infos, held, range } = allOrNothing(`making the kernel ${name}`, () => {
      const handle = createKernel(program, name, undo);
      const infos = withSizes(infosOf(handle, name, kept), kept, program.sizes);
      const held = new KernelArguments(handle, parametersOf(name, infos));
      return { handle, infos, held, range: new WorkRange(launch, handle, device) };
    }, undo);
    super(program, launch, handle, undo);
    this.parameters = infos;
    this.#types = infos.map((info) => `${info.type} ${info.name}`);
    this.#arguments = held;
    this.#ranges = new Map([[device, range]]);
    this.#call = new RunCall(handle, range);
  }

  /** The `cl_kernel`. Each run overwrites arguments that you set yourself. */
  override get handle(): ClKernel {
    this.#remembers = false;
    return super.handle;
  }

  /**
   * Submits the kernel, and returns at once. Its tensors record the work, and their dispose waits for it.
   *
   * It waits for other work on its tensors: on the device for work of this context, else by blocking.
   *
   * @param range how many work-items run
   * @param args one for each parameter of the kernel
   * @throws {ArgumentError} for a wrong number, kind, type or range of arguments, or sizes beyond the device's.
   * @throws {AccessError} if a tensor's bytes are lent, or may not be written.
   * @throws {DisposedError} if a tensor, the kernel or its context was disposed.
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
   *   twice.run({ items: [4] }, [onDevice]);
   * }
   * console.log(numbers.view()); // Float32Array(4) [ 2, 4, 6, 8 ]
   * ```
   */
  run(range: ItemRange, args: readonly KernelArgument[], options: RunOptions = {}): void {
    this.resource.assertLive();
    const { context } = this.program;
    const { queue = context.queue, after, indirect } = optionsIn(options, OPTIONS);
    if (queue !== context.queue) assertQueue(queue, OpenCLQueue, context, this.launch);
    queue.resource.assertLive();
    assertArguments(args, this.#types, this.launch);
    const sizes = this.#rangeOn(queue.device);
    sizes.take(range, this.#arguments.localBytes(args));
    const hidden = acceptIndirect(indirect, this.name, context);
    const waits = fencesIn(after, "after", "opencl");
    if (hidden === undefined && !this.#arguments.isSpoiltFor(args)) {
      if (!this.#remembers) this.#arguments.forget();
      this.#call.range = sizes;
      return this.#submit(this.#call, this.#arguments, args, queue, waits);
    }
    withOwnKernel(this.program, this.name, (kernel) => {
      if (hidden !== undefined) tellIndirect(kernel, hidden);
      const own = new KernelArguments(kernel, this.#arguments.parameters);
      this.#submit(new RunCall(kernel, sizes), own, args, queue, waits, hidden);
    });
  }

  #submit(
    call: RunCall,
    held: KernelArguments,
    args: readonly KernelArgument[],
    queue: OpenCLQueue,
    waits: readonly Fence[],
    hidden: readonly OpenCLPointerTensor[] = NONE,
  ): void {
    try {
      const uses = held.take(args, this.program.context);
      queue.line.submit(hidden === NONE ? uses : [...uses, ...hidden.map(reached)], call, waits);
    } finally {
      held.release();
    }
  }

  #rangeOn(device: OpenCLDevice): WorkRange {
    let range = this.#ranges.get(device);
    if (range === undefined) this.#ranges.set(device, range = new WorkRange(this.launch, this.rawHandle, device));
    return range;
  }
}
