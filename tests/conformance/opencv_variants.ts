import { region } from "../../src/core/layout/layout.ts";
import type { Variants } from "./subject.ts";

const IMAGE = { shape: [48, 61, 3], dtype: "u8", rowAlign: 64 } as const;

/** Layouts that OpenCV has: rows one after the other, padded or not, of pixels without gaps. */
export const ANY_MAT: Variants = {
  contiguous: [
    { name: "one byte", whole: { shape: [1], dtype: "u8" } },
    { name: "one channel", whole: { shape: [7, 13], dtype: "f32" } },
    { name: "two wide channels", whole: { shape: [3, 5, 2], dtype: "f64" } },
    { name: "four channels of half floats", whole: { shape: [9, 7, 4], dtype: "f16" } },
    { name: "as many channels as there can be", whole: { shape: [3, 5, 512], dtype: "i16" } },
    { name: "four dimensions", whole: { shape: [3, 4, 5, 7], dtype: "i32" } },
    { name: "a page exactly", whole: { shape: [4096], dtype: "u8" } },
  ],
  padded: [
    { name: "padded rows", whole: IMAGE },
    { name: "rows padded by a byte", whole: { shape: [31, 61], dtype: "u8", strides: [62, 1] } },
    { name: "padded rows of u16", whole: { shape: [9, 31], dtype: "u16", rowAlign: 128 } },
    { name: "one padded column", whole: { shape: [17], dtype: "f32", strides: [20] } },
    { name: "padded rows and slices", whole: { shape: [3, 4, 5, 7], dtype: "i8", strides: [200, 45, 8, 1] } },
  ],
  parts: [
    { name: "an offset from the handle", whole: { shape: [100], dtype: "f32", byteOffset: 192 } },
    { name: "a region of an image", whole: IMAGE, part: (whole) => region(whole, [3, 5, 0], [11, 17, 3]) },
    { name: "from byte 1", whole: { shape: [500], dtype: "u8" }, part: (whole) => region(whole, [1], [499]) },
    { name: "from byte 4097", whole: { shape: [9000], dtype: "u8" }, part: (whole) => region(whole, [4097], [4099]) },
    { name: "the last byte", whole: { shape: [8192], dtype: "u8" }, part: (whole) => region(whole, [8191], [1]) },
  ],
};

/** Parts begin where OpenCV's kernels may load vectors. */
export const ALIGNED_MAT: Variants = {
  ...ANY_MAT,
  parts: [
    { name: "an offset from the handle", whole: { shape: [100], dtype: "f32", byteOffset: 192 } },
    { name: "a region of an image", whole: IMAGE, part: (whole) => region(whole, [4, 0, 0], [11, 17, 3]) },
    { name: "from byte 4112", whole: { shape: [9000], dtype: "u8" }, part: (whole) => region(whole, [4112], [4099]) },
  ],
};

/** What OpenCV makes by itself has no gaps, and two dimensions at least. */
export const MAT_OF_OPENCV: Variants = {
  contiguous: ANY_MAT.contiguous.filter(({ whole }) => whole.shape.length > 1),
  padded: [],
  parts: [
    {
      name: "a region of an image",
      whole: { shape: [48, 61, 3], dtype: "u8" },
      part: (whole) => region(whole, [3, 5, 0], [11, 17, 3]),
    },
    { name: "rows", whole: { shape: [48, 61], dtype: "f32" }, part: (whole) => region(whole, [7, 0], [31, 61]) },
  ],
};

/** Calls whose failures are not reported: a pointer that cannot be probed is taken at its word. */
export const PROBES: readonly string[] = ["libc.process_vm_readv"];
