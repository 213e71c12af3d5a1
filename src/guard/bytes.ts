import { cString } from "../core/native/text.ts";

export class Bytes {
  #bytes = new Uint8Array(64);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  raw(...bytes: readonly number[]): this {
    return this.add(bytes);
  }

  add(bytes: ArrayLike<number>): this {
    const at = this.#length;
    this.#length += bytes.length;
    if (this.#length > this.#bytes.length) {
      const grown = new Uint8Array(2 * this.#length);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, at);
    return this;
  }

  /** Adds a string as UTF-8 with a zero at its end. Returns where it begins. */
  cString(text: string): number {
    const at = this.#length;
    this.add(cString(text));
    return at;
  }

  u16(value: number): this {
    return this.raw(value, value >> 8);
  }

  u32(value: number): this {
    return this.raw(value, value >> 8, value >> 16, value >> 24);
  }

  u64(value: bigint): this {
    return this.u32(Number(BigInt.asIntN(32, value))).u32(Number(BigInt.asIntN(32, value >> 32n)));
  }

  /** Adds an unsigned number as DWARF's LEB128: seven bits in each byte, the lowest first. */
  uleb(value: number): this {
    for (; value > 0x7f; value >>>= 7) this.raw(value & 0x7f | 0x80);
    return this.raw(value);
  }

  align(alignment: number, filling = 0): this {
    while (this.length % alignment !== 0) this.raw(filling);
    return this;
  }

  done(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }
}
