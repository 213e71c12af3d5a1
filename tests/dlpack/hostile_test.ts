// Structs that no producer should make. Each lies in front of a page that cannot be touched.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, LayoutError } from "@samepage/interop";
import { fromDLPack } from "@samepage/interop/dlpack";
import * as dl from "../../ffi/dlpack/constants.ts";
import { type Address, NULL } from "../../ffi/address.ts";
import { DATA, type Given, HOST, structOf } from "./struct.ts";

const address = (at: bigint) => at as Address;
/** Nothing is mapped there. */
const NOWHERE = address(0x10n);
const BEYOND = address(2n ** 64n - 8n);

type Kind = typeof ArgumentError;

/** What is wrong, the error, and the argument that it names. */
const BROKEN: readonly (readonly [what: string, given: Given, error: Kind, argument: string])[] = [
  ["major version 0", { major: 0 }, ArgumentError, "address"],
  ["major version 2", { major: 2 }, ArgumentError, "address"],
  ["the last major version", { major: 0xffff_ffff }, ArgumentError, "address"],
  ["null data", { data: NULL }, ArgumentError, "data"],
  ["data where nothing is mapped", { data: NOWHERE }, ArgumentError, "pointer"],
  ["data that ends in an unmapped page", { shape: [1025], strides: [1] }, ArgumentError, "pointer"],
  ["data at the last address", { data: BEYOND }, ArgumentError, "memory"],
  ["an offset beyond the last address", { byte_offset: 2n ** 64n - 1n }, ArgumentError, "byte_offset"],
  ["an offset beyond 2^53", { byte_offset: 2n ** 53n }, ArgumentError, "byte_offset"],
  ["an offset to an unmapped page", { byte_offset: 4096n }, ArgumentError, "pointer"],
  ["a sum beyond the last address", { data: BEYOND, byte_offset: 64n }, ArgumentError, "byte_offset"],
  ["-1 dimensions", { ndim: -1 }, LayoutError, "ndim"],
  ["33 dimensions", { ndim: 33 }, LayoutError, "ndim"],
  ["2^31 - 1 dimensions", { ndim: 2 ** 31 - 1 }, LayoutError, "ndim"],
  ["-2^31 dimensions", { ndim: -(2 ** 31) }, LayoutError, "ndim"],
  ["65,535 lanes of the most", { shape: [2 ** 40], strides: [1], lanes: 65_535 }, LayoutError, "shape"],
  ["more dimensions than its shape has room for", { ndim: 3 }, ArgumentError, "shape"],
  ["a null shape", { shape: NULL }, ArgumentError, "shape"],
  ["a shape where nothing is mapped", { shape: NOWHERE }, ArgumentError, "shape"],
  ["a shape at the last address", { shape: BEYOND }, ArgumentError, "shape"],
  ["an empty dimension", { shape: [2, 0] }, LayoutError, "shape[1]"],
  ["a negative dimension", { shape: [-2, 3] }, LayoutError, "shape[0]"],
  ["the least dimension", { shape: [-(2n ** 63n), 3] }, LayoutError, "shape[0]"],
  ["a dimension of 2^53", { shape: [2n ** 53n, 1] }, LayoutError, "shape[0]"],
  ["the most of a dimension", { shape: [2n ** 63n - 1n, 1] }, LayoutError, "shape[0]"],
  ["a product beyond 2^53", { shape: [2n ** 40n, 2n ** 40n], strides: NULL }, LayoutError, "shape"],
  ["strides where nothing is mapped", { strides: NOWHERE }, ArgumentError, "strides"],
  ["strides at the last address", { strides: BEYOND }, ArgumentError, "strides"],
  ["strides of fewer dimensions", { shape: [1, 2, 3], strides: [3, 1] }, ArgumentError, "strides"],
  ["negative strides", { strides: [-3, 1] }, LayoutError, "strides[0]"],
  ["the least stride", { strides: [-(2n ** 63n), 1] }, LayoutError, "strides[0]"],
  ["a zero stride", { strides: [3, 0] }, LayoutError, "strides[1]"],
  ["a broadcast dimension", { strides: [0, 1] }, LayoutError, "strides[0]"],
  ["overlapping rows", { strides: [2, 1] }, LayoutError, "strides[0]"],
  ["a stride of 2^53", { strides: [2n ** 53n, 1] }, LayoutError, "strides[0]"],
  ["a stride beyond 2^53 bytes", { strides: [2n ** 52n, 1] }, LayoutError, "strides[0]"],
  ["a step beyond 2^53 bytes", { shape: [4096, 3], strides: [2n ** 50n, 1] }, LayoutError, "strides[0]"],
  ["no lanes", { lanes: 0 }, LayoutError, "lanes"],
  ["lanes that reach an unmapped page", { shape: [], strides: [], lanes: 1025 }, ArgumentError, "pointer"],
  ["32 dimensions and lanes", { shape: new Array(32).fill(1), strides: NULL, lanes: 2 }, LayoutError, "shape"],
  ["no bits", { bits: 0 }, LayoutError, "dtype"],
  ["floats of 8 bits", { bits: 8 }, LayoutError, "dtype"],
  ["floats of 128 bits", { bits: 128 }, LayoutError, "dtype"],
  ["whole numbers of 4 bits", { code: dl.kDLInt, bits: 4 }, LayoutError, "dtype"],
  ["whole numbers of 128 bits", { code: dl.kDLUInt, bits: 128 }, LayoutError, "dtype"],
  ["bools of 32 bits", { code: dl.kDLBool }, LayoutError, "dtype"],
  ["bfloat16", { code: dl.kDLBfloat, bits: 16 }, LayoutError, "dtype"],
  ["float8", { code: dl.kDLFloat8_e4m3fn, bits: 8 }, LayoutError, "dtype"],
  ["handles", { code: dl.kDLOpaqueHandle, bits: 64 }, LayoutError, "dtype"],
  ["a type that nobody knows", { code: 255 }, LayoutError, "dtype"],
  ["no device", { device_type: 0 }, ArgumentError, "device"],
  ["a device that nobody knows", { device_type: 0xffff_ffff }, ArgumentError, "device"],
  ["ROCm's memory", { device_type: dl.kDLROCM }, ArgumentError, "device"],
  ["a GPU without a context", { device_type: dl.kDLCUDA, device_id: 3 }, ArgumentError, "contexts"],
  ["a deleter where nothing is mapped", { deleter: NOWHERE }, ArgumentError, "deleter"],
  ["a deleter at the last address", { deleter: BEYOND }, ArgumentError, "deleter"],
];

for (const [what, given, error, argument] of BROKEN) {
  Deno.test(`fromDLPack() refuses ${what}`, () => {
    const thrown = assertThrows(() => fromDLPack(structOf(given), HOST), error);
    assertEquals(thrown.argument, argument, thrown.message);
  });
}

Deno.test("fromDLPack() refuses addresses of no struct", () => {
  assert(BROKEN.length >= 50);
  const last = structOf();
  for (const at of [0x10n, 2n ** 64n - 8n, DATA + 4096n, last + 80n, last + 8n]) {
    const { argument } = assertThrows(() => fromDLPack(at, HOST), ArgumentError);
    assertEquals(argument, "address");
  }
});
