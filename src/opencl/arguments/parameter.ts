import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { shown } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { ofAnother } from "../check.ts";
import type { OpenCLContext } from "../context.ts";
import type { Used } from "../queues/wait_list.ts";

/** What clGetKernelArgInfo says of one parameter of a kernel. */
export interface ParameterInfo {
  /** Its name in the source. */
  readonly name: string;
  /** Its type's name: `"uchar*"`, `"float4"`. */
  readonly type: string;
  /** CL_KERNEL_ARG_ADDRESS_…. */
  readonly address: number;
  /** CL_KERNEL_ARG_TYPE_… bits. */
  readonly qualifiers: bigint;
  /** CL_KERNEL_ARG_ACCESS_…. */
  readonly access: number;
  /** True for an image, a sampler and the like, whatever its type is called: its value is the driver's own object. */
  readonly opaque: boolean;
  /**
   * Bytes of a value whose type the program declares itself, where the driver takes any number of them: 0 where they could
   * not be found out. Left out where the driver checks.
   */
  readonly size?: number;
}

/**
 * One parameter of a kernel, of one kind. An argument goes through it in two halves: `accept` looks at what a program
 * passed, and may run the program's own code (a getter); `set` makes the native call, and runs none.
 *
 * @typeParam T what an argument is once it was accepted
 */
export abstract class Parameter<T = unknown> {
  /** Where it stands in the kernel. */
  readonly index: number;
  /** What the compiler says of it. */
  readonly info: ParameterInfo;
  /** In words, for messages: `blur: argument 0 (uchar* source)`. */
  readonly where: string;

  /** `kernel` is named in messages. */
  constructor(kernel: string, index: number, info: ParameterInfo) {
    this.index = index;
    this.info = info;
    this.where = `${shown(kernel)}: argument ${index} (${shown(info.type)} ${shown(info.name)})`;
  }

  /**
   * Checks an argument, and takes from it all that `set` needs.
   *
   * @throws {ArgumentError} where it is of the wrong kind, type, size, range or context.
   * @throws {AccessError} where its bytes may not be used so.
   * @throws {DisposedError} where it was disposed.
   */
  abstract accept(value: unknown, context: OpenCLContext): T;

  /** Sets it on the kernel, once it is seen that it may still be used; answers clSetKernelArg's code. */
  abstract set(kernel: ClKernel, accepted: T): number;

  /** True where the `cl_kernel` that took earlier arguments may not take this one: it needs a new one. */
  isSpoiltFor(_accepted: T): boolean {
    return false;
  }

  /** What the kernel will use by it, if anything. */
  usedBy(_accepted: T): Used | undefined {
    return undefined;
  }

  /** Bytes of local memory that it takes of a work-group. */
  localBytes(_accepted: T): number {
    return 0;
  }

  /** The error of an argument that does not fit. */
  protected wrong(what: string, hint?: string): ArgumentError {
    return new ArgumentError(`${this.where}: ${what}`, {
      api: "opencl",
      fn: "clSetKernelArg",
      argument: this.info.name,
      ...(hint === undefined ? {} : { hint }),
    });
  }

  /** Throws unless an object lives in the kernel's own context. */
  protected assertAtHome(name: string, at: OpenCLContext, context: OpenCLContext): void {
    if (at === context) return;
    throw this.wrong(ofAnother(name, at, "the kernel", context));
  }
}
