// Operations on Mats: what they make, by arithmetic of our own; rows padded, parts at odd offsets.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { type DType, host, type HostTensor, LayoutError, MapperGraph, region } from "@samepage/interop";
import { OpenCVContext, type OpenCVTensor, ReallocatedError } from "@samepage/interop/opencv";
import type { ColorCode, ThresholdType } from "@samepage/interop/opencv";
import { CONVERSIONS } from "../../src/opencv/operations/color_codes.ts";
import { testMat } from "./help.ts";
import { type Case, CASES } from "./operations_cases.ts";

/** A tensor of numbers, row by row. */
function tensorOf(shape: readonly number[], dtype: DType, values: ArrayLike<number>): HostTensor {
  const tensor = host.allocate({ shape, dtype });
  (tensor.view() as Float64Array).set(values);
  return tensor;
}

/** What an operation makes of numbers. */
function made(
  cv: OpenCVContext,
  src: readonly [shape: readonly number[], dtype: DType, values: ArrayLike<number>],
  dst: readonly [shape: readonly number[], dtype: DType],
  call: (src: OpenCVTensor, dst: OpenCVTensor) => unknown,
): number[] {
  using graph = new MapperGraph([host, cv]);
  using from = tensorOf(...src);
  using to = host.allocate({ shape: dst[0], dtype: dst[1] });
  {
    using input = graph.map(from, cv.mat, { access: "read" });
    using output = graph.map(to, cv.mat);
    call(input, output);
  }
  return Array.from(to.view() as Float64Array);
}

const SIX = [10, 20, 30, 40, 50, 60];

testMat("operations: what they make of a few numbers", () => {
  using cv = OpenCVContext.open();
  const grid: [readonly number[], DType, number[]] = [[2, 3], "u8", SIX];
  const same: [readonly number[], DType] = [[2, 3], "u8"];
  assertEquals(made(cv, grid, same, (s, d) => cv.copyTo(s, d)), SIX);
  assertEquals(made(cv, grid, same, (s, d) => cv.bitwise_not(s, d)), SIX.map((x) => 255 - x));
  assertEquals(made(cv, grid, same, (s, d) => cv.flip(s, d, "x-axis")), [40, 50, 60, 10, 20, 30]);
  assertEquals(made(cv, grid, same, (s, d) => cv.flip(s, d, "y-axis")), [30, 20, 10, 60, 50, 40]);
  assertEquals(made(cv, grid, same, (s, d) => cv.flip(s, d, "both-axes")), [60, 50, 40, 30, 20, 10]);
  assertEquals(made(cv, grid, same, (s, d) => cv.convertTo(s, d, "u8", { alpha: 10, beta: -150.4 })), [
    ...[0, 50, 150],
    ...[250, 255, 255],
  ]);
  assertEquals(made(cv, grid, [[2, 3], "f32"], (s, d) => cv.convertTo(s, d, "f32", { alpha: 0.5 })), [
    ...[5, 10, 15],
    ...[20, 25, 30],
  ]);
  assertEquals(made(cv, [[3], "f32", [1.5, -2, 7e4]], [[3], "i16"], (s, d) => cv.convertTo(s, d, "i16")), [
    2,
    -2,
    32767,
  ]);
  const twice = (s: OpenCVTensor, d: OpenCVTensor) => cv.resize(s, d, [6, 2], { interpolation: "nearest" });
  assertEquals(made(cv, grid, [[2, 6], "u8"], twice), [10, 10, 20, 20, 30, 30, 40, 40, 50, 50, 60, 60]);
  const mean = (s: OpenCVTensor, d: OpenCVTensor) => cv.resize(s, d, [1, 1], { interpolation: "area" });
  assertEquals(made(cv, grid, [[1, 1], "u8"], mean), [35]);
  const right = [1, 0, 1, 0, 1, 0] as const;
  for (const M of [right, [right.slice(0, 3), right.slice(3)] as unknown as typeof right]) {
    const shifted = (s: OpenCVTensor, d: OpenCVTensor) => cv.warpAffine(s, d, M, [3, 2], { borderValue: 7 });
    assertEquals(made(cv, grid, same, shifted), [7, 10, 20, 7, 40, 50]);
  }
  const back = (s: OpenCVTensor, d: OpenCVTensor) =>
    cv.warpAffine(s, d, right, [3, 2], { inverse: true, border: "replicate", interpolation: "nearest" });
  assertEquals(made(cv, grid, same, back), [20, 30, 30, 50, 60, 60]);
  const blurred = made(cv, [[1, 5], "f64", [0, 0, 1, 0, 0]], [[1, 5], "f64"], (s, d) => cv.GaussianBlur(s, d, [3, 1]));
  assertEquals(blurred, [0, 0.25, 0.5, 0.25, 0]);
});

