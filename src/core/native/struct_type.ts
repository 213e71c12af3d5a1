import { type Address, NULL } from "../../../ffi/address.ts";
import type { FieldLayout, StructLayout, ValuesOf } from "../../../ffi/layout.ts";
import { libc } from "./libc.ts";
import { viewAt } from "./pin.ts";

/** A struct's fields, each read and written where it lies, and the memory in which they are. */
export type InMemory<L extends StructLayout> = ValuesOf<L> & {
  readonly address: Address;
  readonly view: DataView<ArrayBuffer>;
};

class Lying {
  readonly address: Address;
  readonly view: DataView<ArrayBuffer>;

  constructor(address: Address, view: DataView<ArrayBuffer>) {
    this.address = address;
    this.view = view;
  }
}

type Accessor = (at: number) => PropertyDescriptor & ThisType<Lying>;

const WORD: Accessor = (at) => ({
  get() {
    return this.view.getBigUint64(at, true);
  },
  set(value: bigint) {
    this.view.setBigUint64(at, value, true);
  },
});

/** The bytes of a field, and how it is read and written. V8 compiles one function for each type, so each has its own. */
const FIELDS: Readonly<Partial<Record<FieldLayout["type"], readonly [byteLength: number, accessor: Accessor]>>> = {
  u8: [1, (at) => ({
    get() {
      return this.view.getUint8(at);
    },
    set(value: number) {
      this.view.setUint8(at, value);
    },
  })],
  i32: [4, (at) => ({
    get() {
      return this.view.getInt32(at, true);
    },
    set(value: number) {
      this.view.setInt32(at, value, true);
    },
  })],
  u32: [4, (at) => ({
    get() {
      return this.view.getUint32(at, true);
    },
    set(value: number) {
      this.view.setUint32(at, value, true);
    },
  })],
  i64: [8, (at) => ({
    get() {
      return this.view.getBigInt64(at, true);
    },
    set(value: bigint) {
      this.view.setBigInt64(at, value, true);
    },
  })],
  u64: [8, WORD],
  usize: [8, WORD],
  pointer: [8, WORD],
};

/**
 * Structs of a library's, looked at where they lie: their layout is that of the version that is open. Their fields are
 * bytes, integers of 32 and 64 bits, and pointers.
 */
export class StructType<L extends StructLayout> {
  /** Up to the end of the last field: a minor version may have appended others since. */
  readonly byteLength: number;
  /** The same, as native calls take it. */
  readonly #length: bigint;
  readonly #size: number;
  readonly #api: string;
  readonly #Laid: new (address: Address, view: DataView<ArrayBuffer>) => InMemory<L>;
  readonly #copy: InMemory<L>;
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor({ fields, size }: StructLayout, api: string) {
    class Laid extends Lying {}
    const ends = Object.entries(fields).map(([name, { offset, type }]) => {
      const [byteLength, accessor] = FIELDS[type]!;
      Object.defineProperty(Laid.prototype, name, accessor(offset));
      return offset + byteLength;
    });
    this.#api = api;
    this.#Laid = Laid as unknown as new (address: Address, view: DataView<ArrayBuffer>) => InMemory<L>;
    this.byteLength = Math.max(...ends);
    this.#length = BigInt(this.byteLength);
    this.#size = size;
    this.#bytes = new Uint8Array(this.byteLength);
    this.#copy = new this.#Laid(NULL, new DataView(this.#bytes.buffer));
  }

  /** The fields of the struct at an address, valid for as long as its owner says. */
  at(address: Address): InMemory<L> {
    return new this.#Laid(address, viewAt(address, this.byteLength, this.#api));
  }

  /** Those of a struct in JavaScript's memory, or of one that lies within another. */
  in(view: DataView<ArrayBuffer>): InMemory<L> {
    return new this.#Laid(NULL, view);
  }

  /** A new one in JavaScript's memory, for calls that fill it in. */
  blank(): InMemory<L> {
    return this.in(new DataView(new ArrayBuffer(this.#size)));
  }

  /** What stands there now, which costs less than a view. It is valid until the next call. */
  copyOf(address: Address): InMemory<L> {
    libc().memcpy(this.#bytes, address, this.#length);
    return this.#copy;
  }
}

type Layouts<M> = { readonly [N in keyof M]: StructLayout | undefined };

/** The structs of a library by their names, as the version that is open lays them out. */
export class StructTypes<M extends Layouts<M>> {
  readonly #layouts: () => M;
  readonly #api: string;
  readonly #types = new Map<keyof M, StructType<StructLayout>>();

  /** @param layouts called once a struct is read for the first time */
  constructor(layouts: () => M, api: string) {
    [this.#layouts, this.#api] = [layouts, api];
  }

  /** How a struct is read and written, which this version has. */
  type<N extends keyof M>(name: N): StructType<NonNullable<M[N]>> {
    let type = this.#types.get(name);
    if (type === undefined) this.#types.set(name, type = new StructType(this.#layouts()[name]!, this.#api));
    return type as StructType<NonNullable<M[N]>>;
  }

  /** The fields of one, valid for as long as its owner says. */
  at<N extends keyof M>(name: N, address: Address): InMemory<NonNullable<M[N]>> {
    return this.type(name).at(address);
  }

  /** Those of a list of structs that lies in another one, from a field on. */
  within<N extends keyof M, W extends keyof M>(
    name: N,
    count: number,
    [outer, address, field]: readonly [outer: W, address: Address, field: keyof NonNullable<M[W]>["fields"] & string],
  ): InMemory<NonNullable<M[N]>>[] {
    const layouts = this.#layouts();
    const { fields } = layouts[outer] as StructLayout;
    const first = address + BigInt(fields[field].offset);
    return Array.from({ length: count }, (_, i) => {
      return this.at(name, first + BigInt(i * layouts[name]!.size) as Address);
    });
  }

  /** Changes some fields of one. */
  change<N extends keyof M>(name: N, address: Address, changes: Partial<ValuesOf<NonNullable<M[N]>>>): void {
    Object.assign(this.at(name, address), changes);
  }
}
