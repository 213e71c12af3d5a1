// Mats over the bytes of host memory, and of OpenCV's own.

import { assert, assertEquals, assertInstanceOf, assertMatch, assertStrictEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  type DType,
  host,
  LayoutError,
  ledger,
  MapperGraph,
  NoRouteError,
  region,
} from "@samepage/interop";
import { OpenCVContext, OpenCVError, OpenCVMat, ReallocatedError } from "@samepage/interop/opencv";
import type { Address } from "../../ffi/address.ts";
import { Mat } from "../../ffi/opencv_core/structs.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { matIn } from "../../src/opencv/header.ts";
import { core } from "../../src/opencv/library.ts";
import { noArray, viewOf } from "../../src/opencv/slots.ts";
import { assertFlat, collect } from "../gc.ts";
import { warningsOf } from "../warnings.ts";
import { dataAt, pattern, testMat, testThrowing } from "./help.ts";

/** A `cv::Mat` that OpenCV makes and owns, as a program in C++ would have it. */
class Foreign implements Disposable {
  readonly bytes = new DataView(new ArrayBuffer(Mat.size));
  readonly address: Address = addressOf(this.bytes, "opencv");

  constructor(sizes: readonly number[], type: number) {
    core().Mat_construct(this.address);
    core().Mat_create(this.address, sizes.length, Int32Array.from(sizes), type);
  }

  get header() {
    return matIn(this.bytes, 0);
  }

  get owners(): number {
    return dataAt(this.header.u).refcount;
  }

  [Symbol.dispose](): void {
    core().Mat_destruct(this.address);
  }
}

testMat("mat: the address and the strides are the tensor's, whatever those are", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  const shapes = [[7], [5, 7], [5, 7, 1], [5, 7, 3], [5, 7, 4], [5, 7, 17], [3, 5, 7, 2], [2, 3, 4, 5, 6]];
  for (const shape of shapes) {
    for (const rowAlign of shape.length > 1 && shape.length < 4 ? [1, 64, 4096] : [1]) {
      using tensor = host.allocate({ shape, dtype: "u8", rowAlign });
      using mat = graph.map(tensor, cv.mat);
      const { data, datastart, dataend, u, shape: said } = matIn(viewOf(mat.slot));
      assertEquals([data, datastart, u], [tensor.address, tensor.address, 0n]);
      assertEquals(dataend - data, BigInt(tensor.layout.byteLength));
      assertEquals(said, mat.matShape);
      assertEquals(mat.layout.strides, tensor.layout.strides);
      assertEquals(mat.route.steps.map(({ edge, transfer, bytesMoved }) => [edge, transfer, bytesMoved]), [
        ["host→opencv.mat", "alias", 0],
      ]);
    }
  }
});

testMat("mat: a header that was filled in here is what OpenCV's constructor makes", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  for (const shape of [[5, 7], [1, 7], [5, 1], [1, 1], [5, 7, 3], [4, 3, 2, 5]]) {
    using tensor = host.allocate({ shape, dtype: "u16", ...(shape.length < 4 ? { rowAlign: 64 } : {}) });
    using mat = graph.map(tensor, cv.mat);
    const { sizes, steps, type } = mat.matShape;
    const made = new DataView(new ArrayBuffer(Mat.size));
    const at = addressOf(made, "opencv");
    core().Mat_constructND(
      at,
      sizes.length,
      Int32Array.from(sizes),
      type,
      tensor.address,
      BigUint64Array.from(steps.slice(0, -1), BigInt),
    );
    const { size_p: _a, step_p: _b, ...theirs } = matIn(made, 0);
    const { size_p: _c, step_p: _d, ...ours } = matIn(viewOf(mat.slot));
    core().Mat_destruct(at);
    assertEquals({ ...ours, step_buf_0: 0n, step_buf_1: 0n }, { ...theirs, step_buf_0: 0n, step_buf_1: 0n });
  }
});

