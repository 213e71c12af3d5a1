import { ARROW_DEVICE_CPU, ARROW_DEVICE_CUDA, ARROW_DEVICE_CUDA_HOST } from "../../ffi/arrow/constants.ts";
import { ARROW_DEVICE_CUDA_MANAGED } from "../../ffi/arrow/constants.ts";
import { Checks } from "../core/checks.ts";
import type { DType } from "../core/layout/dtype.ts";

export const checks: Checks = new Checks("arrow");

/** Arrow's format strings of elements. */
export const FORMATS: Readonly<Record<DType, string>> = {
  ...{ u8: "C", i8: "c", u16: "S", i16: "s", f16: "e", u32: "I" },
  ...{ i32: "i", f32: "f", u64: "L", i64: "l", f64: "g" },
};

/** What the bytes are in other formats, by how those begin: no tensor has such elements. */
export const OTHERS: Readonly<Record<string, string>> = {
  ...{ n: "nulls", b: "booleans, which are single bits", d: "decimals", w: "binaries of a fixed size" },
  ...{ u: "texts", U: "texts", vu: "texts", z: "binaries", Z: "binaries", vz: "binaries" },
  ...{ td: "dates", tt: "times", ts: "timestamps", tD: "durations", ti: "intervals" },
  ...{ "+l": "lists of varying length", "+L": "lists of varying length", "+vl": "lists of varying length" },
  ...{ "+vL": "lists of varying length", "+m": "maps", "+u": "a union", "+r": "runs", "+s": "structs within structs" },
};

/** The device types that memory here has, by its kind. */
export const DEVICES: Readonly<Record<string, number>> = {
  host: ARROW_DEVICE_CPU,
  cuda: ARROW_DEVICE_CUDA,
  "cuda.virtual": ARROW_DEVICE_CUDA,
  "cuda.pinned": ARROW_DEVICE_CUDA_HOST,
  "cuda.managed": ARROW_DEVICE_CUDA_MANAGED,
};

/** The API in which memory of a device type is attached. */
export const APIS: ReadonlyMap<number, string> = new Map([
  [ARROW_DEVICE_CPU, "host"],
  [ARROW_DEVICE_CUDA, "cuda"],
  [ARROW_DEVICE_CUDA_HOST, "cuda"],
  [ARROW_DEVICE_CUDA_MANAGED, "cuda"],
]);

/** The keys of an extension type in a schema's metadata, and the one that is a tensor's. */
export const [EXTENSION, ABOUT, TENSOR] = [
  "ARROW:extension:name",
  "ARROW:extension:metadata",
  "arrow.fixed_shape_tensor",
] as const;

/** A CUDA context's number of its device. */
export function ordinalOf(context: object): bigint {
  return BigInt((context as { readonly device: { readonly ordinal: number } }).device.ordinal);
}
