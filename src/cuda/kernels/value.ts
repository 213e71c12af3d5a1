import { kindOf } from "../../core/checks.ts";
import type { Numbers } from "../../core/layout/numbers.ts";
import { Parameter, type ParameterInfo } from "./parameter.ts";
import type { Element } from "./types.ts";

/** A number or a vector, by value. */
export class ValueParameter extends Parameter {
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

  /** @see {@link Parameter.pack} */
  pack(value: unknown, view: DataView<ArrayBuffer>, offset: number): void {
    const lanes = this.#lanes;
    if (lanes === 1) return this.#packOne(value, view, offset);
    if (!Array.isArray(value)) throw this.wrong(`it is an array of ${lanes} numbers; got ${kindOf(value)}.`);
    if (value.length !== lanes) throw this.wrong(`it has ${lanes} elements; got ${value.length}.`);
    for (let i = 0; i < lanes; i++) this.#packOne(value[i], view, offset + i * this.#numbers.size);
  }

  #packOne(given: unknown, view: DataView<ArrayBuffer>, offset: number): void {
    const value = this.#isBool && typeof given === "boolean" ? Number(given) : given;
    const refusal = this.#numbers.refusal(value);
    if (refusal !== undefined) throw this.wrong(refusal, this.#isBool ? "Pass true or false." : undefined);
    this.#numbers.write(view, offset, value as number | bigint);
  }
}