testMat("threshold: five kinds, and the threshold that was used", () => {
  using cv = OpenCVContext.open();
  const expected: Record<ThresholdType, number[]> = {
    "binary": [0, 0, 0, 9, 9, 9],
    "binary-inv": [9, 9, 9, 0, 0, 0],
    "trunc": [10, 20, 30, 30, 30, 30],
    "tozero": [0, 0, 0, 40, 50, 60],
    "tozero-inv": [10, 20, 30, 0, 0, 0],
  };
  for (const [type, values] of Object.entries(expected) as [ThresholdType, number[]][]) {
    for (const [dtype, used] of [["u8", 30], ["u16", 30], ["i16", 30], ["f32", 30.75], ["f64", 30.75]] as const) {
      const result = made(cv, [[2, 3], dtype, SIX], [[2, 3], dtype], (s, d) => {
        assertEquals(cv.threshold(s, d, 30.75, 9, type), used);
      });
      const truncated = values.map((x, i) => type === "trunc" && i > 2 ? used : x);
      assertEquals(result, truncated, `${type} ${dtype}`);
    }
  }
  for (const [search, dtype] of [["otsu", "u8"], ["otsu", "u16"], ["triangle", "u8"]] as const) {
    const two = [10, 11, 12, 200, 201, 202];
    const result = made(cv, [[2, 3], dtype, two], [[2, 3], dtype], (s, d) => {
      const used = cv.threshold(s, d, 99, 255, "binary", { search });
      assert(used >= 12 && used < 200 || search === "triangle", `${search} found ${used}`);
    });
    if (search === "otsu") assertEquals(result, [0, 0, 0, 255, 255, 255]);
  }
});

testMat("copyTo: a mask says which elements are written", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using chosen = tensorOf([2, 3], "u8", [1, 0, 0, 255, 0, 1]);
  using mask = graph.map(chosen, cv.mat, { access: "read" });
  const masked = made(cv, [[2, 3], "u8", SIX], [[2, 3], "u8"], (s, d) => cv.copyTo(s, d, { mask }));
  assertEquals(masked, [10, 0, 0, 40, 0, 60]);
});

testMat("operations keep to padded rows and parts at odd offsets, and to the bytes of their output", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  const on = (input: HostTensor, output: HostTensor, call: Case["call"]) => {
    using source = graph.map(input, cv.mat, { access: "read" });
    using mat = graph.map(output, cv.mat);
    call(cv, source, mat);
  };
  const copy: Case["call"] = (cv, from, to) => cv.copyTo(from, to);
  for (const { name, src, dst, call } of CASES) {
    using whole = host.allocate(src);
    (whole.view() as Float64Array).forEach((_, i, view) => view[i] = i * 37 % 120);
    using plain = host.allocate(dst);
    on(whole, plain, call);
    // The same image as a part of a larger one.
    const grown = (shape: readonly number[]) => shape.map((n, i) => i < 2 ? n + 5 : n);
    using around = host.allocate({ shape: grown(src.shape), dtype: src.dtype });
    using result = host.allocate({ shape: grown(dst.shape), dtype: dst.dtype });
    const corner = (shape: readonly number[]) => shape.map((_, i) => i < 2 ? 3 : 0);
    const [from, to] = [
      region(around.layout, corner(src.shape), src.shape),
      region(result.layout, corner(dst.shape), dst.shape),
    ];
    {
      using inner = around.slice(from);
      on(whole, inner, copy);
      using output = result.slice(to);
      on(inner, output, call);
      using packed = host.allocate(dst);
      on(output, packed, copy);
      assertEquals(packed.bytes(), plain.bytes(), name);
    }
    const untouched = result.layout.byteLength - countOf(dst.shape) * plain.layout.strides.at(-1)!;
    assert(
      result.bytes().reduce((zeros, byte) => byte === 0 ? zeros + 1 : zeros, 0) >= untouched,
      `${name}: around it`,
    );
  }
});

