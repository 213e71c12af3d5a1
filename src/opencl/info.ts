import { check } from "./errors.ts";

export type Query = (name: number, size: bigint, value: BufferSource | null, written: BufferSource | null) => number;

const written = new BigUint64Array(1);
const scalar = new BigUint64Array(1);

export function infoBytes(fn: string, query: Query, name: number): DataView<ArrayBuffer> {
  check(query(name, 0n, null, written), fn);
  const value = new Uint8Array(Number(written[0]));
  if (value.length > 0) check(query(name, BigInt(value.length), value, null), fn);
  return new DataView(value.buffer);
}

/** A `char[]` without its closing zero. */
export function infoString(fn: string, query: Query, name: number): string {
  return new TextDecoder().decode(infoBytes(fn, query, name)).replace(/\0[\s\S]*$/, "").trim();
}

/** A `cl_uint`, `cl_bool` or enumeration. */
export function infoU32(fn: string, query: Query, name: number): number {
  return Number(BigInt.asUintN(32, infoU64(fn, query, name)));
}

/** A `cl_ulong`, `size_t`, bitfield or handle. */
export function infoU64(fn: string, query: Query, name: number): bigint {
  // Room for the largest: a driver may write fewer bytes than the headers say.
  scalar[0] = 0n;
  check(query(name, 8n, scalar, null), fn);
  return scalar[0];
}

/** A `size_t[]` or an array of handles. */
export function infoU64s(fn: string, query: Query, name: number): bigint[] {
  return [...new BigUint64Array(infoBytes(fn, query, name).buffer)];
}
