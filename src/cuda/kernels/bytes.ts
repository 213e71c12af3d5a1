import { bytesIn, kindOf } from "../../core/checks.ts";
import { Parameter } from "./parameter.ts";

/** A struct, by value: its argument is its bytes, of which it takes a copy. */
export class BytesParameter extends Parameter<Uint8Array> {
  /** @see {@link Parameter} */
  constructor(kernel: string, index: number, size: number) {
    super(kernel, index, { type: `${size} bytes`, size }, 16);
  }

  /** @see {@link Parameter.accept} */
  accept(value: unknown): Uint8Array {
    const given = bytesIn(value);
    if (given === undefined) throw this.wrong(`it is bytes; got ${kindOf(value)}.`, "Pass them as a typed array.");
    const { size } = this.info;
    if (given.byteLength !== size) throw this.wrong(`it takes ${size} bytes; got ${given.byteLength}.`);
    return given.slice();
  }

  /** @see {@link Parameter.write} */
  write(view: DataView, offset: number, bytes: Uint8Array): void {
    new Uint8Array(view.buffer, offset, bytes.length).set(bytes);
  }
}
