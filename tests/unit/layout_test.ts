import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { type DType, sizeOf, TYPED_ARRAYS } from "../../src/core/layout/dtype.ts";
import { LayoutError } from "../../src/core/errors.ts";
import {
  describeLayout,
  isContiguous,
  type Layout,
  layout,
  type LayoutInit,
  region,
  whole,
} from "../../src/core/layout/layout.ts";
import { croppedPicture } from "../../src/core/layout/components.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { copyElements } from "../../src/core/layout/runs.ts";
import { pictureIn } from "../../src/core/layout/pictures.ts";

const MOST = Number.MAX_SAFE_INTEGER;
const anyDType = fc.constantFrom(...Object.keys(TYPED_ARRAYS) as DType[]);
const anyShape = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 });

/** Layouts that may be wrong: strides are small multiples of the element's size. */
const anyStrided = fc.record({ shape: anyShape, dtype: anyDType, offset: fc.nat(5) }).chain((
  { shape, dtype, offset },
) =>
  fc.array(fc.nat(20), { minLength: shape.length, maxLength: shape.length }).map((steps) => ({
    shape,
    dtype,
    strides: steps.map((step) => step * sizeOf(dtype)),
    byteOffset: offset * sizeOf(dtype),
  }))
);

const anyContiguous = fc.record({ shape: anyShape, dtype: anyDType, rowUnits: fc.integer({ min: 1, max: 20 }) }).map((
  { shape, dtype, rowUnits },
) => ({ shape, dtype, rowAlign: rowUnits * sizeOf(dtype) }));

function countIn(shape: readonly number[]): number {
  return shape.reduce((count, n) => count * n, 1);
}

/** Every element's first byte, in the order of the elements: the slow reference. */
function addresses({ shape, strides, byteOffset }: Pick<Layout, "shape" | "strides" | "byteOffset">): number[] {
  return shape.reduce(
    (before, count, i) => before.flatMap((at) => Array.from({ length: count }, (_, k) => at + k * strides[i])),
    [byteOffset],
  );
}

function overlap(starts: readonly number[], size: number): boolean {
  const sorted = [...starts].sort((a, b) => a - b);
  return sorted.some((start, i) => i > 0 && start - sorted[i - 1] < size);
}

function tried(init: LayoutInit): Layout | LayoutError {
  try {
    return layout(init);
  } catch (error) {
    if (error instanceof LayoutError) return error;
    throw error;
  }
}

function refusedFor(init: unknown, argument: string): void {
  assertEquals(assertThrows(() => layout(init as LayoutInit), LayoutError).argument, argument);
}

Deno.test("a layout that is accepted has the bounding range of its elements, and none overlap", () => {
  fc.assert(
    fc.property(anyStrided, (init) => {
      const made = tried(init);
      const starts = addresses(init);
      const size = sizeOf(init.dtype);
      if (made instanceof LayoutError) {
        assert(/^strides\[\d\]$/.test(made.argument!), made.message);
        return;
      }
      assert(!overlap(starts, size));
      assertEquals(made.byteLength, Math.max(...starts) + size - init.byteOffset);
      assertEquals(made.strides, init.strides);
      assertEquals(countIn(made.shape), starts.length);
    }),
    { numRuns: 5000 },
  );
});

Deno.test("elements that overlap are refused, and the strides are named", () => {
  fc.assert(
    fc.property(anyStrided, (init) => {
      fc.pre(overlap(addresses(init), sizeOf(init.dtype)));
      assert(tried(init) instanceof LayoutError);
    }),
    { numRuns: 3000 },
  );
});

Deno.test("default strides leave no gap, and rowAlign pads only the rows", () => {
  fc.assert(
    fc.property(anyContiguous, ({ shape, dtype, rowAlign }) => {
      const plain = layout({ shape, dtype });
      assert(isContiguous(plain));
      assertEquals(addresses(plain), Array.from({ length: countIn(shape) }, (_, i) => i * sizeOf(dtype)));
      const padded = layout({ shape, dtype, rowAlign });
      assertEquals(padded.strides.slice(1), plain.strides.slice(1));
      if (shape.length > 0) {
        assertEquals(padded.strides[0] % rowAlign, 0);
        assert(padded.strides[0] >= plain.strides[0] && padded.strides[0] < plain.strides[0] + rowAlign);
      }
    }),
    { numRuns: 2000 },
  );
});

Deno.test("isContiguous: the elements follow each other in order", () => {
  fc.assert(
    fc.property(anyStrided, (init) => {
      const made = tried(init);
      if (made instanceof LayoutError) return;
      const size = sizeOf(init.dtype);
      const inOrder = addresses(made).every((start, i) => start === made.byteOffset + i * size);
      assertEquals(isContiguous(made), inOrder);
    }),
    { numRuns: 3000 },
  );
});

