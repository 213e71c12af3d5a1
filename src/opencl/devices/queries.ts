import type { ClDeviceId } from "../../../ffi/opencl/handles.ts";
import { infoBytes, infoString, infoU32, infoU64, infoU64s, type Query } from "../info.ts";
import { opencl } from "../library.ts";

export interface QueriedDevice {
  readonly handle: ClDeviceId;
  readonly query: Query;
  readonly extensions: readonly string[];
}

export type Ask<T> = (device: QueriedDevice) => T;

export type Queries<T> = { readonly [Field in keyof T]: Ask<T[Field]> };

const FN = "clGetDeviceInfo";

export function deviceQuery(device: ClDeviceId): Query {
  return (name, size, value, written) => opencl().clGetDeviceInfo(device, name, size, value, written);
}

/** Queries every field of a table. The result is frozen, because checks rely on it. */
export function queryAll<T extends object>(queries: Queries<T>, device: QueriedDevice): T {
  const asks = Object.entries(queries) as [string, Ask<unknown>][];
  return Object.freeze(Object.fromEntries(asks.map(([field, ask]) => [field, Object.freeze(ask(device))])) as T);
}

/** The same with a default, for queries that a driver may refuse. */
export function optional<T>(ask: Ask<T>, otherwise: T): Ask<T> {
  return (device) => {
    try {
      return ask(device);
    } catch {
      return otherwise;
    }
  };
}

/** A query that is made only if the device lists an extension. */
export function listed<T>(extension: string, ask: Ask<T>, otherwise: T): Ask<T> {
  return (device) => device.extensions.includes(extension) ? optional(ask, otherwise)(device) : otherwise;
}

export function text(name: number): Ask<string> {
  return ({ query }) => infoString(FN, query, name);
}

export function count(name: number): Ask<number> {
  return ({ query }) => infoU32(FN, query, name);
}

export function flag(name: number): Ask<boolean> {
  return ({ query }) => infoU32(FN, query, name) !== 0;
}

export function size(name: number): Ask<number> {
  return ({ query }) => Number(infoU64(FN, query, name));
}

/** Bits, or a handle. */
export function word(name: number): Ask<bigint> {
  return ({ query }) => infoU64(FN, query, name);
}

/** A `size_t[]`, or an array of properties of that size. */
export function words(name: number): Ask<bigint[]> {
  return ({ query }) => infoU64s(FN, query, name);
}

export function counts(name: number): Ask<number[]> {
  return ({ query }) => [...new Uint32Array(infoBytes(FN, query, name).buffer)];
}

export function bytes(name: number): Ask<DataView<ArrayBuffer>> {
  return ({ query }) => infoBytes(FN, query, name);
}

export function from<A, T>(ask: Ask<A>, make: (value: A) => T): Ask<T> {
  return (device) => make(ask(device));
}