testMat("mat: every depth that OpenCV has, and the others refused", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  const types: Partial<Record<DType, string>> = {
    u8: "CV_8UC3",
    i8: "CV_8SC3",
    u16: "CV_16UC3",
    i16: "CV_16SC3",
    i32: "CV_32SC3",
    f32: "CV_32FC3",
    f64: "CV_64FC3",
    f16: "CV_16FC3",
  };
  for (const dtype of ["u8", "i8", "u16", "i16", "f16", "u32", "i32", "f32", "u64", "i64", "f64"] as const) {
    using tensor = host.allocate({ shape: [4, 5, 3], dtype });
    if (types[dtype] === undefined) {
      const error = assertThrows(() => graph.map(tensor, cv.mat), NoRouteError);
      assert(error.message.includes(`OpenCV 4 has no Mat of ${dtype}`));
      assert(error.message.includes(dtype === "u32" ? "i32 has the same bits" : "f64 holds whole numbers up to 2^53"));
      assertThrows(() => cv.mat.create({ shape: [4, 5, 3], dtype }), LayoutError, dtype);
    } else {
      using mat = graph.map(tensor, cv.mat);
      assertEquals(mat.type, types[dtype]);
    }
  }
});

testMat("mat: u32 as i32, which the error says", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using tensor = host.allocate({ shape: [4, 5], dtype: "u32" });
  using bits = tensor.slice({ ...tensor.layout, dtype: "i32" });
  using mat = graph.map(bits, cv.mat);
  assertEquals([mat.type, mat.address], ["CV_32SC1", tensor.address]);
});

testMat("mat: rows, columns and channels are those of cv::Mat", () => {
  using cv = OpenCVContext.open();
  const shapes: [number[], number[]][] = [
    [[7], [7, 1, 1]],
    [[6, 8], [6, 8, 1]],
    [[6, 8, 3], [6, 8, 3]],
    [[2, 3, 4, 5], [-1, -1, 1]],
  ];
  for (const [shape, expected] of shapes) {
    using mat = cv.mat.create({ shape, dtype: "u8" });
    assertEquals([mat.rows, mat.cols, mat.channels], expected);
    const { rows, cols } = matIn(viewOf(mat.slot));
    assertEquals([rows, cols], expected.slice(0, 2));
  }
});

testMat("mat: what OpenCV writes is in the tensor, and padding is left alone", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  for (const padding of [1, 64, 4096]) {
    const row = 13 * 3;
    const strides = [row + padding, 3, 1];
    using tensor = host.allocate({ shape: [9, 13, 3], dtype: "u8", strides });
    const before = pattern(tensor.layout.byteLength, padding);
    tensor.view().set(before);
    {
      using mat = graph.map(tensor, cv.mat);
      core().bitwise_not(mat.slot.input, mat.slot.output, noArray());
    }
    const after = tensor.view();
    for (let i = 0; i < after.length; i++) {
      assertEquals(after[i], i % strides[0] < row ? 255 - before[i] : before[i], `byte ${i}, padded by ${padding}`);
    }
  }
});

testMat("mat: a region at odd offsets, of a tensor and of a Mat, is the same bytes", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using image = host.allocate({ shape: [20, 31, 3], dtype: "u8" });
  const part = region(image.layout, [3, 5, 0], [7, 11, 3]);
  {
    using slice = image.slice(part);
    using mat = graph.map(slice, cv.mat);
    assertEquals(mat.address, image.address + BigInt(3 * 93 + 15));
    core().bitwise_not(mat.slot.input, mat.slot.output, noArray());
  }
  {
    using mat = graph.map(image, cv.mat);
    using slice = mat.slice(part);
    assertEquals(slice.address, image.address + BigInt(3 * 93 + 15));
    assertEquals(matIn(viewOf(slice.slot)).shape.steps, [93, 3]);
    core().bitwise_not(slice.slot.input, slice.slot.output, noArray());
    using corner = slice.slice(region(slice.layout, [0, 0, 0], [1, 1, 3]));
    core().bitwise_not(corner.slot.input, corner.slot.output, noArray());
  }
  const bytes = image.view();
  const inverted = bytes.reduce((count, byte) => count + Number(byte === 255), 0);
  assertEquals([inverted, bytes[3 * 93 + 15], bytes[3 * 93 + 14]], [3, 255, 0]);
});

testMat("mat: matOf says how many channels there are", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  assertStrictEquals(cv.matOf({ channels: 2 }), cv.matOf({ channels: 2 }));
  using volume = host.allocate({ shape: [4, 5, 2], dtype: "f32" });
  {
    using mat = graph.map(volume, cv.mat);
    assertEquals([mat.type, mat.matShape.sizes], ["CV_32FC2", [4, 5]]);
  }
  {
    using mat = graph.map(volume, cv.matOf({ channels: 1 }));
    assertEquals([mat.type, mat.matShape.sizes], ["CV_32FC1", [4, 5, 2]]);
  }
  using cube = host.allocate({ shape: [3, 4, 5, 2], dtype: "f32" });
  using mat = graph.map(cube, cv.matOf({ channels: 2 }));
  assertEquals([mat.type, mat.matShape.sizes], ["CV_32FC2", [3, 4, 5]]);
  assertThrows(
    () => graph.map(volume, cv.matOf({ channels: 3 })),
    NoRouteError,
    "expected 3 channels as the last dimension, got 2",
  );
});

