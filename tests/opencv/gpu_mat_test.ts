// What gpuMatHeader writes, against what the constructor of OpenCV's own C++ makes of the same arguments: the library has
// GpuMat without CUDA too, all but its memory.

import { assertEquals } from "@std/assert";
import { ArgumentError, type DType, LayoutError } from "@samepage/interop";
import { gpuMatHeader, type GpuMatInit } from "@samepage/interop/opencv";
import { compileHere } from "../abi/checker.ts";
import { abiTest } from "../abi/tools.ts";
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
