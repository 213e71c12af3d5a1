import { bytesIn, kindOf } from "../../core/checks.ts";
import { Parameter } from "./parameter.ts";

/** A struct, by value: its argument is its bytes. */
export class BytesParameter extends Parameter {
  /** @see {@link Parameter} */
  constructor(kernel: string, index: number, size: number) {
    super(kernel, index, { type: `${size} bytes`, size }, 16);
  }

  /** @see {@link Parameter.pack} */
  pack(value: unknown, view: DataView<ArrayBuffer>, offset: number): void {
    const given = bytesIn(value, (what, hint) => this.wrong(what, hint));
    if (given === undefined) throw this.wrong(`it is bytes; got ${kindOf(value)}.`, "Pass them as a typed array.");
    const { size } = this.info;
    if (given.byteLength !== size) throw this.wrong(`it takes ${size} bytes; got ${given.byteLength}.`);
    new Uint8Array(view.buffer, offset, size).set(given);
  }
}
