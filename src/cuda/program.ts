import type { CudaLibrary } from "../../ffi/cuda_runtime/handles.ts";
import { type ArgumentError, InteropError } from "../core/errors.ts";
import { DeviceProgram, unknownKernel } from "../core/device/program.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { checks } from "./check.ts";
import { CudaKernel } from "./kernel.ts";
import { type Code, cubinIn, ptxIn } from "./kernels/code.ts";
import { compile } from "./kernels/compile.ts";
import { parametersIn, type ParameterType } from "./kernels/declared.ts";
import { LoadedCode } from "./kernels/loaded.ts";
import { type ProgramOptions, sourceIn } from "./kernels/source.ts";
import { newerRuntime } from "./library.ts";
import type { CudaStreamContext } from "./stream.ts";

interface ProgramInit {
  readonly code: Code;
  readonly lowered?: ReadonlyMap<string, string>;
  readonly log?: string;
}

/**
 * Loaded kernels of CUDA C++, PTX or a cubin, unloaded once all their launches are over. Import a `.cu` file as text:
 * `import source from "./kernels.cu" with { type: "text" }`.
 */
export class CudaProgram extends DeviceProgram<CudaStreamContext, CudaLibrary> {
  /** The compiler's warnings. */
  readonly log: string;
  readonly #loaded: LoadedCode;
  readonly #lowered: ReadonlyMap<string, string>;

  /** Made by `cuda.program()`, `cuda.programFromPtx()` and `cuda.programFromCubin()`. */
  constructor(context: CudaStreamContext, { code, lowered = new Map(), log = "" }: ProgramInit) {
    const undo: Undo = [];
    const loaded = allOrNothing("loading a program", () => new LoadedCode(context, code, undo), undo);
    super(context, "cuda", loaded.handle, undo);
    this.log = log;
    this.#lowered = lowered;
    this.#loaded = loaded;
  }

  /**
   * The driver's names of its kernels, which are mangled for C++ kernels.
   *
   * @throws {InteropError} if CUDA is too old to list them.
   */
  get kernelNames(): readonly string[] {
    this.resource.assertLive();
    return this.#loaded.kernelNames;
  }

  /**
   * One of its kernels.
   *
   * @param name its name in the source if it is `extern "C"` or among the program's `names`; else its mangled name
   * @param parameters the types of its parameters, in order; their sizes are checked against the driver's
   * @throws {ArgumentError} if there is no such kernel, or its parameters differ.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using program = cuda.program(
   *   `template <class T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }`,
   *   { names: ["fill<float>"] },
   * );
   * using fill = program.kernel("fill<float>", ["float*", "float"]);
   * ```
   */
  kernel(name: string, parameters: readonly ParameterType[]): CudaKernel {
    this.resource.assertLive();
    checks.assertText(name, "name");
    const declared = parametersIn(parameters, name);
    this.resource.assertLive();
    const lowered = this.#lowered.get(name) ?? name;
    // In C, a name ends at the zero.
    const handle = lowered.includes("\0") ? undefined : this.#loaded.kernel(lowered);
    if (handle === undefined) throw this.#unknown(name);
    return new CudaKernel(this, this.#loaded, { name, handle, parameters: declared });
  }

  #unknown(name: string): ArgumentError {
    const more = 'Declare it extern "C", or name it when the program is made: { names: [name] }.';
    return unknownKernel(name, this.#known(), { api: "cuda", fn: "cudaLibraryGetKernel" }, more);
  }

  #known(): string[] {
    try {
      return [...this.#lowered.keys(), ...this.#loaded.kernelNames];
    } catch (error) {
      if (error instanceof InteropError) return ["others"];
      throw error;
    }
  }
}

export function programFromSource(context: CudaStreamContext, source: string, options: ProgramOptions): CudaProgram {
  const checked = sourceIn(source, options);
  context.resource.assertLive();
  newerRuntime("cudaLibraryLoadData"); // throws before the compilation, whose output an old runtime cannot load
  return new CudaProgram(context, compile(checked, context.device));
}

export function programFromPtx(context: CudaStreamContext, text: string): CudaProgram {
  const code = ptxIn(text);
  context.resource.assertLive();
  return new CudaProgram(context, { code });
}

export function programFromCubin(context: CudaStreamContext, bytes: Uint8Array): CudaProgram {
  const code = cubinIn(bytes);
  context.resource.assertLive();
  return new CudaProgram(context, { code });
}
