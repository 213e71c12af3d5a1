import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, DisposedError, LayoutError } from "../../src/core/errors.ts";
import { layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import { assertWithin } from "../../src/cuda/arrays/extent.ts";
import { assertFormat, formatBytes } from "../../src/cuda/arrays/format.ts";
import { textureBytes } from "../../src/cuda/arrays/texture.ts";
import { compile } from "../../src/cuda/kernels/compile.ts";
import { sourceIn } from "../../src/cuda/kernels/source.ts";
import type { CudaDevice } from "../../src/cuda/mod.ts";
import { pitchesOf } from "../../src/cuda/transfers/array.ts";
import { KERNELS, launch } from "./cells/kernels.ts";
import { gpuTest, withCuda } from "./help.ts";
import { compilerTest } from "./kernels/compiler.ts";

/** An array, as far as its copies know one. */
function array(sizes: { width: number; height?: number; depth?: number }, channels: number, dtype = "u8" as const) {
  const { width, height = 0, depth = 0 } = sizes;
  const shape = [depth, height, width].filter((size) => size > 0).concat(channels);
  return { shape, dtype, channels, extent: { width, height, depth } };
}

Deno.test("arrays: the format of an element", () => {
  assertEquals(new Int32Array(formatBytes({ dtype: "f16", channels: 2 }).buffer), Int32Array.of(16, 16, 0, 0, 2));
  assertEquals(new Int32Array(formatBytes({ dtype: "u8", channels: 4 }).buffer), Int32Array.of(8, 8, 8, 8, 1));
  assertEquals(new Int32Array(formatBytes({ dtype: "i32" }).buffer), Int32Array.of(32, 0, 0, 0, 0));
  for (const [dtype, channels] of [["f64", 1], ["u8", 3], ["u64", 1], [undefined, 1], ["toString", 1]] as const) {
    assertThrows(() => assertFormat(dtype, channels), ArgumentError);
  }
});

Deno.test("arrays: sizes beyond the device's are refused by its attributes", () => {
  const attributes = { maxTexture2DWidth: 100, maxTexture2DHeight: 50, maxSurface2DWidth: 80, maxSurface2DHeight: 50 };
  const device = { name: "a device", attributes } as unknown as CudaDevice;
  assertWithin({ width: 100, height: 50, depth: 0 }, { surface: false }, device);
  assertThrows(
    () => assertWithin({ width: 100, height: 50, depth: 0 }, { surface: true }, device),
    ArgumentError,
    "maxSurface2DWidth is 80",
  );
  assertThrows(
    () => assertWithin({ width: 100, height: 51, depth: 0 }, { surface: false }, device),
    ArgumentError,
    "height",
  );
});

Deno.test("arrays: where rows lie in a tensor that one is copied to or from", () => {
  const at = (init: LayoutInit) => layout(init);
  const cases: readonly [Parameters<typeof pitchesOf>[1], LayoutInit, [pitch: number, rows: number] | undefined][] = [
    [array({ width: 10 }, 1), { shape: [10], dtype: "u8" }, [10, 1]],
    [array({ width: 10 }, 4), { shape: [10, 4], dtype: "u8" }, [40, 1]],
    [array({ width: 10, height: 6 }, 1), { shape: [6, 10], dtype: "u8" }, [10, 6]],
    [array({ width: 10, height: 6 }, 1), { shape: [6, 10, 1], dtype: "u8", strides: [64, 1, 1] }, [64, 6]],
    [array({ width: 10, height: 1 }, 2), { shape: [1, 10, 2], dtype: "u8", strides: [9, 2, 1] }, [20, 1]],
    [array({ width: 10, height: 6, depth: 3 }, 4), { shape: [3, 6, 10, 4], dtype: "u8" }, [40, 6]],
    [
      array({ width: 10, height: 6, depth: 3 }, 4),
      { shape: [3, 6, 10, 4], dtype: "u8", strides: [640, 64, 4, 1] },
      [64, 10],
    ],
    [array({ width: 10, height: 6 }, 1), { shape: [6, 11], dtype: "u8" }, undefined],
    [array({ width: 10, height: 6 }, 1), { shape: [6, 10], dtype: "i8" }, undefined],
    [array({ width: 10, height: 6 }, 2), { shape: [6, 10], dtype: "u8" }, undefined],
    [array({ width: 10, height: 6 }, 1), { shape: [6, 10], dtype: "u8", strides: [1, 6] }, undefined],
    [array({ width: 10, height: 6 }, 1), { shape: [6, 10], dtype: "u8", strides: [40, 2] }, undefined],
    [
      array({ width: 10, height: 6, depth: 3 }, 1),
      { shape: [3, 6, 10], dtype: "u8", strides: [70, 11, 1] },
      undefined,
    ],
  ];
  for (const [of, init, expected] of cases) {
    if (expected === undefined) assertThrows(() => pitchesOf(at(init), of, "from"), LayoutError);
    else assertEquals(pitchesOf(at(init), of, "from"), { pitch: expected[0], rows: expected[1] });
  }
});

Deno.test("arrays: what of a texture's options goes together", () => {
  const words = new Int32Array(textureBytes({ filter: "linear", address: "wrap", normalized: true }, "f32").buffer);
  assertEquals([...words.subarray(0, 6), words[10]], [0, 0, 0, 1, 0, 0, 1]);
  const border = textureBytes({ address: "border", border: [1, 0.5, 0, 0], read: "normalized" }, "u8");
  assertEquals([...new Float32Array(border.buffer, 24, 2)], [1, 0.5]);
  for (
    const [options, dtype] of [
      [{ filter: "linear" }, "u8"],
      [{ filter: "linear" }, "u32"],
      [{ read: "normalized" }, "f32"],
      [{ read: "normalized" }, "i32"],
      [{ address: "wrap" }, "f32"],
      [{ address: "mirror" }, "f32"],
      [{ address: "far" }, "f32"],
      [{ filter: "toString" }, "f32"],
      [{ normalized: 1 }, "f32"],
      [{ border: [1, 2, 3] }, "f32"],
      [{ border: [1, 2, 3, NaN] }, "f32"],
    ] as const
  ) {
    assertThrows(() => textureBytes(options as never, dtype), ArgumentError);
  }
});

compilerTest("arrays: the cells' kernels compile", () => {
  compile(sourceIn(KERNELS, {}), { name: "H200", computeCapability: { major: 9, minor: 0 } });
});

gpuTest("arrays of one, two and three dimensions are copied there and back, pitched or not", () =>
  withCuda((cuda) => {
    const { stream } = cuda;
    for (const sizes of [{ width: 1000 }, { width: 100, height: 37 }, { width: 20, height: 10, depth: 5 }]) {
      for (const [dtype, channels] of [["u8", 1], ["u8", 4], ["f32", 2], ["u16", 4]] as const) {
        using array = cuda.array({ ...sizes, dtype, channels });
        using from = cuda.pinned.allocate({ shape: array.shape, dtype });
        using to = cuda.allocate({ shape: array.shape, dtype, pitch: "height" in sizes && !("depth" in sizes) });
        using back = cuda.pinned.allocate({ shape: array.shape, dtype });
        const bytes = crypto.getRandomValues(new Uint8Array(from.layout.byteLength));
        stream.write(from, bytes);
        stream.copy(from, array);
        stream.copy(array, to);
        stream.copy(to, back);
        const read = new Uint8Array(bytes.length);
        stream.read(back, read);
        assertEquals(read, bytes, `${array.resource.name}`);
      }
    }
  }));

gpuTest("a texture reads between elements, and as floats", () =>
  withCuda((cuda) => {
    using array = cuda.array({ width: 2, height: 1, dtype: "u8" });
    using from = cuda.pinned.allocate({ shape: [1, 2], dtype: "u8" });
    using to = cuda.allocate({ shape: [1], dtype: "f32" });
    cuda.stream.write(from, Uint8Array.of(0, 255));
    cuda.stream.copy(from, array);
    using texture = array.texture({ filter: "linear", read: "normalized" });
    launch(cuda, "halfway", 1, [texture.handle, to]);
    const fence = cuda.stream.fence();
    texture.usedBy(fence);
    const read = new Float32Array(1);
    cuda.stream.read(to, read);
    assert(Math.abs(read[0] - 0.5) < 1 / 256, `${read[0]}: a texture unit blends with 8 bits`);
  }));

gpuTest("an array ends with its textures and surfaces, and refuses what it is not", () =>
  withCuda((cuda) => {
    const array = cuda.array({ width: 8, height: 8, dtype: "u8" });
    const [texture, surface] = [array.texture(), array.surface()];
    using tensor = cuda.allocate({ shape: [8, 8], dtype: "u8" });
    cuda.stream.copy(tensor, array);
    array[Symbol.dispose]();
    for (const use of [() => texture.handle, () => surface.handle, () => array.handle, () => array.texture()]) {
      assertThrows(use, DisposedError);
    }
    assertThrows(() => cuda.stream.copy(tensor, array), DisposedError);
    assertThrows(() => cuda.stream.copy({} as never, tensor), ArgumentError);
    using readOnly = cuda.array({ width: 8, dtype: "f32", surface: false });
    assertThrows(() => readOnly.surface(), ArgumentError);
    for (
      const init of [
        { width: 0, dtype: "u8" },
        { width: 8, depth: 8, dtype: "u8" },
        { width: 2 ** 40, dtype: "u8" },
        { width: 8, channels: 3, dtype: "u8" },
        { width: 8, dtype: "f64" },
        undefined,
      ]
    ) {
      assertThrows(() => cuda.array(init as never), ArgumentError);
    }
  }));
