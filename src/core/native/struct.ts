import type { Address } from "../../../ffi/address.ts";
import type { FieldLayout, StructLayout } from "../../../ffi/layout.ts";
import { addressOf } from "./pin.ts";

/** A value that lies in JavaScript's memory: its address goes into the field, and the struct keeps it alive. */
export type Pointed = Struct | ArrayBufferView<ArrayBuffer>;

/** What a field takes. Words of 64 bits are numbers, handles or pointers. */
type Value<F extends FieldLayout> = F["type"] extends "u64" | "i64" | "usize" | "isize"
  ? bigint | number | Pointed | undefined
  : number;

/** The values of a struct, by name, but for the field that says its type. */
export type Values<L extends StructLayout, Tag extends string> = {
  readonly [F in Exclude<keyof L["fields"], Tag>]?: Value<L["fields"][F]>;
};

/** The names of the structs that a generated module has. */
export type StructNameIn<Layouts> = {
  [N in keyof Layouts]: Layouts[N] extends StructLayout ? N : never;
}[keyof Layouts];

/** A C struct, or several in a row, in JavaScript's memory. It is passed to native calls as it is. */
export class Struct extends DataView<ArrayBuffer> {
  readonly count: number;
  #address: Address | undefined;
  readonly #api: string;
  readonly #kept: Pointed[] = [];

  constructor(api: string, size: number, count = 1) {
    super(new ArrayBuffer(size * count));
    this.count = count;
    this.#api = api;
  }

  /** Where it lies. Most structs are passed as they are: finding the address takes longer than all else here. */
  get address(): Address {
    return this.#address ??= addressOf(this, this.#api);
  }

  put({ offset, type }: FieldLayout, value: bigint | number | Pointed, start = 0): void {
    const at = start + offset;
    if (typeof value === "object") {
      this.#kept.push(value);
      this.setBigUint64(at, value instanceof Struct ? value.address : addressOf(value, this.#api), true);
    } else if (type === "u8") this.setUint8(at, Number(value));
    else if (type === "i32") this.setInt32(at, Number(value), true);
    else if (type === "u32") this.setUint32(at, Number(value), true);
    else if (type === "f32") this.setFloat32(at, Number(value), true);
    else this.setBigUint64(at, BigInt(value), true);
  }

  number({ offset }: FieldLayout, start = 0): number {
    return this.getUint32(start + offset, true);
  }

  word({ offset }: FieldLayout, start = 0): bigint {
    return this.getBigUint64(start + offset, true);
  }

  text({ offset }: FieldLayout, start = 0): string {
    const bytes = new Uint8Array(this.buffer, start + offset);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }
}

/** Structs of one layout, with these values. `tag` is the field that says the type of each, and its value. */
export function filled(
  api: string,
  { size, fields }: StructLayout,
  list: readonly object[],
  tag: readonly [name: string, value: number],
): Struct {
  const made = new Struct(api, size, list.length);
  list.forEach((values, i) => {
    if (fields[tag[0]] !== undefined) made.put(fields[tag[0]], tag[1], i * size);
    for (const [field, value] of Object.entries(values)) {
      if (value !== undefined) made.put(fields[field], value as bigint | number | Pointed, i * size);
    }
  });
  return made;
}
