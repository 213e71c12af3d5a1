import { CL_PROGRAM_KERNEL_NAMES, CL_PROGRAM_NUM_KERNELS } from "../../ffi/opencl/constants.ts";
import { CL_INVALID_KERNEL_NAME } from "../../ffi/opencl/errors.ts";
import type { ClProgram } from "../../ffi/opencl/handles.ts";
import { DeviceProgram, unknownKernel } from "../core/device/program.ts";
import type { Undo } from "../core/life/undo.ts";
import type { ParameterInfo } from "./arguments/info.ts";
import { checks } from "./check.ts";
import type { OpenCLContext } from "./context.ts";
import { pack } from "./programs/envelope.ts";
import { infoString, infoU64 } from "./info.ts";
import { OpenCLKernel } from "./kernel.ts";
import { contentOf } from "./programs/binary.ts";
import { programQuery } from "./programs/build.ts";
import { TypeSizes } from "./programs/type_sizes.ts";

/** The parameters of kernels, by the kernel's name, if the driver has forgotten them. */
export type KeptKernels = ReadonlyMap<string, readonly ParameterInfo[]>;

/** What a program is made of. */
export interface ProgramInit {
  /** The `cl_program`, built for every device of the context. */
  readonly handle: ClProgram;
  /** Its release. */
  readonly undo: Undo;
  /** Its build options. */
  readonly options: string;
  /** Its source, if that is known. */
  readonly source?: string;
  /** The parameters that were kept with its binary. */
  readonly kernels?: KeptKernels;
}

/**
 * OpenCL C, built for a context's devices. `.cl` files are imported as text:
 * `import source from "./kernels.cl" with { type: "text" }`.
 */
export class OpenCLProgram extends DeviceProgram<OpenCLContext, ClProgram> {
  /** Its build options. */
  readonly options: string;
  /** The sizes of the types it declares. For mappers. */
  readonly sizes: TypeSizes;
  readonly #kept: KeptKernels;

  /** Made by `cl.program()`, `cl.programFromBinary()` and `cl.attachProgram()`; takes the undo list over. */
  constructor(context: OpenCLContext, { handle, undo, options, source, kernels = new Map() }: ProgramInit) {
    super(context, "opencl", handle, undo);
    this.options = options;
    this.#kept = kernels;
    this.sizes = new TypeSizes(context, source, options);
  }

  /** The names of its kernels. */
  get kernelNames(): readonly string[] {
    const query = programQuery(this.handle);
    // NVIDIA's driver (580.159) crashes when it is asked for the names of no kernels.
    if (infoU64("clGetProgramInfo", query, CL_PROGRAM_NUM_KERNELS) === 0n) return [];
    const names = infoString("clGetProgramInfo", query, CL_PROGRAM_KERNEL_NAMES);
    return names.split(";").filter((name) => name !== "");
  }

  /** Returns a kernel by its name. @throws {ArgumentError} if the program has no such kernel. */
  kernel(name: string): OpenCLKernel {
    this.resource.assertLive();
    checks.assertText(name, "name");
    try {
      return new OpenCLKernel(this, name, this.#kept.get(name));
    } catch (error) {
      if ((error as { code?: number }).code !== CL_INVALID_KERNEL_NAME) throw error;
      throw unknownKernel(name, this.kernelNames, { api: "opencl", fn: "clCreateKernel", cause: error });
    }
  }

  /**
   * The built program as bytes, for `cl.programFromBinary()`: a binary for each device, its device and driver, the types of
   * kernel arguments, and a checksum; not the source.
   *
   * @throws {NativeCallError} if the driver gives no binary.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using program = cl.program("kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }");
   * const bytes = program.binary(); // keep them; a BinaryError says when they no longer fit
   * using again = cl.programFromBinary(bytes);
   * console.log(again.kernelNames); // [ "twice" ]
   * ```
   */
  binary(): Uint8Array<ArrayBuffer> {
    this.resource.assertLive();
    return pack(contentOf(this, undefined));
  }
}
