import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { shown } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { kindOf } from "../check.ts";
import { opencl } from "../library.ts";
import { Parameter } from "./parameter.ts";

/** Local memory of a work-group, as a kernel argument. */
export class LocalMemory {
  readonly #byteLength: number;

  /** `byteLength` is a whole number above 0, else this throws an ArgumentError. */
  constructor(byteLength: number) {
    if (!Number.isSafeInteger(byteLength) || byteLength <= 0) {
      throw new ArgumentError(`byteLength: ${shown(byteLength)} is not a whole number above 0.`, {
        api: "opencl",
        argument: "byteLength",
      });
    }
    this.#byteLength = byteLength;
  }

  /** Its size in bytes. */
  get byteLength(): number {
    return this.#byteLength;
  }

  /** The size that a LocalMemory was made with; undefined for anything else. For those who write mappers. */
  static sizeOf(value: unknown): number | undefined {
    return typeof value === "object" && value !== null && #byteLength in value ? value.#byteLength : undefined;
  }
}

/** A pointer to local memory: its argument is a size. */
export class LocalParameter extends Parameter<number> {
  /** @see {@link Parameter.accept} */
  accept(value: unknown): number {
    const size = LocalMemory.sizeOf(value);
    if (size !== undefined) return size;
    throw this.wrong(`it is local memory; got ${kindOf(value)}.`, "Pass new LocalMemory(bytes).");
  }

  /** @see {@link Parameter.set} */
  set(kernel: ClKernel, size: number): number {
    return opencl().clSetKernelArg(kernel, this.index, BigInt(size), null);
  }

  /** @see {@link Parameter.localBytes} */
  override localBytes(size: number): number {
    return size;
  }
}
