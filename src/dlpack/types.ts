import * as dl from "../../ffi/dlpack/constants.ts";
import { literal } from "../core/argument.ts";
import type { DType } from "../core/layout/dtype.ts";
import { ArrayDevices } from "../core/device/arrays.ts";
import { Checks } from "../core/checks.ts";
import { AccessError } from "../core/errors.ts";
import { type Access, accessOf, writes } from "../core/memory/access.ts";

export const checks: Checks = new Checks("dlpack");

export const MAX_DIMENSIONS = 32;

export function assertVersion(version: unknown): asserts version is 0 | 1 {
  if (version !== 0 && version !== 1) throw checks.wrong("version", `expected 0 or 1, got ${literal(version)}.`);
}

/** The access to a producer's memory. @throws {AccessError} for write access to read-only memory. */
export function accessTo(asked: Access | undefined, isReadOnly: boolean, api: string = "dlpack"): Access {
  const access = accessOf(asked, isReadOnly ? "read" : "read-write");
  if (!isReadOnly || !writes(access)) return access;
  throw new AccessError("access: the producer of the memory allows reading only.", {
    ...{ api, argument: "access" },
    hint: 'Leave it out, or pass "read".',
  });
}

/** An element type of DLPack: its code, and the bits of one lane. */
export interface DataType {
  readonly code: number;
  readonly bits: number;
}

/** samepage's dtypes as DLPack names them. */
export const DATA_TYPES: { readonly [D in DType]: DataType } = {
  u8: { code: dl.kDLUInt, bits: 8 },
  i8: { code: dl.kDLInt, bits: 8 },
  u16: { code: dl.kDLUInt, bits: 16 },
  i16: { code: dl.kDLInt, bits: 16 },
  f16: { code: dl.kDLFloat, bits: 16 },
  u32: { code: dl.kDLUInt, bits: 32 },
  i32: { code: dl.kDLInt, bits: 32 },
  f32: { code: dl.kDLFloat, bits: 32 },
  u64: { code: dl.kDLUInt, bits: 64 },
  i64: { code: dl.kDLInt, bits: 64 },
  f64: { code: dl.kDLFloat, bits: 64 },
};

/** A dtype, and how many of its elements make one of DLPack's: 2 for a complex number, else 1. */
type Elements = readonly [dtype: DType, count: number];

const keyOf = ({ code, bits }: DataType) => code << 8 | bits;

const ELEMENTS: ReadonlyMap<number, Elements> = new Map<number, Elements>([
  ...Object.entries(DATA_TYPES).map(([dtype, type]) => [keyOf(type), [dtype as DType, 1]] as const),
  [keyOf({ code: dl.kDLBool, bits: 8 }), ["u8", 1]],
  [keyOf({ code: dl.kDLComplex, bits: 64 }), ["f32", 2]],
  [keyOf({ code: dl.kDLComplex, bits: 128 }), ["f64", 2]],
]);

/** DLPack's names of its type codes, for messages. */
const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(dl).flatMap(([name, code]) =>
    /^kDL(Int|UInt|Float|Opaque|Bfloat|Complex|Bool)/.test(name) ? [[Number(code), name]] : []
  ),
);

/** @throws {LayoutError} for a type that samepage has no dtype for. */
export function elementsOf(type: DataType): Elements {
  const found = ELEMENTS.get(keyOf(type));
  if (found !== undefined) return found;
  const { code, bits } = type;
  const name = NAMES.get(code);
  const what = name === undefined
    ? `there is no type of code ${code}`
    : `there is no dtype for ${bits} bits of ${name}`;
  throw checks.unfit("dtype", `${what}.`, `View it as whole numbers of ${bits} bits where it is made.`);
}

export const devices: ArrayDevices = new ArrayDevices(checks, [
  { type: dl.kDLCPU, name: "kDLCPU", apis: ["host"], memory: "host" },
  { type: dl.kDLCUDA, name: "kDLCUDA", apis: ["cuda"], memory: "device" },
  { type: dl.kDLCUDAHost, name: "kDLCUDAHost", apis: ["cuda"], memory: "host" },
  { type: dl.kDLCUDAManaged, name: "kDLCUDAManaged", apis: ["cuda"], memory: "managed" },
  { type: dl.kDLOpenCL, name: "kDLOpenCL", apis: ["opencl"], memory: "device" },
  { type: dl.kDLOneAPI, name: "kDLOneAPI", apis: ["sycl", "levelzero", "opencl"], memory: "unified" },
  { type: dl.kDLVulkan, name: "kDLVulkan", apis: ["vulkan"], memory: "device" },
]);
