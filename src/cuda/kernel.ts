import { type Address, NULL } from "../../ffi/address.ts";
import type { CUfunction } from "../../ffi/cuda_driver/handles.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { assertArguments } from "../core/device/arguments.ts";
import { assertQueue } from "../core/device/grid.ts";
import { ArgumentError } from "../core/errors.ts";
import type { Call } from "../core/contract.ts";
import { fencesIn } from "../core/device/fence.ts";
import { DeviceKernel } from "../core/device/program.ts";
import type { CommandOptions } from "../core/device/queue.ts";
import type { Declared, ParameterInfo } from "./kernels/declared.ts";
import { type GroupRange, type KernelNeeds, LaunchLimits } from "./kernels/limits.ts";
import type { LoadedCode } from "./kernels/loaded.ts";
import { LaunchMemory } from "./kernels/launch_memory.ts";
import { cudaDriver } from "./library.ts";
import type { CudaProgram } from "./program.ts";
import { CudaStream } from "./stream.ts";
import type { StreamLane } from "./stream_lane.ts";
import type { CudaTensor } from "./tensor.ts";

const FN = "cuLaunchKernelEx";

/** A kernel argument: a tensor or null for a pointer; numbers for a number or a vector; bytes for a struct. */
export type CudaKernelArgument =
  | CudaTensor
  | null
  | number
  | bigint
  | boolean
  | readonly (number | bigint)[]
  | ArrayBufferView<ArrayBuffer>;

/** Options of {@link CudaKernel.run}. */
export interface LaunchOptions extends CommandOptions {
  /** The stream; the context's own by default. */
  readonly stream?: CudaStream;
}

const OPTIONS: Names<LaunchOptions> = { stream: true, after: true };

interface KernelInit {
  readonly name: string;
  readonly handle: Address;
  readonly parameters: readonly Declared[];
}

/**
 * A kernel. Every run checks the arguments against their declarations, and the sizes against the device's limits. Launches may
 * outlive its dispose.
 */
export class CudaKernel extends DeviceKernel<CudaProgram, Address> {
  /** Its registers, its shared and local memory, and the limit of threads in a block. */
  readonly needs: KernelNeeds;
  /** Its declared parameters, in order. */
  readonly parameters: readonly ParameterInfo[];
  readonly #types: readonly string[];
  readonly #limits: LaunchLimits;
  readonly #memory: LaunchMemory;
  readonly #call: Call<StreamLane>;
  #sharedBytes = 0;

  /** Made by `program.kernel()`. @throws {ArgumentError} if the driver reports other parameters. */
  constructor(program: CudaProgram, loaded: LoadedCode, { name, handle, parameters }: KernelInit) {
    const infos = parameters.map(({ info }) => info);
    assertDeclared(name, infos, loaded.parameterSizes(handle));
    const launch = { api: "cuda", fn: FN, kernel: name };
    const limits = loaded.compiled(() => new LaunchLimits(launch, handle, program.context));
    super(program, launch, handle);
    this.parameters = infos;
    this.#types = infos.map(({ type }) => type);
    this.#limits = limits;
    this.needs = limits.needs;
    const memory = this.#memory = new LaunchMemory(parameters.map(({ parameter }) => parameter));
    const launched = handle as bigint as CUfunction;
    const run = () => cudaDriver().cuLaunchKernelEx(memory.config, launched, memory.args, NULL);
    this.#call = {
      fn: FN,
      call: (lane) => {
        limits.allow(this.#sharedBytes);
        return lane.launch(run);
      },
    };
  }

  /**
   * Launches the kernel, and returns at once. Its tensors record the work, and their dispose waits for it.
   *
   * The kernel waits for earlier work on its tensors: on the device for CUDA's work, else this call blocks.
   *
   * @param range the number of groups, and the threads of each
   * @param args one for each parameter
   * @throws {ArgumentError} for a wrong number, kind, type or range of arguments, or sizes beyond the device's.
   * @throws {AccessError} if a tensor's bytes are lent, or the kernel writes a read-only tensor.
   * @throws {DisposedError} if a tensor, the kernel, the stream or their context was disposed.
   * @throws {CudaLostError} if a kernel has crashed before.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using program = cuda.program(`
   *   extern "C" __global__ void twice(float* x, int n) {
   *     int i = blockIdx.x * blockDim.x + threadIdx.x;
   *     if (i < n) x[i] *= 2;
   *   }
   * `);
   * using twice = program.kernel("twice", ["float*", "int"]);
   * using numbers = cuda.managed.allocate({ shape: [1000], dtype: "f32" });
   * twice.run({ groups: [Math.ceil(1000 / 256)], groupSize: [256] }, [numbers, 1000]);
   * ```
   */
  run(range: GroupRange, args: readonly CudaKernelArgument[], options: LaunchOptions = {}): void {
    this.resource.assertLive();
    const { context } = this.program;
    const { stream = context.stream, after } = optionsIn(options, OPTIONS);
    if (stream !== context.stream) assertQueue(stream, CudaStream, context, this.launch, "stream");
    const sharedBytes = this.#sharedBytes = this.#limits.take(range);
    assertArguments(args, this.#types, this.launch);
    const memory = this.#memory;
    try {
      const uses = memory.take(args, context);
      memory.configure(this.#limits, sharedBytes, stream.rawHandle);
      const mark = stream.submit(uses, this.#call, fencesIn(after, "after", "cuda"));
      this.program.resource.work.record(stream.line, mark, false); // the code stays loaded while it runs
    } finally {
      memory.release();
    }
  }
}

/** Throws unless the declared parameters have the driver's number and sizes, because a launch reads so many bytes. */
function assertDeclared(name: string, parameters: readonly ParameterInfo[], sizes: readonly number[]): void {
  const wrong = (argument: string, what: string) =>
    new ArgumentError(`${name}: ${argument}: ${what}`, { api: "cuda", fn: "cuKernelGetParamInfo", argument });
  parameters.forEach(({ type, size }, i) => {
    if (i >= sizes.length || size === sizes[i]) return;
    throw wrong(`parameters[${i}]`, `${type} has ${size} bytes; the kernel's parameter has ${sizes[i]}.`);
  });
  if (parameters.length === sizes.length) return;
  throw wrong("parameters", `the kernel has ${sizes.length}, and ${parameters.length} were declared.`);
}
