// The arguments that CUDA gets for a fill and a copy, without a GPU.

import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, LayoutError } from "@samepage/interop";
import type { DType, FillValue } from "@samepage/interop";
import { layout, type LayoutInit } from "@samepage/interop";
import { copyRows } from "../../src/cuda/transfers/copy.ts";
import { fillTensor } from "../../src/cuda/transfers/fill.ts";
import type { CudaTensor } from "../../src/cuda/tensor.ts";
import type { Address } from "../../ffi/address.ts";

function fill(init: LayoutInit, value: FillValue): string {
  return fillTensor({ layout: layout(init), address: 4096n, name: "it" } as CudaTensor, value).fn;
}

Deno.test("fill() takes the command of the value's shortest period", () => {
  const names: readonly [DType, FillValue, string][] = [
    ["u8", 7, "cudaMemset2DAsync"],
    ["f32", 0, "cudaMemset2DAsync"],
    ["u32", 0x07070707, "cudaMemset2DAsync"],
    ["u32", Uint8Array.of(7), "cudaMemset2DAsync"],
    ["u16", 7, "cuMemsetD2D16Async"],
    ["u32", 0x00070007, "cuMemsetD2D16Async"],
    ["f32", 1.5, "cuMemsetD2D32Async"],
    ["u8", [1, 2, 3, 4], "cuMemsetD2D32Async"],
    ["u64", 0x0000_0007_0000_0007n, "cuMemsetD2D32Async"],
  ];
  for (const [dtype, value, fn] of names) assertEquals(fill({ shape: [8], dtype }, value), fn, `${dtype} ${value}`);
});

Deno.test("fill() refuses what repeats only after 4 bytes, and rows that are not multiples of the value", () => {
  for (const [init, value] of [[{ shape: [8], dtype: "f64" }, 1.5], [{ shape: [3], dtype: "u8" }, [1, 2]]] as const) {
    assertEquals(assertThrows(() => fill(init, value), ArgumentError).argument, "value");
  }
  assertThrows(() => fill({ shape: [2, 2, 2], dtype: "u8", strides: [64, 8, 1] }, 1), LayoutError);
});

Deno.test("copyRows() is one command for one run, and another for rows", () => {
  const ends = [4096n, 8192n] as Address[];
  assertEquals(copyRows(ends, { length: 16, dimensions: [] }).fn, "cudaMemcpyAsync");
  assertEquals(copyRows(ends, { length: 16, dimensions: [{ count: 3, strides: [64, 16] }] }).fn, "cudaMemcpy2DAsync");
});
