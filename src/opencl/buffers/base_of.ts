import { Printed } from "../../core/printed.ts";
import type { BufferTensor } from "./tensor.ts";

/** A tensor whose `layout.byteOffset` the kernel gets as a separate argument: `tensor.base`. */
export class BaseOf<T extends BufferTensor = BufferTensor> extends Printed {
  /** The tensor. */
  readonly tensor: T;

  /** Made by {@link BufferTensor.base}. */
  constructor(tensor: T) {
    super();
    this.tensor = tensor;
  }

  /** Its tensor. */
  toString(): string {
    return `the base of ${this.tensor}`;
  }
}