Deno.test("a region has just the elements between its start and its end", () => {
  const anyPart = fc.oneof(anyStrided, anyContiguous).chain((init) =>
    fc.record({
      init: fc.constant(init),
      start: fc.tuple(...init.shape.map((n) => fc.nat(n - 1))),
      count: fc.tuple(...init.shape.map((n) => fc.integer({ min: 1, max: n }))),
    })
  );
  fc.assert(
    fc.property(anyPart, ({ init, start, count }) => {
      const whole = tried(init);
      if (whole instanceof LayoutError) return;
      const outside = start.findIndex((from, i) => from + count[i] > whole.shape[i]);
      if (outside >= 0) {
        assertEquals(assertThrows(() => region(whole, start, count), LayoutError).argument, `shape[${outside}]`);
        return;
      }
      const origin = start.reduce((at, from, i) => at + from * whole.strides[i], whole.byteOffset);
      const part = region(whole, start, count);
      assertEquals(addresses(part), addresses({ shape: count, strides: whole.strides, byteOffset: origin }));
      assert(part.byteOffset >= whole.byteOffset);
      assert(part.byteOffset + part.byteLength <= whole.byteOffset + whole.byteLength);
    }),
    { numRuns: 3000 },
  );
});

Deno.test("every figure has to be a whole number in range", () => {
  for (const wrong of [-1, 0.5, NaN, Infinity, 2 ** 53, "2", 2n, null, undefined, {}]) {
    refusedFor({ shape: [2, wrong], dtype: "u8" }, "shape[1]");
    refusedFor({ shape: [2, 2], dtype: "u8", strides: [2, wrong] }, "strides[1]");
    if (wrong !== undefined && wrong !== null) {
      refusedFor({ shape: [2], dtype: "u8", byteOffset: wrong }, "byteOffset");
      refusedFor({ shape: [2], dtype: "u8", rowAlign: wrong }, "rowAlign");
    }
    assertThrows(() => region(layout({ shape: [4], dtype: "u8" }), [wrong as number], [1]), LayoutError, "start[0]");
    assertThrows(() => region(layout({ shape: [4], dtype: "u8" }), [0], [wrong as number]), LayoutError, "shape[0]");
  }
  refusedFor({ shape: [0], dtype: "u8" }, "shape[0]");
  refusedFor({ shape: "22", dtype: "u8" }, "shape");
  refusedFor({ shape: [2], dtype: "u8", rowAlign: 0 }, "rowAlign");
  refusedFor({ shape: [2], dtype: "u8", strides: [1, 1] }, "strides");
  refusedFor({ shape: [2], dtype: "u8", strides: 1 }, "strides");
  assertThrows(() => whole(1, "n", 2), LayoutError, "n: expected at least 2, got 1");
});

Deno.test("copyElements() takes elements from where one layout has them to where the other has them", () => {
  const to = layout({ shape: [2, 3], dtype: "u8", strides: [4, 1], byteOffset: 1 });
  const from = layout({ shape: [2, 3], dtype: "u8", strides: [1, 2], byteOffset: 2 });
  const bytes = new Uint8Array(to.byteOffset + to.byteLength + 1).fill(99);
  copyElements(bytes, to, Uint8Array.from({ length: 9 }, (_, i) => i), from);
  assertEquals([...bytes], [99, 2, 4, 6, 99, 3, 5, 7, 99]);
});

Deno.test("croppedPicture() begins each plane later in its object, where the pixels lie in rows", () => {
  const formats = [
    { dtype: "u8", elements: 1, step: 1, rows: 1 },
    { dtype: "u8", elements: 2, step: 2, rows: 2 },
  ] as const;
  const info = imageInfo({ format: "NV12", width: 4, height: 2 });
  const planes = [{ object: 0, offset: 16, stride: 32 }, { object: 1, offset: 8, stride: 64 }];
  const picture = { objects: [{ handle: 1n }, { handle: 2n }], planes };
  const crop = { left: 6, top: 4 };
  assertEquals(croppedPicture({ ...picture, modifier: 0n }, info, formats, crop)?.planes, [
    { object: 0, offset: 16 + 4 * 32 + 6, stride: 32 },
    { object: 1, offset: 8 + 2 * 64 + 6, stride: 64 },
  ]);
  assertEquals(croppedPicture({ ...picture, modifier: 1n }, info, formats, crop), undefined);
  assertEquals(croppedPicture({ ...picture, planes: [] }, info, formats, crop), undefined);
  assert(croppedPicture(picture, info, formats, { left: 0, top: 0 }) === picture);
});

