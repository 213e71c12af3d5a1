import { type Address, NULL } from "../../ffi/address.ts";
import * as g from "../../ffi/gobject/constants.ts";
import { GValue } from "../../ffi/gobject/structs.ts";
import { viewAt } from "../core/native/pin.ts";
import { cString, textAt } from "../core/native/text.ts";
import { glib, gobject, gst, made } from "./library.ts";

type Value = DataView<ArrayBuffer>;

/** The type of a GVariant that is bytes. */
const BYTES = "ay";

/** How plain data is read; a value that is not plain data is undefined. */
const READERS: ReadonlyMap<bigint, (value: Value) => unknown> = new Map<bigint, (value: Value) => unknown>([
  [g.G_TYPE_BOOLEAN, (value) => gobject().g_value_get_boolean(value) !== 0],
  [g.G_TYPE_INT, (value) => gobject().g_value_get_int(value)],
  [g.G_TYPE_UINT, (value) => gobject().g_value_get_uint(value)],
  [g.G_TYPE_INT64, (value) => gobject().g_value_get_int64(value)],
  [g.G_TYPE_UINT64, (value) => signed(gobject().g_value_get_uint64(value))],
  [g.G_TYPE_FLOAT, (value) => finite(gobject().g_value_get_float(value))],
  [g.G_TYPE_DOUBLE, (value) => finite(gobject().g_value_get_double(value))],
  [g.G_TYPE_STRING, (value) => textAt(gobject().g_value_get_string(value))],
  [g.G_TYPE_VARIANT, (value) => bytesOf(gobject().g_value_get_variant(value))],
]);

/** The fields of a GstStructure that are plain data, or lists of it. */
export function fieldsOf(structure: Address): [name: string, value: unknown][] {
  const { gst_structure_n_fields, gst_structure_nth_field_name, gst_structure_get_value } = gst();
  const fields: [string, unknown][] = [];
  for (let i = 0; i < gst_structure_n_fields(structure); i++) {
    const name = textAt(gst_structure_nth_field_name(structure, i))!;
    const value = valueAt(gst_structure_get_value(structure, cString(name)));
    if (value !== undefined) fields.push([name, value]);
  }
  return fields;
}

/** A field of a GstStructure; undefined if it has none of that name that is plain data. */
export function fieldOf(structure: Address, name: string): unknown {
  const value = gst().gst_structure_get_value(structure, cString(name));
  return value === NULL ? undefined : valueAt(value);
}

/** A new GstStructure. Numbers are doubles where `isReal` says so, or they are not whole. */
export function newStructure(
  name: string,
  fields: Iterable<readonly [name: string, value: unknown]>,
  isReal: (name: string) => boolean,
): Address {
  const structure = made(gst().gst_structure_new_empty(cString(name)), "gst_structure_new_empty");
  setFields(structure, fields, isReal);
  return structure;
}

/** Sets fields of a GstStructure. */
export function setFields(
  structure: Address,
  fields: Iterable<readonly [name: string, value: unknown]>,
  isReal: (name: string) => boolean,
): void {
  for (const [name, value] of fields) {
    const type = typeOf(value, isReal(name));
    withValue(type, value, (made) => gst().gst_structure_set_value(structure, cString(name), made));
  }
}

function valueAt(address: Address): unknown {
  const value = viewAt(address, GValue.size, "gstreamer");
  const type = value.getBigUint64(GValue.fields.g_type.offset, true);
  if (type !== gst().gst_value_array_get_type()) return READERS.get(type)?.(value);
  const { gst_value_array_get_size, gst_value_array_get_value } = gst();
  const list = Array.from({ length: gst_value_array_get_size(value) }, (_, i) => {
    return valueAt(gst_value_array_get_value(value, i));
  });
  return list.includes(undefined) ? undefined : list;
}

/** Metadata has bigints of 64 bits with a sign. */
function signed(number: bigint): bigint | undefined {
  return BigInt.asIntN(64, number) === number ? number : undefined;
}

function finite(number: number): number | undefined {
  return Number.isFinite(number) ? number : undefined;
}

function bytesOf(variant: Address): Uint8Array | undefined {
  if (variant === NULL || textAt(glib().g_variant_get_type_string(variant)) !== BYTES) return undefined;
  const byteLength = Number(glib().g_variant_get_size(variant));
  if (byteLength === 0) return new Uint8Array();
  return new Uint8Array(viewAt(glib().g_variant_get_data(variant), byteLength, "gstreamer").buffer).slice();
}

/** The type of a value by itself; numbers in a list have the types that DL Streamer gives them. */
function typeOf(value: unknown, isReal: boolean): bigint {
  if (typeof value === "boolean") return g.G_TYPE_BOOLEAN;
  if (typeof value === "bigint") return g.G_TYPE_INT64;
  if (typeof value === "string") return g.G_TYPE_STRING;
  if (value instanceof Uint8Array) return g.G_TYPE_VARIANT;
  if (Array.isArray(value)) return gst().gst_value_array_get_type();
  return !isReal && ((value as number) | 0) === value ? g.G_TYPE_INT : g.G_TYPE_DOUBLE;
}

function typeInList(list: readonly unknown[]): bigint {
  if (list.some((one) => typeof one !== "number")) return typeOf(list[0], false);
  return list.every((one) => (one as number) >>> 0 === one) ? g.G_TYPE_UINT : g.G_TYPE_FLOAT;
}

/** A GValue, for as long as `use` takes. */
function withValue(type: bigint, given: unknown, use: (value: Value) => void): void {
  const value = new DataView(new ArrayBuffer(GValue.size));
  made(gobject().g_value_init(value, type), "g_value_init");
  try {
    if (Array.isArray(given)) {
      const inside = typeInList(given);
      for (const one of given) {
        withValue(inside, one, (item) => gst().gst_value_array_append_value(value, item));
      }
    } else WRITERS.get(type)!(value, given as never);
    use(value);
  } finally {
    gobject().g_value_unset(value);
  }
}

const WRITERS: ReadonlyMap<bigint, (value: Value, given: never) => void> = new Map<
  bigint,
  (value: Value, given: never) => void
>([
  [g.G_TYPE_BOOLEAN, (value, given: boolean) => gobject().g_value_set_boolean(value, Number(given))],
  [g.G_TYPE_INT, (value, given: number) => gobject().g_value_set_int(value, given)],
  [g.G_TYPE_UINT, (value, given: number) => gobject().g_value_set_uint(value, given)],
  [g.G_TYPE_INT64, (value, given: bigint) => gobject().g_value_set_int64(value, given)],
  [g.G_TYPE_FLOAT, (value, given: number) => gobject().g_value_set_float(value, given)],
  [g.G_TYPE_DOUBLE, (value, given: number) => gobject().g_value_set_double(value, given)],
  [g.G_TYPE_STRING, (value, given: string) => gobject().g_value_set_string(value, cString(given))],
  [g.G_TYPE_VARIANT, (value, given: Uint8Array<ArrayBuffer>) => {
    const length = BigInt(given.length);
    gobject().g_value_set_variant(value, glib().g_variant_new_fixed_array(cString("y"), given, length, 1n));
  }],
]);
