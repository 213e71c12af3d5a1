import type { Address } from "../../ffi/address.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { assertArguments } from "../core/device/arguments.ts";
import { wrongLaunch } from "../core/device/grid.ts";
import { ArgumentError } from "../core/errors.ts";
import type { Call } from "../core/device/driver.ts";
import type { Fence } from "../core/device/fence.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { checks } from "./check.ts";
import type { Declared, ParameterInfo } from "./kernels/declared.ts";
import { type KernelNeeds, LaunchLimits } from "./kernels/limits.ts";
import type { LoadedCode } from "./kernels/loaded.ts";
import { LaunchMemory } from "./kernels/launch_memory.ts";
import { cudart } from "./library.ts";
import type { CudaProgram } from "./program.ts";
import { CudaStream } from "./stream.ts";
import { onStream, type StreamLane } from "./stream_lane.ts";
import type { CudaTensor } from "./tensor.ts";

const FN = "cudaLaunchKernelExC";

/**
 * What a kernel argument can be: a tensor, or null, for a pointer; a number, bigint or boolean for a number; an array of
 * numbers for a vector; the bytes of a struct.
 */
export type CudaKernelArgument =
  | CudaTensor
  | null
  | number
  | bigint
  | boolean
  | readonly (number | bigint)[]
  | ArrayBufferView<ArrayBuffer>;

/** How a kernel is launched. */
export interface LaunchOptions {
  /** Blocks along each dimension, 1 to 3 of them. */
  readonly grid: readonly number[];
  /** Threads of a block along each dimension, 1 to 3 of them. */
  readonly block: readonly number[];
  /** Dynamic shared memory of a block (`extern __shared__`), in bytes; 0 by default. */
  readonly sharedBytes?: number;
  /** The stream; the context's own by default. */
  readonly stream?: CudaStream;
  /** Work that has to be done first. */
  readonly after?: Fence | readonly Fence[];
}

const OPTIONS: Names<LaunchOptions> = { grid: true, block: true, sharedBytes: true, stream: true, after: true };

/** What a kernel is made of. */
interface KernelInit {
  readonly name: string;
  readonly handle: Address;
  readonly parameters: readonly Declared[];
}

/**
 * A kernel: checks every argument against its declaration, and its launch against what the device can do. What it was
 * launched for goes on when it is disposed.
 */
export class CudaKernel extends NativeObject {
  /** The program it is of. */
  readonly program: CudaProgram;
  /** Its name. */
  readonly name: string;
  /** What it needs: registers, shared and local memory; and the most threads of a block. */
  readonly needs: KernelNeeds;
  /** What it was declared with, in order. */
  readonly parameters: readonly ParameterInfo[];
  /** Its end of life. */
  readonly resource: Resource;
  readonly #handle: Address;
  readonly #types: readonly string[];
  readonly #limits: LaunchLimits;
  /** Where a launch is laid out. */
  readonly #memory: LaunchMemory;
  /** Makes the launch that is laid out. */
  readonly #launch: Call<StreamLane>;
  #sharedBytes = 0;

  /** Made by `program.kernel()`. @throws {ArgumentError} where the driver knows other parameters. */
  constructor(program: CudaProgram, loaded: LoadedCode, { name, handle, parameters }: KernelInit) {
    super();
    this.program = program;
    this.name = name;
    this.#handle = handle;
    this.parameters = parameters.map(({ info }) => info);
    this.#types = this.parameters.map(({ type }) => type);
    assertDeclared(name, this.parameters, loaded.parameterSizes(handle));
    const launch = { api: "cuda", fn: FN, kernel: name };
    this.#limits = loaded.compiled(() => new LaunchLimits(launch, handle, program.context));
    this.needs = this.#limits.needs;
    const memory = this.#memory = new LaunchMemory(parameters.map(({ parameter }) => parameter));
    this.#launch = onStream(FN, () => {
      this.#limits.allow(this.#sharedBytes);
      return cudart().cudaLaunchKernelExC(memory.config, handle, memory.args);
    });
    this.resource = new Resource({ name: `cuda kernel ${name}`, owners: [program.resource] });
    finalizers.register(this, this.resource, this);
  }

  /** The `cudaKernel_t`. */
  get handle(): Address {
    this.resource.assertLive();
    return this.#handle;
  }

  /**
   * Launches the kernel, and returns: its work is recorded on the tensors, whose end waits for it.
   *
   * Tensors that other work uses are waited for: on the device where it is CUDA's, here otherwise.
   *
   * @param args one for each parameter
   * @throws {ArgumentError} for a wrong number, kind, type or range of arguments, or sizes beyond the device's.
   * @throws {AccessError} where a tensor's bytes may not be used so.
   * @throws {DisposedError} where a tensor, the kernel, the stream or their context were disposed.
   * @throws {CudaLostError} where a kernel has gone wrong before.
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
   * twice.run({ grid: [Math.ceil(1000 / 256)], block: [256] }, [numbers, 1000]);
   * ```
   */
  run(launch: LaunchOptions, args: readonly CudaKernelArgument[]): void {
    this.resource.assertLive();
    const { context } = this.program;
    const { grid, block, sharedBytes = 0, stream = context.stream, after } = optionsIn(launch, OPTIONS, "launch");
    if (stream !== context.stream) this.#checkStream(stream);
    this.#limits.take(grid, block, sharedBytes);
    this.#sharedBytes = sharedBytes;
    assertArguments(args, this.#types, this.name, "cuda", FN);
    const memory = this.#memory;
    try {
      const uses = memory.take(args, context);
      memory.configure(this.#limits, sharedBytes, stream.rawHandle);
      const mark = stream.submit(uses, this.#launch, checks.fencesIn(after, "after"));
      this.program.resource.work.record(stream.line, mark, false); // code is not unloaded while it runs
    } finally {
      memory.release();
    }
  }

  #checkStream(stream: CudaStream): void {
    checks.assertInstance(stream, CudaStream, "stream");
    if (stream.context === this.program.context) return;
    const what = `it is of another context, of ${stream.context.name}.`;
    throw wrongLaunch({ api: "cuda", fn: FN, kernel: this.name }, "stream", what);
  }
}

/** Throws unless the parameters are as many as the driver knows, each as long: a launch reads what the driver knows. */
function assertDeclared(name: string, parameters: readonly ParameterInfo[], sizes: readonly number[]): void {
  const wrong = (argument: string, what: string) =>
    new ArgumentError(`${name}: ${argument}: ${what}`, { api: "cuda", fn: "cuKernelGetParamInfo", argument });
  parameters.forEach(({ type, size }, i) => {
    if (i >= sizes.length || size === sizes[i]) return;
    throw wrong(`parameters[${i}]`, `${type} has ${size} bytes; the kernel's parameter has ${sizes[i]}.`);
  });
  if (parameters.length === sizes.length) return;
  throw wrong("parameters", `${parameters.length} were declared; the kernel has ${sizes.length}.`);
}