Deno.test("an unknown dtype is refused, names of Object's own included", () => {
  for (const dtype of ["u7", "", "constructor", "toString", "__proto__", 8, null, undefined]) {
    refusedFor({ shape: [1], dtype }, "dtype");
  }
  assertThrows(() => layout({ shape: [1], dtype: "x" as DType }), LayoutError, "Use one of u8, i8");
});

Deno.test("strides, offset and rowAlign are multiples of the element's size", () => {
  refusedFor({ shape: [2], dtype: "f32", strides: [6] }, "strides[0]");
  refusedFor({ shape: [2], dtype: "f32", byteOffset: 2 }, "byteOffset");
  refusedFor({ shape: [2, 3], dtype: "f32", rowAlign: 6 }, "rowAlign");
});

Deno.test("nothing reaches past 2^53 bytes", () => {
  assertEquals(layout({ shape: [MOST], dtype: "u8" }).byteLength, MOST);
  refusedFor({ shape: [MOST], dtype: "u16" }, "shape[0]");
  refusedFor({ shape: [2 ** 27, 2 ** 27], dtype: "u8" }, "shape[0]");
  refusedFor({ shape: [MOST], dtype: "u8", byteOffset: 1 }, "byteOffset");
  refusedFor({ shape: [2, 2], dtype: "u8", strides: [MOST, 1] }, "strides[0]");
  refusedFor({ shape: [2 ** 30], dtype: "u8", strides: [2 ** 30] }, "strides[0]");
});

Deno.test("a region's start and shape need an entry for each dimension", () => {
  const image = layout({ shape: [4, 4], dtype: "u8" });
  assertEquals(assertThrows(() => region(image, [0], [1, 1]), LayoutError).argument, "start");
  assertEquals(assertThrows(() => region(image, [0, 0], [1]), LayoutError).argument, "shape");
});

Deno.test("a layout in words shows its strides where they are not contiguous", () => {
  assertEquals(describeLayout(layout({ shape: [2, 3], dtype: "u8" })), "[2,3] u8");
  assertEquals(describeLayout(layout({ shape: [2, 3], dtype: "u8", rowAlign: 4 })), "[2,3] u8, strides [4,1]");
});

Deno.test("pictures: a shape says their size and layers, and channels may be left out where a pixel is one element", () => {
  const sizes: readonly [shape: readonly number[], elements: number, size: readonly unknown[] | undefined][] = [
    [[33, 70, 4], 4, [70, 33, undefined]],
    [[5, 33, 70, 4], 4, [70, 33, 5]],
    [[1, 33, 70, 4], 4, [70, 33, 1]],
    [[33, 70], 1, [70, 33, undefined]],
    [[33, 70, 1], 1, [70, 33, undefined]],
    [[33, 1], 1, [1, 33, undefined]],
    [[5, 33, 70], 1, [70, 33, 5]],
    [[5, 33, 1, 1], 1, [1, 33, 5]],
    [[33, 70, 3], 4, undefined],
    [[70, 4], 4, undefined],
    [[70], 1, undefined],
    [[2, 5, 33, 70, 4], 4, undefined],
    [[2, 5, 33, 70], 1, undefined],
  ];
  for (const [shape, elements, expected] of sizes) {
    const size = pictureIn(shape, elements);
    assertEquals(size && [size.width, size.height, size.layers], expected, `[${shape}] of ${elements}`);
  }
});

Deno.test("layout() of other shapes, strides, offsets and dtypes of as many bytes is not an earlier one", () => {
  const few = [
    { shape: [2, 3], dtype: "u16" },
    { shape: [3, 2], dtype: "u16" },
    { shape: [6], dtype: "u16" },
    { shape: [6], dtype: "i16" },
    { shape: [12], dtype: "u8" },
    { shape: [6], dtype: "u16", byteOffset: 2 },
    { shape: [2, 2], dtype: "u16", strides: [8, 2] },
    { shape: [2, 2], dtype: "u16", strides: [2, 8] },
  ] as const;
  for (let round = 0; round < 3; round++) {
    for (const init of few) {
      for (let again = 0; again < 2; again++) {
        const { shape, dtype, byteOffset } = layout(init);
        assertEquals([shape, dtype, byteOffset], [[...init.shape], init.dtype, "byteOffset" in init ? 2 : 0]);
        if ("strides" in init) assertEquals(layout(init).strides, [...init.strides]);
      }
    }
  }
});
