import { type Address, NULL } from "../../ffi/address.ts";
import type { StructLayout } from "../../ffi/layout.ts";
import { callbackAddress } from "../core/native/callbacks.ts";
import { libc, libcError } from "../core/native/libc.ts";
import { viewAt } from "../core/native/pin.ts";
import { cString } from "../core/native/text.ts";
import type { Undo } from "../core/life/undo.ts";
import { RECORD } from "./release_code.ts";

/** A word of a struct: a bigint is the value; a number is an offset in the block, and becomes an address. */
export type Word = bigint | number;

/** A block of C's heap with structs that point to each other, written before its address is known. The last struct frees it. */
export class Draft {
  #view = new DataView(new ArrayBuffer(512));
  #length = 0;
  readonly #pointers: number[] = [];

  /** @param left the number of structs to release @param notice called once they all are */
  constructor(left: number, notice?: { readonly callback: Address; readonly data: Address }) {
    const { callback: post = NULL, data: semaphore = NULL } = notice ?? {};
    this.struct(RECORD, { left: BigInt(left), post, semaphore, free: callbackAddress("free") });
  }

  struct(layout: StructLayout, values: Readonly<Record<string, Word>>): number {
    const at = this.#room(layout.size);
    for (const [name, value] of Object.entries(values)) this.#put(at + layout.fields[name].offset, value);
    return at;
  }

  words(words: readonly Word[]): number {
    const at = this.#room(8 * words.length);
    for (const [i, word] of words.entries()) this.#put(at + 8 * i, word);
    return at;
  }

  bytes(bytes: Uint8Array): number {
    const at = this.#room(bytes.length);
    new Uint8Array(this.#view.buffer).set(bytes, at);
    return at;
  }

  text(text: string): number {
    return this.bytes(cString(text));
  }

  /** Writes the block, and returns a copy of its bytes. `undo` frees the block, for as long as its structs have no owner. */
  done(undo: Undo): Uint8Array<ArrayBuffer> {
    const block = libc().calloc(1n, BigInt(this.#length));
    if (block === NULL) throw libcError("calloc");
    undo.push(() => libc().free(block));
    for (const at of this.#pointers) this.#view.setBigUint64(at, this.#view.getBigUint64(at, true) + block, true);
    const bytes = new Uint8Array(this.#view.buffer, 0, this.#length);
    const there = viewAt(block, this.#length, "arrow").buffer;
    new Uint8Array(there).set(bytes);
    there.transfer(0); // the view would outlive the block
    return bytes;
  }

  #put(at: number, word: Word): void {
    this.#view.setBigUint64(at, BigInt(word), true);
    if (typeof word === "number") this.#pointers.push(at);
  }

  #room(byteLength: number): number {
    const at = this.#length;
    this.#length += 8 * Math.ceil(byteLength / 8);
    const { buffer } = this.#view;
    if (this.#length > buffer.byteLength) this.#view = new DataView(buffer.transfer(2 * this.#length));
    return at;
  }
}
