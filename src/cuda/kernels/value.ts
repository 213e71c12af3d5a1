import { kindOf } from "../../core/checks.ts";
import type { Numbers } from "../../core/layout/numbers.ts";
import { Parameter, type ParameterInfo } from "./parameter.ts";
import type { Element } from "./types.ts";

/** A number, or the numbers of a vector, which are a copy. */
type Value = number | bigint | readonly (number | bigint)[];

/** A number or a vector, by value. */
export class ValueParameter extends Parameter<Value> {
  readonly #lanes: number;
  readonly #numbers: Numbers;
  readonly #isBool: boolean;

  /** @see {@link Parameter} */
  constructor(kernel: string, index: number, info: ParameterInfo, { lanes, scalar, align }: Element) {
    super(kernel, index, info, align);
    this.#lanes = lanes;
    this.#numbers = scalar.numbers;
    this.#isBool = info.type === "bool";
  }

  /** @see {@link Parameter.accept} */
  accept(value: unknown): Value {
    const lanes = this.#lanes;
    if (lanes === 1) return this.#accepted(value);
    if (!Array.isArray(value)) throw this.wrong(`it is an array of ${lanes} numbers; got ${kindOf(value)}.`);
    if (value.length !== lanes) throw this.wrong(`it has ${lanes} elements; got ${value.length}.`);
    return Array.from<unknown, number | bigint>({ length: lanes }, (_, i) => this.#accepted(value[i]));
  }

  /** @see {@link Parameter.write} */
  write(view: DataView, offset: number, value: Value): void {
    const numbers = this.#numbers;
    if (typeof value !== "object") return numbers.write(view, offset, value);
    for (let i = 0; i < value.length; i++) numbers.write(view, offset + i * numbers.size, value[i]);
  }

  #accepted(value: unknown): number | bigint {
    if (this.#isBool && typeof value === "boolean") return Number(value);
    const refusal = this.#numbers.refusal(value);
    if (refusal !== undefined) throw this.wrong(refusal, this.#isBool ? "Pass true or false." : undefined);
    return value as number | bigint;
  }
}
