/** Bytes that are written one after the other, little-endian. */
export class Bytes {
  readonly #bytes: number[] = [];

  /** How many there are. */
  get length(): number {
    return this.#bytes.length;
  }

  /** Single bytes. */
  raw(...bytes: readonly number[]): this {
    return this.add(bytes);
  }

  /** Those of a list. */
  add(bytes: Iterable<number>): this {
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  /** A number of 16 bits. */
  u16(value: number): this {
    return this.raw(value & 0xff, value >> 8 & 0xff);
  }

  /** A number of 32 bits, with a sign or without. */
  u32(value: number): this {
    return this.u16(value & 0xffff).u16(value >>> 16);
  }

  /** A number of 64 bits. */
  u64(value: bigint): this {
    return this.u32(Number(value & 0xffff_ffffn)).u32(Number(value >> 32n & 0xffff_ffffn));
  }

  /** An unsigned number as DWARF's LEB128: seven bits a byte, the lowest first. */
  uleb(value: number): this {
    for (; value > 0x7f; value >>>= 7) this.raw(value & 0x7f | 0x80);
    return this.raw(value);
  }

  /** Fills up to a multiple of `alignment`. */
  align(alignment: number, filling = 0): this {
    while (this.length % alignment !== 0) this.raw(filling);
    return this;
  }

  /** All of them. */
  done(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#bytes);
  }
}
