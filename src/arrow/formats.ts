import * as arrow from "../../ffi/arrow/constants.ts";
import { ArrayDevices } from "../core/device/arrays.ts";
import { Checks } from "../core/checks.ts";
import type { DType } from "../core/layout/dtype.ts";

export const checks: Checks = new Checks("arrow");

/** Arrow's format strings of elements. */
export const FORMATS: Readonly<Record<DType, string>> = {
  ...{ u8: "C", i8: "c", u16: "S", i16: "s", f16: "e", u32: "I" },
  ...{ i32: "i", f32: "f", u64: "L", i64: "l", f64: "g" },
};

/** Formats whose elements no tensor has, by their first letters: what the elements are, for messages. */
export const OTHERS: Readonly<Record<string, string>> = {
  ...{ n: "nulls", b: "booleans, which are single bits", d: "decimals", w: "binaries of a fixed size" },
  ...{ u: "texts", U: "texts", vu: "texts", z: "binaries", Z: "binaries", vz: "binaries" },
  ...{ td: "dates", tt: "times", ts: "timestamps", tD: "durations", ti: "intervals" },
  ...{ "+l": "lists of varying length", "+L": "lists of varying length", "+vl": "lists of varying length" },
  ...{ "+vL": "lists of varying length", "+m": "maps", "+u": "a union", "+r": "runs", "+s": "structs within structs" },
};

export const devices: ArrayDevices = new ArrayDevices(checks, [
  { type: arrow.ARROW_DEVICE_CPU, name: "ARROW_DEVICE_CPU", apis: ["host"], memory: "host" },
  { type: arrow.ARROW_DEVICE_CUDA, name: "ARROW_DEVICE_CUDA", apis: ["cuda"], memory: "device" },
  { type: arrow.ARROW_DEVICE_CUDA_HOST, name: "ARROW_DEVICE_CUDA_HOST", apis: ["cuda"], memory: "host" },
  { type: arrow.ARROW_DEVICE_CUDA_MANAGED, name: "ARROW_DEVICE_CUDA_MANAGED", apis: ["cuda"], memory: "managed" },
]);

/** Arrow's device number of the CPU, which has no number. */
export const NO_NUMBER = -1n;

/** The keys of an extension type in a schema's metadata, and the extension type of tensors. */
export const [EXTENSION, ABOUT, TENSOR] = [
  "ARROW:extension:name",
  "ARROW:extension:metadata",
  "arrow.fixed_shape_tensor",
] as const;
