import type { Address } from "../../ffi/address.ts";
import type { FieldLayout, StructLayout } from "../../ffi/layout.ts";
import * as constants from "../../ffi/vulkan/constants.ts";
import * as layouts from "../../ffi/vulkan/structs.ts";
import { addressOf } from "../core/native/pin.ts";

type Layouts = typeof layouts;

export type StructName = { [N in keyof Layouts]: Layouts[N] extends StructLayout ? N : never }[keyof Layouts];

/** A value that lies in JavaScript's memory: its address goes into the field, and the struct keeps it alive. */
type Pointed = Struct | ArrayBufferView<ArrayBuffer>;

/** What a field takes. Words of 64 bits are numbers, handles or pointers. */
type Value<F extends FieldLayout> = F["type"] extends "u64" | "i64" | "usize" | "isize"
  ? bigint | number | Pointed | undefined
  : number;

export type Values<L extends StructLayout> = {
  readonly [F in Exclude<keyof L["fields"], "sType">]?: Value<L["fields"][F]>;
};

/** A C struct, or several in a row, in JavaScript's memory. It is passed to native calls as it is. */
export class Struct extends DataView<ArrayBuffer> {
  readonly count: number;
  readonly address: Address;
  readonly #kept: Pointed[] = [];

  constructor(size: number, count = 1) {
    super(new ArrayBuffer(size * count));
    this.count = count;
    this.address = addressOf(this, "vulkan");
  }

  put({ offset, type }: FieldLayout, value: bigint | number | Pointed, start = 0): void {
    const at = start + offset;
    if (typeof value === "object") {
      this.#kept.push(value);
      this.setBigUint64(at, value instanceof Struct ? value.address : addressOf(value, "vulkan"), true);
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

export function struct<N extends StructName>(name: N, values: Values<Layouts[N]> = {}): Struct {
  return structs(name, [values]);
}

export function structs<N extends StructName>(name: N, list: readonly Values<Layouts[N]>[]): Struct {
  const { size, fields }: StructLayout = layouts[name];
  const made = new Struct(size, list.length);
  list.forEach((values, i) => {
    if (fields.sType !== undefined) made.put(fields.sType, structType(name), i * size);
    for (const [field, value] of Object.entries(values)) {
      if (value !== undefined) made.put(fields[field], value as bigint | number | Pointed, i * size);
    }
  });
  return made;
}

/** The constant of a struct that a chain can link: `VkMemoryFdPropertiesKHR` has VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR. */
export function structType(name: string): number {
  const words = name.slice(2).replace(/(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Z\d])/g, "_");
  const known: Readonly<Record<string, unknown>> = constants;
  return known[`VK_STRUCTURE_TYPE_${words.toUpperCase().replace("WIN_3_2", "WIN32")}`] as number;
}

export function room(name: StructName, count: number): Struct {
  return new Struct(layouts[name].size, count);
}

const POINTER: FieldLayout = { offset: 0, type: "u64" };

export function pointers(list: readonly Pointed[]): Struct {
  const made = new Struct(8, list.length);
  list.forEach((one, i) => made.put(POINTER, one, 8 * i));
  return made;
}

const NEXT: FieldLayout = { offset: 8, type: "u64" };

/** Links structs by their `pNext`, in this order; returns the first, which keeps the rest alive. */
export function chain(first: Struct, ...rest: readonly Struct[]): Struct {
  rest.reduce((before, next) => (before.put(NEXT, next), next), first);
  return first;
}
