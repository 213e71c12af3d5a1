import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import type { Numbers } from "../../core/layout/numbers.ts";
import { bytesIn, kindOf } from "../../core/checks.ts";
import { opencl } from "../library.ts";
import { type Element, elementOf } from "./element.ts";
import { Parameter, type ParameterInfo } from "./parameter.ts";

/** A number, the numbers of a vector, or the bytes of anything; the last two are copies. */
export type Value = number | bigint | readonly (number | bigint)[] | Uint8Array<ArrayBuffer>;

/** What is passed by value: a scalar, a vector, a struct. */
export class ValueParameter extends Parameter<Value> {
  readonly #element: Element | undefined;
  readonly #bytes: DataView<ArrayBuffer>;
  readonly #size: bigint;

  /** @see {@link Parameter} */
  constructor(kernel: string, index: number, info: ParameterInfo) {
    super(kernel, index, info);
    this.#element = elementOf(info.type);
    this.#bytes = new DataView(new ArrayBuffer(this.#element?.size ?? 0));
    this.#size = BigInt(this.#bytes.byteLength);
  }

  /** @see {@link Parameter.accept} */
  accept(value: unknown): Value {
    if ((typeof value === "number" || typeof value === "bigint") && this.#element?.lanes === 1) {
      return this.#accepted(value, this.#element.numbers);
    }
    const given = bytesIn(value, (what, hint) => this.wrong(what, hint));
    if (given !== undefined) return this.#sized(given);
    if (this.#element === undefined) {
      throw this.wrong(
        `it is a ${this.info.type}, passed by value; got ${kindOf(value)}.`,
        "Pass its bytes as a typed array.",
      );
    }
    const { numbers, lanes: count } = this.#element;
    const lanes: ArrayLike<unknown> = Array.isArray(value) ? value : [value];
    if (lanes.length !== count) throw this.wrong(`it has ${count} elements; got ${lanes.length}.`);
    return Array.from({ length: count }, (_, i) => this.#accepted(lanes[i], numbers));
  }

  /** @see {@link Parameter.set} */
  set(kernel: ClKernel, value: Value): number {
    if (value instanceof Uint8Array) {
      return opencl().clSetKernelArg(kernel, this.index, BigInt(value.byteLength), value);
    }
    const { numbers } = this.#element!;
    if (typeof value === "object") value.forEach((lane, i) => numbers.write(this.#bytes, i * numbers.size, lane));
    else numbers.write(this.#bytes, 0, value);
    return opencl().clSetKernelArg(kernel, this.index, this.#size, this.#bytes);
  }

  #sized(given: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    if (this.info.size === 0) {
      throw this.wrong(
        `how many bytes a ${this.info.type} has could not be found out, and the driver would take any number.`,
        "Declare the type with a name, at the top of the program, and build it from its source; or pass a pointer.",
      );
    }
    const { byteLength } = given;
    const size = this.#element?.size ?? this.info.size ?? byteLength;
    if (byteLength !== size || size === 0) throw this.wrong(`it takes ${size} bytes; got ${byteLength}.`);
    return given.slice();
  }

  #accepted(value: unknown, numbers: Numbers): number | bigint {
    const refusal = numbers.refusal(value);
    if (refusal !== undefined) throw this.wrong(refusal);
    return value as number | bigint;
  }
}
