import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { bytesIn, kindOf } from "../../core/checks.ts";
import { Parameter, type ParameterPlace } from "../../core/device/parameter.ts";
import { pinned } from "../../core/native/pin.ts";
import { opencl } from "../library.ts";

/** A value of a type whose size only the driver knows, which checks it: its argument is its bytes. */
export class StructParameter extends Parameter {
  readonly #isUncheckable: boolean;

  /** `isUncheckable` where the driver does not check, and nobody else can. */
  constructor(place: ParameterPlace, isUncheckable: boolean) {
    super(place, 0, 1);
    this.#isUncheckable = isUncheckable;
  }

  /** @see {@link Parameter.pack} */
  override pack(value: unknown): undefined {
    const bytes = this.#bytesIn(value);
    if (bytes === undefined) {
      throw this.wrong(`expected the bytes of a ${this.type}, got ${kindOf(value)}.`, "Pass them as a typed array.");
    }
    if (this.#isUncheckable) {
      throw this.wrong(
        `how many bytes a ${this.type} has could not be found out, and the driver would take any number.`,
        "Declare the type with a name, at the top of the program, and build it from its source; or pass a pointer.",
      );
    }
    if (bytes.byteLength === 0) throw this.wrong("it takes bytes; got none.");
  }

  /** Sets the bytes that were passed; answers clSetKernelArg's code. */
  setOn(kernel: ClKernel, value: unknown): number {
    const bytes = this.#bytesIn(value)!;
    return pinned(
      bytes,
      "opencl",
      (address) => opencl().clSetKernelArg(kernel, this.index, BigInt(bytes.byteLength), address),
    );
  }

  #bytesIn(value: unknown): Uint8Array<ArrayBuffer> | undefined {
    return bytesIn(value, (what, hint) => this.wrong(what, hint));
  }
}
