import { shown } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import type { CudaContext } from "../context.ts";
import type { CudaUse } from "../stream.ts";

/** What a kernel's declaration says of one parameter. */
export interface ParameterInfo {
  /** Its type: `"const float*"`; of a struct, its size: `"16 bytes"`. */
  readonly type: string;
  /** How many bytes it takes. */
  readonly size: number;
}

/** One parameter of a kernel, of one kind. */
export abstract class Parameter {
  /** What was declared. */
  readonly info: ParameterInfo;
  /** What its address is a multiple of. */
  readonly align: number;
  /** Which one it is: `args[2]`. */
  readonly argument: string;
  /** In words, for messages: `twice: args[0] (float*)`. */
  readonly where: string;

  /** `kernel` is named in messages. */
  constructor(kernel: string, index: number, info: ParameterInfo, align: number) {
    this.info = info;
    this.align = align;
    this.argument = `args[${index}]`;
    this.where = `${shown(kernel)}: ${this.argument} (${shown(info.type)})`;
  }

  /**
   * Checks an argument, writes it where the launch will read it, and adds the tensor that it is to `uses`. Looking at it
   * may run the program's own code.
   *
   * @throws {ArgumentError} where it is of the wrong kind, type, size, range or context.
   * @throws {AccessError} where its bytes may not be used so.
   * @throws {LayoutError} where it does not begin where its type may lie.
   */
  abstract pack(
    value: unknown,
    view: DataView<ArrayBuffer>,
    offset: number,
    context: CudaContext,
    uses: CudaUse[],
  ): void;

  /** The error of an argument that does not fit. */
  protected wrong(what: string, hint?: string): ArgumentError {
    return new ArgumentError(`${this.where}: ${what}`, this.about(hint));
  }

  /** The fields of its errors. */
  protected about(hint?: string): { api: string; fn: string; argument: string; hint?: string } {
    const { argument } = this;
    return { api: "cuda", fn: "cudaLaunchKernelExC", argument, ...(hint === undefined ? {} : { hint }) };
  }
}
