import { type Address, NULL } from "../../../ffi/address.ts";
import type { StructLayout } from "../../../ffi/layout.ts";
import { libc } from "./libc.ts";
import { viewAt } from "./pin.ts";

/** A struct's fields, each read and written where it lies, and the memory in which they are. */
export type InMemory<T> = T & { readonly address: Address; readonly view: DataView<ArrayBuffer> };

class Lying {
  readonly address: Address;
  readonly view: DataView<ArrayBuffer>;

  constructor(address: Address, view: DataView<ArrayBuffer>) {
    this.address = address;
    this.view = view;
  }
}

function wordAt(at: number): PropertyDescriptor & ThisType<Lying> {
  return {
    get() {
      return this.view.getBigUint64(at, true);
    },
    set(value: bigint) {
      this.view.setBigUint64(at, value, true);
    },
  };
}

/** How fields are read and written. V8 compiles one function for each type, so each has its own. */
const ACCESSORS: Readonly<Record<string, (at: number) => PropertyDescriptor & ThisType<Lying>>> = {
  i32: (at) => ({
    get() {
      return this.view.getInt32(at, true);
    },
    set(value: number) {
      this.view.setInt32(at, value, true);
    },
  }),
  u32: (at) => ({
    get() {
      return this.view.getUint32(at, true);
    },
    set(value: number) {
      this.view.setUint32(at, value, true);
    },
  }),
  i64: (at) => ({
    get() {
      return this.view.getBigInt64(at, true);
    },
    set(value: bigint) {
      this.view.setBigInt64(at, value, true);
    },
  }),
  u64: wordAt,
  usize: wordAt,
};

const WORD = 8;

/**
 * Structs of a library's, looked at where they lie: their layout is that of the version that is open. Their fields are
 * integers of 32 and 64 bits, and pointers.
 */
export class StructType<T extends object> {
  /** Up to the end of the last field: a minor version may have appended others since. */
  readonly byteLength: number;
  readonly #api: string;
  readonly #Laid: new (address: Address, view: DataView<ArrayBuffer>) => InMemory<T>;
  readonly #copy: InMemory<T>;
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor({ fields }: StructLayout, api: string) {
    class Laid extends Lying {}
    for (const [name, { offset, type }] of Object.entries(fields)) {
      Object.defineProperty(Laid.prototype, name, ACCESSORS[type](offset));
    }
    this.#api = api;
    this.#Laid = Laid as unknown as new (address: Address, view: DataView<ArrayBuffer>) => InMemory<T>;
    this.byteLength = Math.max(...Object.values(fields).map(({ offset }) => offset + WORD));
    this.#bytes = new Uint8Array(this.byteLength);
    this.#copy = new this.#Laid(NULL, new DataView(this.#bytes.buffer));
  }

  /** The fields of the struct at an address, valid for as long as its owner says. */
  at(address: Address): InMemory<T> {
    return new this.#Laid(address, viewAt(address, this.byteLength, this.#api));
  }

  /** What stands there now, which costs less than a view. It is valid until the next call. */
  copyOf(address: Address): InMemory<T> {
    libc().memcpy(this.#bytes, address, BigInt(this.byteLength));
    return this.#copy;
  }
}
