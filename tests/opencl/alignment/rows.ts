/**
 * One attempt of the sweep over addresses, and what the attempts share.
 *
 * @module
 */
import { assert } from "@std/assert";
import { host, type HostTensor, layout, type LayoutInit } from "@samepage/interop";
import { assertBytes, random } from "../help.ts";

/** One map of one kind of memory, at one address. */
export interface Row {
  /** The format and the address, in words. */
  readonly name: string;
  /** Tries it; throws where something is wrong. */
  run(): void;
}

/** The rows of a kind of map on a platform; what they share goes on the stack. */
export type Kind = (platform: string, stack: DisposableStack) => Iterable<Row>;

/** Where the first byte lies, counted from the beginning of a page. 64 is there for what wants a multiple of 128. */
export const ADDRESSES: readonly number[] = Array.from({ length: 65 }, (_, i) => i);

/** A page of random bytes and more; parts of it begin at any address. */
export class Room {
  /** All of it, as bytes. */
  readonly tensor: HostTensor<"u8">;
  readonly #bytes: Uint8Array<ArrayBuffer>;

  /** Over host memory that begins at a page. */
  constructor(tensor: HostTensor<"u8">) {
    assert(tensor.address % 4096n === 0n);
    this.tensor = tensor;
    this.#bytes = random(tensor.layout.byteLength);
    this.tensor.view().set(this.#bytes);
  }

  /** A new one. */
  static of(byteLength: number, stack: DisposableStack): Room {
    return new Room(stack.use(host.allocate({ shape: [byteLength], dtype: "u8" })));
  }

  /** All bytes are what they were at first. */
  restore(): void {
    this.tensor.view().set(this.#bytes);
  }

  /** What a range held at first. */
  before(begin: number, byteLength: number): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(begin, begin + byteLength);
  }

  /** Fails unless some bytes are as expected, and all others what they were at first. */
  assertHolds(begin: number, expected: Uint8Array): void {
    const wanted = this.#bytes.slice();
    wanted.set(expected, begin);
    assertBytes(this.tensor.view(), wanted, `a room with ${expected.length} new bytes at ${begin}`);
  }

  /** A part of it, with numbers and strides of its own. */
  part(init: LayoutInit): HostTensor {
    return this.tensor.slice(layout(init));
  }
}