testMat("mat: layouts that OpenCV cannot have are refused, each with a sentence", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  const refusals: [shape: number[], strides: number[], says: string][] = [
    [[4, 5], [1, 4], "needs adjacent pixels"], // transposed
    [[4, 5], [20, 2], "needs adjacent pixels, of 1 bytes"],
    [[4, 5, 3], [60, 6, 2], "needs adjacent channels"],
    [[4, 5, 3], [1, 12, 4], "needs adjacent channels"],
    [[4, 5, 513], [4000, 600, 1], "at most 512 channels (CV_CN_MAX), got 513"],
    [[2, 3, 4, 5], [20, 40, 5, 1], "OpenCV is row-major"],
  ];
  for (const [shape, strides, says] of refusals) {
    using tensor = host.allocate({ shape, strides, dtype: "u8" });
    const error = assertThrows(() => graph.map(tensor, cv.mat), NoRouteError);
    assert(error.message.includes(says), error.message);
  }
});

testMat("mat: its memory can be made page-aligned here, and belongs to the program that maps it", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using mat = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
  assertEquals(mat.address % 4096n, 0n);
  {
    using seen = graph.map(mat, host);
    assertEquals(seen.address, mat.address);
    seen.bytes().fill(7);
    assertThrows(() => mat.handle, AccessError, "lent");
  }
  core().bitwise_not(mat.slot.input, mat.slot.output, noArray());
  using seen = graph.map(mat, host, { access: "read" });
  assertEquals(seen.view()[12345], 248);
});

testMat("mat: a foreign cv::Mat is retained, and shares its bytes with all who have them", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using foreign = new Foreign([6, 8], 16);
  assertEquals(foreign.owners, 1);
  {
    using mat = cv.mat.attach(foreign.address);
    using again = cv.mat.attach(Deno.UnsafePointer.create(foreign.address)!);
    assertEquals(foreign.owners, 3);
    assertEquals([mat.layout.shape, mat.type, mat.address], [[6, 8, 3], "CV_8UC3", foreign.header.data]);
    using bytes = host.wrap(mat.address, mat.layout);
    {
      using lent = graph.map(again, host);
      lent.bytes().fill(9);
      assertThrows(() => bytes.view(), AccessError, "lent");
      assertThrows(() => mat.handle, AccessError, "lent");
    }
    assertEquals(bytes.view()[0], 9);
  }
  assertEquals(foreign.owners, 1);
});

testMat("mat: the memory of a foreign Mat stays for as long as a peer has it", () => {
  using cv = OpenCVContext.open();
  const foreign = new Foreign([6, 8], 16);
  const mat = cv.mat.attach(foreign.address);
  using peer = host.wrap(mat.address, mat.layout);
  mat[Symbol.dispose]();
  foreign[Symbol.dispose]();
  peer.bytes().fill(1);
});

testMat("mat: anything but a Mat cannot be attached to", () => {
  using cv = OpenCVContext.open();
  const junk = new DataView(new ArrayBuffer(Mat.size));
  const empty = new DataView(new ArrayBuffer(Mat.size));
  core().Mat_construct(addressOf(empty, "opencv"));
  for (const given of [0n, 1n, -1n, 2n ** 64n, null, addressOf(junk, "opencv"), addressOf(empty, "opencv")]) {
    const error = assertThrows(() => cv.mat.attach(given as bigint), ArgumentError);
    assertEquals([error.api, error.argument], ["opencv", "handle"]);
  }
});

testMat("mat: an output that OpenCV reallocates is noticed, and handed over", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using large = host.allocate({ shape: [40, 50, 3], dtype: "u8" });
  large.view().set(pattern(6000));
  using small = host.allocate({ shape: [10, 10], dtype: "u8" });
  using source = graph.map(large, cv.mat, { access: "read" });
  const output = graph.map(small, cv.mat);
  cv.GaussianBlur(source, output, [3, 3], { reallocate: true });
  const error = assertThrows(() => output[Symbol.dispose](), ReallocatedError);
  using result = error.result!;
  assertInstanceOf(result, OpenCVMat);
  assertEquals([result.type, result.layout.shape], ["CV_8UC3", [40, 50, 3]]);
  assertEquals(small.view().every((byte) => byte === 0), true);
  using seen = graph.map(result, host);
  assert(seen.view().some((byte) => byte !== 0));
  assertEquals(ledger.alive["opencv.mat"], 1);
});

