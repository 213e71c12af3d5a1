// What gpuMatHeader writes, against what the constructor of OpenCV's own C++ makes of the same arguments: the library has
// GpuMat without CUDA too, all but its memory.

import { assertEquals } from "@std/assert";
import { ArgumentError, type DType, layout, LayoutError, type LayoutInit } from "@samepage/interop";
import { gpuMatHeader, type GpuMatInit, type GpuMatOver } from "@samepage/interop/opencv";
import { compileHere } from "../abi/checker.ts";
import { abiTest } from "../abi/tools.ts";
import { readGpuMat } from "../../ffi/opencv_core/structs.ts";
import { opencvCore } from "../../ffi/generate/lists/opencv_core.ts";
import { thrown } from "../opencl/help.ts";

const POINTER = 0x7f12_3450_0000n;

const DEPTHS: readonly (readonly [DType, string])[] = [
  ["u8", "CV_8U"],
  ["i8", "CV_8S"],
  ["u16", "CV_16U"],
  ["i16", "CV_16S"],
  ["i32", "CV_32S"],
  ["f32", "CV_32F"],
  ["f64", "CV_64F"],
  ["f16", "CV_16F"],
];

const HEADERS: readonly (GpuMatInit & { readonly depth: string })[] = DEPTHS.flatMap(([dtype, depth]) => [
  { pointer: POINTER, rows: 480, cols: 640, dtype, depth },
  { pointer: POINTER, rows: 480, cols: 640, channels: 3, step: 16384, dtype, depth },
  { pointer: POINTER, rows: 1, cols: 7, channels: 4, step: 4096, dtype, depth },
  { pointer: POINTER, rows: 9, cols: 1, channels: 512, dtype, depth },
]);

const PROGRAM = `
#include <cstdio>
#include <fstream>
using cv::cuda::GpuMat;
struct Made { int rows, cols, type; size_t step; };
int main(int, char **argv) {
  std::ifstream file(argv[1], std::ios::binary);
  const Made made[] = { MADE };
  for (const Made &m : made) {
    alignas(GpuMat) char bytes[sizeof(GpuMat)];
    file.read(bytes, sizeof bytes);
    const GpuMat &given = *reinterpret_cast<const GpuMat *>(bytes);
    GpuMat expected(m.rows, m.cols, m.type, reinterpret_cast<void *>(POINTER), m.step);
    const bool same = given.flags == expected.flags && given.rows == expected.rows && given.cols == expected.cols &&
                      given.step == expected.step && given.data == expected.data && given.refcount == expected.refcount &&
                      given.datastart == expected.datastart && given.dataend == expected.dataend &&
                      given.allocator == nullptr;
    printf("%d %d %d %zu %p %d %d\\n", given.rows, given.cols, given.type(), given.step, (const void *) given.ptr(m.rows - 1),
           given.isContinuous(), same);
  }
}
`;