function countOf(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

testMat("copyTo, convertTo and bitwise_not take any number of dimensions", () => {
  using cv = OpenCVContext.open();
  using a = cv.mat.create({ shape: [3, 4, 5, 6], dtype: "f32" });
  using b = cv.mat.create({ shape: [3, 4, 5, 6], dtype: "f32" });
  cv.bitwise_not(a, a);
  cv.copyTo(a, b);
  using c = cv.mat.create({ shape: [3, 4, 5, 6], dtype: "f16" });
  cv.convertTo(b, c, "f16");
  const error = assertThrows(() => cv.GaussianBlur(a, b, [3, 3]), LayoutError);
  assertEquals(error.argument, "src");
});

testMat("cvtColor: the table says for every code what OpenCV makes, of every depth and number of channels", () => {
  using cv = OpenCVContext.open();
  for (const [code, { from, dtypes }] of Object.entries(CONVERSIONS)) {
    for (const dtype of dtypes) {
      for (const channels of from) {
        using src = cv.mat.create({ shape: channels === 1 ? [12, 8] : [12, 8, channels], dtype });
        const convert = (dst: OpenCVTensor, reallocate: boolean) => {
          cv.cvtColor(src, dst, code as ColorCode, { reallocate });
        };
        using result = reallocated(cv, (small) => convert(small, true));
        using fitting = cv.mat.create({ shape: result.layout.shape, dtype: result.layout.dtype });
        convert(fitting, false);
        assertEquals(
          [fitting.type, fitting.matShape.sizes],
          [result.type, result.matShape.sizes],
          `${code} of ${src.type}`,
        );
      }
    }
  }
});

/** What OpenCV puts where its result does not fit. */
function reallocated(cv: OpenCVContext, call: (small: OpenCVTensor) => void): OpenCVTensor {
  const small = cv.mat.create({ shape: [1, 1], dtype: "i8" });
  call(small);
  return assertThrows(() => small[Symbol.dispose](), ReallocatedError).result!;
}

testMat("cvtColor: channels, planes and pairs are where the code says", () => {
  using cv = OpenCVContext.open();
  const pixel = (values: number[], code: ColorCode, channels: number) => {
    const shape = values.length === 1 ? [1, 1] : [1, 1, values.length];
    return made(cv, [shape, "u8", values], [[1, 1, channels], "u8"], (s, d) => cv.cvtColor(s, d, code));
  };
  assertEquals(pixel([1, 2, 3], "BGR2RGB", 3), [3, 2, 1]);
  assertEquals(pixel([1, 2, 3], "BGR2RGBA", 4), [3, 2, 1, 255]);
  assertEquals(pixel([255, 0, 0], "BGR2GRAY", 1), [29]); // blue
  assertEquals(pixel([255, 0, 0], "RGB2GRAY", 1), [76]); // red
  assertEquals(pixel([0, 0, 255], "BGR2HSV", 3), [0, 255, 255]);
  assertEquals(pixel([255, 0, 0], "BGR2HSV", 3), [120, 255, 255]); // half degrees
  assertEquals(pixel([255, 255, 255], "BGR2Lab", 3), [255, 128, 128]);
  // Red as Y, U (Cb), V (Cr) of BT.601: the third channel of BGR is the great one.
  const [y, u, v] = [81, 90, 240];
  const red = (values: number[], shape: number[], code: ColorCode, rows: number) => {
    const [b, g, r] = made(cv, [shape, "u8", values], [[rows, 2, 3], "u8"], (s, d) => cv.cvtColor(s, d, code));
    assert(r > 250 && g < 5 && b < 5, `${code}: ${[b, g, r]}`);
  };
  red([y, y, y, y, u, v], [3, 2], "YUV2BGR_NV12", 2);
  red([y, y, y, y, v, u], [3, 2], "YUV2BGR_NV21", 2);
  red([y, u, y, v], [1, 2, 2], "YUV2BGR_YUYV", 1);
  red([u, y, v, y], [1, 2, 2], "YUV2BGR_UYVY", 1);
  red([y, v, y, u], [1, 2, 2], "YUV2BGR_YVYU", 1);
});

testMat("operations: peers lose the views that may not be used beside one", () => {
  using cv = OpenCVContext.open();
  for (const { name, src, dst, call } of CASES) {
    using from = cv.mat.create(src);
    using to = cv.mat.create(dst);
    const left = [from, to].map((mat) => {
      const peer = host.wrap(mat.address, mat.layout);
      return { peer, writable: peer.bytes(), readable: peer.bytes({ access: "read" }) };
    });
    call(cv, from, to);
    const lengths = left.flatMap(({ writable, readable }) => [writable.length, readable.length]);
    assertEquals(lengths, [0, from.layout.byteLength, 0, 0], name);
    for (const { peer } of left) peer[Symbol.dispose]();
  }
});