/** OpenCV 4.6 asserts what 4.10 checks. */
const isOlder = ({ version }: OpenCVContext) => version.startsWith("4.6.");

testThrowing("mat: unless it is allowed, nothing is reallocated: by us before the call, by OpenCV in it", () => {
  using cv = OpenCVContext.open();
  using a = cv.mat.create({ shape: [40, 50, 3], dtype: "u8" });
  using b = cv.mat.create({ shape: [10, 10], dtype: "u8" });
  const ours = assertThrows(() => cv.GaussianBlur(a, b, [3, 3]), LayoutError);
  assertEquals([ours.fn, ours.argument], ["GaussianBlur", "dst"]);
  const theirs = assertThrows(() => core().bitwise_not(a.slot.input, b.slot.output, noArray()), OpenCVError);
  assertEquals([theirs.codeName, theirs.fn], [isOlder(cv) ? "StsAssert" : "StsError", "bitwise_not"]);
});

testThrowing("mat: an exception has OpenCV's own code, message, function, file and line", () => {
  using cv = OpenCVContext.open();
  using a = cv.mat.create({ shape: [4, 4], dtype: "u8" });
  using b = cv.mat.create({ shape: [4, 4], dtype: "f32" });
  const error = assertThrows(() => core().Mat_convertTo(a.slot.header, b.slot.output, 999, 1, 0), OpenCVError);
  assertEquals([error.api, error.fn], ["opencv", "Mat_convertTo"]);
  assertEquals([error.code, error.codeName], isOlder(cv) ? [-215, "StsAssert"] : [-2, "StsError"]);
  assert(error.file!.endsWith(".cpp") && error.line! > 0 && error.thrownBy !== undefined);
});

testThrowing("mat: 100,000 exceptions leave memory as it was", async () => {
  using cv = OpenCVContext.open();
  using a = cv.mat.create({ shape: [4, 4], dtype: "u8" });
  using b = cv.mat.create({ shape: [5, 4], dtype: "u8" });
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) {
      try {
        core().bitwise_not(a.slot.input, b.slot.output, noArray());
      } catch (error) {
        if (!(error instanceof OpenCVError)) throw error;
      }
    }
  };
  fail(2000);
  await assertFlat(64 * 2 ** 20, () => fail(100_000));
});

testMat("mat: a context takes what lives in it along", () => {
  const cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using photo = host.allocate({ shape: [4, 4], dtype: "u8" });
  const mapped = graph.map(photo, cv.mat);
  const own = cv.mat.create({ shape: [4, 4], dtype: "u8" });
  cv[Symbol.dispose]();
  for (const mat of [mapped, own]) assertThrows(() => mat.handle, DisposedError, `OpenCV ${cv.version}`);
  photo.view().fill(1);
  assertThrows(() => cv.mat.create({ shape: [4, 4], dtype: "u8" }), DisposedError);
  assertThrows(() => graph.map(photo, cv.mat), Error);
});

testMat("mat: data is where the header says, and a Mat that was disposed says nothing", () => {
  using cv = OpenCVContext.open();
  const mat = cv.mat.create({ shape: [4, 5], dtype: "u8" });
  assertEquals(mat.data, mat.address);
  mat[Symbol.dispose]();
  assertThrows(() => mat.data, DisposedError);
});

testMat("a forgotten context causes a warning, and a disposed one does not", async () => {
  const use = () => {
    const cv = OpenCVContext.open();
    using graph = new MapperGraph([host, cv]);
    using source = host.allocate({ shape: [4, 4], dtype: "u8" });
    using _mat = graph.map(source, cv.mat);
    return cv;
  };
  const warnings = await warningsOf(async () => {
    use()[Symbol.dispose]();
    await use()[Symbol.asyncDispose]();
    use();
    await collect();
  });
  assertEquals(warnings.length, 1, warnings.join("\n"));
  assertMatch(warnings[0], /opencv context \(OpenCV 4.*\) was never disposed/);
});
