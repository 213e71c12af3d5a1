import { NULL } from "../../ffi/address.ts";
import { CL_PROGRAM_BUILD_LOG, CL_PROGRAM_KERNEL_NAMES } from "../../ffi/opencl/constants.ts";
import { CL_INVALID_KERNEL_NAME } from "../../ffi/opencl/errors.ts";
import type { ClProgram } from "../../ffi/opencl/handles.ts";
import { object } from "../core/argument.ts";
import { ArgumentError, messageOf } from "../core/errors.ts";
import { finalizers } from "../core/finalizers.ts";
import { ledger } from "../core/ledger.ts";
import { pinned } from "../core/pin.ts";
import { Resource } from "../core/resource.ts";
import { type Undo, unwind } from "../core/undo.ts";
import type { OpenCLContext } from "./context.ts";
import { assertText } from "./check.ts";
import { BuildError, check, errcode, made, openclError } from "./errors.ts";
import { infoString } from "./info.ts";
import { OpenCLKernel } from "./kernel.ts";
import { opencl } from "./library.ts";

/** Options of {@link OpenCLContext.program}. */
export interface ProgramOptions {
  /** Options of the OpenCL C compiler: `"-cl-std=CL3.0 -DTILE=64"`. */
  readonly options?: string;
}

/** Argument information is what makes arguments checkable; compilers drop it unless asked. */
const ALWAYS = "-cl-kernel-arg-info";

/**
 * OpenCL C, built for a context's device. `.cl` files are imported as text:
 * `import source from "./kernels.cl" with { type: "text" }`.
 */
export class OpenCLProgram implements Disposable {
  /** The context it was built for. */
  readonly context: OpenCLContext;
  /** Its end of life. */
  readonly resource: Resource;
  readonly #handle: ClProgram;

  /** Made by `cl.program()`. @throws {BuildError} where it does not compile. */
  constructor(context: OpenCLContext, source: string, options: ProgramOptions = {}) {
    this.context = context;
    const undo: Undo = [];
    assertText(source, "source");
    object(options, "options");
    const checked = buildOptions(options.options ?? "");
    context.resource.assertLive();
    try {
      this.#handle = create(context, source, undo);
      this.#build(`${ALWAYS} ${checked}`.trim());
    } catch (error) {
      unwind(undo);
      throw error;
    }
    this.resource = new Resource({ name: `opencl program (${context.name})`, owners: [context.resource], undo });
    finalizers.register(this, this.resource, this);
  }

  /** The `cl_program`. */
  get handle(): ClProgram {
    this.resource.assertLive();
    return this.#handle;
  }

  /** The names of its kernels. */
  get kernelNames(): string[] {
    const names = infoString(
      "clGetProgramInfo",
      (name, size, value, written) => opencl().clGetProgramInfo(this.handle, name, size, value, written),
      CL_PROGRAM_KERNEL_NAMES,
    );
    return names.split(";").filter((name) => name !== "");
  }

  /** One of its kernels, by name. @throws {ArgumentError} where it has none of that name. */
  kernel(name: string): OpenCLKernel {
    this.resource.assertLive();
    assertText(name, "name");
    try {
      // C would take what stands before a zero for the whole name.
      if (name.includes("\0")) throw openclError(CL_INVALID_KERNEL_NAME, "clCreateKernel");
      return new OpenCLKernel(this, name);
    } catch (error) {
      if ((error as { code?: number }).code !== CL_INVALID_KERNEL_NAME) throw error;
      throw new ArgumentError(`name: the program has no kernel "${name}".`, {
        api: "opencl",
        fn: "clCreateKernel",
        argument: "name",
        hint: `It has ${this.kernelNames.join(", ")}.`,
        cause: error,
      });
    }
  }

  /** Releases it, after its kernels. */
  [Symbol.dispose](): void {
    finalizers.unregister(this);
    this.resource.dispose();
  }

  #build(options: string): void {
    const { device } = this.context;
    const text = new TextEncoder().encode(`${options}\0`);
    const code = opencl().clBuildProgram(this.#handle, 1, new BigUint64Array([device.handle]), text, NULL, null);
    if (code === 0) return;
    const error = openclError(code, "clBuildProgram");
    const log = this.#log();
    throw new BuildError(`${error.message} ${device.name} says: ${log.split("\n").slice(0, 3).join(" ")}`, log, {
      api: "opencl",
      fn: "clBuildProgram",
      code,
      ...(error.codeName === undefined ? {} : { codeName: error.codeName }),
    });
  }

  #log(): string {
    try {
      return infoString(
        "clGetProgramBuildInfo",
        (name, size, value, written) =>
          opencl().clGetProgramBuildInfo(this.#handle, this.context.device.handle, name, size, value, written),
        CL_PROGRAM_BUILD_LOG,
      );
    } catch (error) {
      return `(no log: ${messageOf(error)})`;
    }
  }
}

/**
 * Options in the form that every compiler takes: `-D` and `-I` with their operands in the same word. What is no option
 * ends the process, in PoCL 3.1 (`-I` without an operand) or rusticl 22.3 (a word without `-`, quotes around a space).
 */
function buildOptions(given: unknown): string {
  assertText(given, "options");
  const words = given.trim().replaceAll(/(?<!\S)(-[DI])\s+(?=[^\s-])/g, "$1").split(/\s+/).filter((word) =>
    word !== ""
  );
  const wrong = words.find((word) => !/^-[^\0"']/.test(word) || /^-[DI]$|\0/.test(word));
  if (wrong === undefined) return words.join(" ");
  throw new ArgumentError(`options: "${wrong}" is no option of the compiler's, or lacks its operand.`, {
    api: "opencl",
    fn: "clBuildProgram",
    argument: "options",
    hint: "Each begins with -, and none has spaces in it: -DTILE=64 -I/include.",
  });
}

function create(context: OpenCLContext, source: string, undo: Undo): ClProgram {
  const text = new TextEncoder().encode(source);
  if (text.length === 0) throw new ArgumentError("source: it is empty.", { api: "opencl", argument: "source" });
  const lengths = new BigUint64Array([BigInt(text.length)]);
  const program = made(
    pinned(text, "opencl", (address) => {
      const strings = new BigUint64Array([address]);
      return opencl().clCreateProgramWithSource(context.rawHandle, 1, strings, lengths, errcode);
    }),
    "clCreateProgramWithSource",
  );
  ledger.add("opencl.cl_program");
  undo.push(() => {
    ledger.remove("opencl.cl_program");
    check(opencl().clReleaseProgram(program), "clReleaseProgram");
  });
  return program;
}