abiTest("the bytes of a GpuMat are those that its C++ constructor makes", async () => {
  const made = HEADERS.map(({ rows, cols, channels = 1, step, depth }) =>
    `{${rows}, ${cols}, CV_MAKETYPE(${depth}, ${channels}), ${step ?? "cv::Mat::AUTO_STEP"}}`
  );
  const source = `#include <opencv2/core.hpp>\n#include <opencv2/core/cuda.hpp>\n${PROGRAM}`
    .replace("MADE", made.join(", ")).replace("POINTER", `0x${POINTER.toString(16)}`);
  const folder = await Deno.makeTempDir({ prefix: "samepage-gpu-mat-" });
  try {
    await Deno.writeTextFile(`${folder}/main.cpp`, source);
    await Deno.writeFile(`${folder}/headers`, new Uint8Array(await new Blob(HEADERS.map(gpuMatHeader)).arrayBuffer()));
    await compileHere(opencvCore, ["-O1", `${folder}/main.cpp`, "-o", `${folder}/main`, "-lopencv_core"]);
    const { stdout } = await new Deno.Command(`${folder}/main`, { args: [`${folder}/headers`] }).output();
    const lines = new TextDecoder().decode(stdout).trim().split("\n").map((line) => line.split(" "));
    assertEquals(lines.length, HEADERS.length);
    for (const [i, [rows, cols, , step, last, isContinuous, isSame]] of lines.entries()) {
      const header = HEADERS[i];
      assertEquals([Number(rows), Number(cols), isSame], [header.rows, header.cols, "1"], JSON.stringify(lines[i]));
      assertEquals(BigInt(last), POINTER + BigInt(step) * BigInt(header.rows - 1));
      assertEquals(isContinuous, header.step === undefined || header.rows === 1 ? "1" : "0");
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}, "c++");

const GOOD: GpuMatInit = { pointer: POINTER, rows: 4, cols: 5, dtype: "f32" };

for (
  const [wrong, kind, argument] of [
    [{ pointer: 0n }, ArgumentError, "pointer"],
    [{ pointer: -1n }, ArgumentError, "pointer"],
    [{ pointer: 2n ** 64n - 8n }, ArgumentError, "pointer"],
    [{ pointer: null }, ArgumentError, "pointer"],
    [{ rows: 0 }, ArgumentError, "rows"],
    [{ rows: NaN }, ArgumentError, "rows"],
    [{ cols: 2 ** 31 }, ArgumentError, "cols"],
    [{ cols: 1.5 }, ArgumentError, "cols"],
    [{ dtype: "u32" as DType }, LayoutError, "dtype"],
    [{ dtype: "constructor" as DType }, LayoutError, "dtype"],
    [{ channels: 513 }, ArgumentError, "channels"],
    [{ step: 19 }, LayoutError, "step"],
    [{ step: 22 }, LayoutError, "step"],
    [{ step: Infinity }, ArgumentError, "step"],
    [{ step: 2 ** 52 }, LayoutError, "step"],
    [{ allocator: 0n }, ArgumentError, "allocator"],
  ] as const
) {
  Deno.test(`gpuMatHeader refuses ${argument} ${String(Object.values(wrong)[0])}`, () => {
    const error = thrown<ArgumentError>(kind, () => gpuMatHeader({ ...GOOD, ...wrong }));
    assertEquals([error.constructor, error.argument], [kind, argument]);
  });
}

/** A header over a layout, as a tensor has one. */
const over = (init: LayoutInit, address: bigint = POINTER) => ({ address, layout: layout(init) });

for (
  const [init, parts] of [
    [{ shape: [480, 640], dtype: "u8" }, { rows: 480, cols: 640, dtype: "u8" }],
    [{ shape: [480, 640, 3], dtype: "f32" }, { rows: 480, cols: 640, dtype: "f32", channels: 3 }],
    [{ shape: [480, 640], dtype: "u8", rowAlign: 512 }, { rows: 480, cols: 640, dtype: "u8", step: 1024 }],
    [{ shape: [9, 5, 1], dtype: "i16" }, { rows: 9, cols: 5, dtype: "i16" }],
    [{ shape: [7], dtype: "f64" }, { rows: 7, cols: 1, dtype: "f64" }],
    [{ shape: [1, 7], strides: [4096, 1], dtype: "u8" }, { rows: 1, cols: 7, dtype: "u8", step: 4096 }],
    [{ shape: [4, 4], strides: [64, 1], dtype: "u8", byteOffset: 8 }, { rows: 4, cols: 4, dtype: "u8", step: 64 }],
  ] as readonly (readonly [LayoutInit, Omit<GpuMatInit, "pointer">])[]
) {
  Deno.test(`gpuMatHeader of a layout is that of its parts: ${JSON.stringify(init)}`, () => {
    assertEquals(gpuMatHeader(over(init)), gpuMatHeader({ pointer: POINTER, ...parts }));
  });
}

Deno.test("gpuMatHeader of a layout: every field is where the struct has it", () => {
  const bytes = gpuMatHeader({ ...over({ shape: [480, 640, 3], dtype: "u8", rowAlign: 2048 }), allocator: 4096n });
  const { flags, ...fields } = readGpuMat(new DataView(bytes.buffer), 0);
  assertEquals(flags >>> 0, 0x42ff0010); // MAGIC_VAL, CV_8UC3, not continuous
  assertEquals(fields as object, {
    rows: 480,
    cols: 640,
    step: 2048n,
    data: POINTER,
    refcount: 0n,
    datastart: POINTER,
    dataend: POINTER + 2048n * 479n + 1920n,
    allocator: 4096n,
  });
});

const GOOD_LAYOUT = { shape: [4, 5], dtype: "u8", strides: [5, 1], byteOffset: 0, byteLength: 20 } as const;

for (
  const [wrong, kind, argument] of [
    [{ address: 0n }, ArgumentError, "address"],
    [{ address: undefined }, ArgumentError, "address"],
    [{ address: 2n ** 64n - 8n }, ArgumentError, "address"],
    [{ allocator: 0n }, ArgumentError, "allocator"],
    [{ layout: undefined }, LayoutError, "init"],
    [{ layout: { ...GOOD_LAYOUT, shape: [], strides: [] } }, LayoutError, "shape"],
    [{ layout: layout({ shape: [2, 3, 4, 5], dtype: "u8" }) }, LayoutError, "shape"],
    [{ layout: { ...GOOD_LAYOUT, strides: [4, 1] } }, LayoutError, "strides[0]"],
    [{ layout: { ...GOOD_LAYOUT, strides: [0, 1] } }, LayoutError, "strides[0]"],
    [{ layout: { ...GOOD_LAYOUT, strides: [1, 4] } }, LayoutError, "strides[1]"],
    [{ layout: { ...GOOD_LAYOUT, strides: [10, 2] } }, LayoutError, "strides[1]"],
    [{ layout: layout({ shape: [4, 5], dtype: "u32" }) }, LayoutError, "dtype"],
  ] as readonly (readonly [object, typeof ArgumentError | typeof LayoutError, string])[]
) {
  const [[name, value]] = Object.entries(wrong);
  const said = typeof value === "object" ? JSON.stringify(value) : String(value);
  Deno.test(`gpuMatHeader of a layout refuses ${argument}: ${name} ${said}`, () => {
    const given = { address: POINTER, layout: GOOD_LAYOUT, ...wrong } as GpuMatOver;
    const error = thrown<ArgumentError>(kind, () => gpuMatHeader(given));
    assertEquals([error.constructor, error.argument], [kind, argument]);
  });
}
