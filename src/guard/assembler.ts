import { Bytes } from "./bytes.ts";
import type { Code, FrameRow } from "./x86_64.ts";

// Opcodes of jumps; a 32-bit distance follows.
export const JMP: readonly number[] = [0xe9];
export const JB: readonly number[] = [0x0f, 0x82];
export const JAE: readonly number[] = [0x0f, 0x83];
export const JA: readonly number[] = [0x0f, 0x87];
export const JZ: readonly number[] = [0x0f, 0x84];
export const JNZ: readonly number[] = [0x0f, 0x85];
export const JS: readonly number[] = [0x0f, 0x88];

/** Machine code with labels. */
export class Assembler {
  readonly #bytes = new Bytes();
  readonly #frame: FrameRow[] = [];
  readonly #labels = new Map<string, number>();
  readonly #jumps: (readonly [end: number, label: string])[] = [];

  /** endbr64: the target of an indirect call. */
  entry(): this {
    return this.op(0xf3, 0x0f, 0x1e, 0xfa);
  }

  op(...bytes: readonly number[]): this {
    this.#bytes.raw(...bytes);
    return this;
  }

  /** An instruction that ends with a 32-bit immediate. */
  op32(bytes: readonly number[], value: number): this {
    this.#bytes.raw(...bytes).u32(value);
    return this;
  }

  /** An instruction that ends with a 64-bit immediate. */
  op64(bytes: readonly number[], value: bigint): this {
    this.#bytes.raw(...bytes).u64(value);
    return this;
  }

  jump(instruction: readonly number[], label: string): this {
    this.op32(instruction, 0);
    this.#jumps.push([this.#bytes.length, label]);
    return this;
  }

  label(name: string): this {
    this.#labels.set(name, this.#bytes.length);
    return this;
  }

  /** The state of the stack frame from here on. */
  stands(state: FrameRow[1]): this {
    this.#frame.push([this.#bytes.length, state]);
    return this;
  }

  done(): Code {
    const bytes = this.#bytes.done();
    const view = new DataView(bytes.buffer);
    for (const [end, label] of this.#jumps) view.setInt32(end - 4, this.#labels.get(label)! - end, true);
    return { bytes, frame: this.#frame };
  }
}
