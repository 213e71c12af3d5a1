import { kindOf } from "../../core/checks.ts";
import { Parameter, type ParameterInfo } from "./parameter.ts";
import type { Element } from "./types.ts";

/** A number, or the numbers of a vector, which are a copy. */
type Value = number | bigint | readonly (number | bigint)[];

/** A number or a vector, by value. */
export class ValueParameter extends Parameter<Value> {
  readonly #element: Element;
  readonly #isBool: boolean;
  /** Its range for numbers: to compare them with bigints takes longer than all else. */
  readonly #least: number;
  readonly #most: number;

  /** @see {@link Parameter} */
  constructor(kernel: string, index: number, info: ParameterInfo, element: Element) {
    super(kernel, index, info, element.align);
    this.#element = element;
    this.#isBool = info.type === "bool";
    const [least, most] = element.scalar.range ?? [-Infinity, Infinity];
    this.#least = Number(least);
    this.#most = Number(most);
  }

  /** @see {@link Parameter.accept} */
  accept(value: unknown): Value {
    const { lanes } = this.#element;
    if (lanes === 1) return this.#inRange(value);
    if (!Array.isArray(value)) throw this.wrong(`it is an array of ${lanes} numbers; got ${kindOf(value)}.`);
    if (value.length !== lanes) throw this.wrong(`it has ${lanes} elements; got ${value.length}.`);
    return Array.from<unknown, number | bigint>({ length: lanes }, (_, i) => this.#inRange(value[i]));
  }

  /** @see {@link Parameter.write} */
  write(view: DataView, offset: number, value: Value): void {
    const { scalar } = this.#element;
    if (typeof value !== "object") return scalar.write(view, offset, value);
    for (let i = 0; i < value.length; i++) scalar.write(view, offset + i * scalar.size, value[i]);
  }

  #inRange(value: unknown): number | bigint {
    const { range } = this.#element.scalar;
    if (this.#isBool && typeof value === "boolean") return Number(value);
    if (typeof value !== "number" && (typeof value !== "bigint" || range === undefined)) {
      throw this.wrong(`it is a ${this.#isBool ? "boolean" : "number"}; got ${kindOf(value)}.`);
    }
    if (range === undefined) return value;
    if (typeof value === "bigint") {
      if (value >= range[0] && value <= range[1]) return value;
    } else if (!Number.isSafeInteger(value)) {
      const hint = Number.isInteger(value) ? "Pass a bigint." : undefined;
      throw this.wrong(`${value} is no whole number that JavaScript has exactly.`, hint);
    } else if (value >= this.#least && value <= this.#most) return value;
    throw this.wrong(`${value} is none from ${range[0]} to ${range[1]}.`);
  }
}
