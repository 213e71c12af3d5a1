import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { DType } from "../../mod.ts";
import { sizeOf, TYPED_ARRAYS } from "../../src/core/layout/dtype.ts";
import { NUMBERS } from "../../src/core/layout/numbers.ts";

const DTYPES = Object.keys(NUMBERS) as DType[];

/** What the dtype's own typed array has at an index. */
function shown(dtype: DType, view: DataView<ArrayBuffer>, at: number): number | bigint {
  return (new TYPED_ARRAYS[dtype](view.buffer) as { [i: number]: number | bigint })[at];
}

Deno.test("numbers: each is as long as its dtype says, and is read back by its typed array", () => {
  for (const dtype of DTYPES) {
    const numbers = NUMBERS[dtype];
    assertEquals([numbers.dtype, numbers.size], [dtype, sizeOf(dtype)]);
    const view = new DataView(new ArrayBuffer(2 * numbers.size));
    numbers.write(view, numbers.size, 7);
    assertEquals([shown(dtype, view, 0), shown(dtype, view, 1)].map(Number), [0, 7], dtype);
  }
});

Deno.test("numbers: a whole number is refused exactly where its dtype would come back as another", () => {
  const wholes = DTYPES.filter((dtype) => !dtype.startsWith("f"));
  fc.assert(fc.property(
    fc.constantFrom(...wholes),
    fc.oneof(
      fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }),
      fc.maxSafeInteger(),
      fc.integer({ min: -300, max: 300 }),
    ),
    (dtype, value) => {
      const array = new BigInt64Array(1);
      const bits = 8 * sizeOf(dtype);
      const kept = dtype.startsWith("u") ? BigInt.asUintN(bits, BigInt(value)) : BigInt.asIntN(bits, BigInt(value));
      const fits = kept === BigInt(value);
      assertEquals(NUMBERS[dtype].refusal(value) === undefined, fits, `${value} as ${dtype}`);
      if (!fits) return;
      const view = new DataView(array.buffer);
      NUMBERS[dtype].write(view, 0, value);
      assertEquals(BigInt(shown(dtype, view, 0)), BigInt(value));
    },
  ));
});

Deno.test("numbers: what is refused is named with the reason", () => {
  const { u8, u64, i64, f32 } = NUMBERS;
  assertEquals(u8.refusal(256), "expected a whole number from 0 to 255, got 256.");
  assertEquals(u8.refusal(1.5), "expected a whole number from 0 to 255, got 1.5.");
  assertEquals(u8.refusal("1"), "expected a number, got a string.");
  assertEquals(
    i64.refusal(2 ** 60),
    `${2 ** 60} is beyond the numbers that JavaScript holds exactly; pass a bigint.`,
  );
  assertEquals(u64.refusal(2 ** 64), `expected a whole number from 0 to ${2n ** 64n - 1n}, got ${2 ** 64}.`);
  assertEquals(u64.refusal(-1n), `expected a whole number from 0 to ${2n ** 64n - 1n}, got -1.`);
  assertEquals([f32.refusal(NaN), f32.refusal(-Infinity), f32.refusal(1e-300)], [undefined, undefined, undefined]);
  assertEquals(f32.refusal(1e300), "1e+300 is beyond the range of f32.");
  assertEquals(NUMBERS.f16.refusal(70_000), "70000 is beyond the range of f16.");
  assertEquals([NUMBERS.f16.refusal(65_504), NUMBERS.f64.refusal(1e300)], [undefined, undefined]);
  assertEquals(f32.refusal(1n), "expected a number, got a bigint.");
  assertEquals([u8.within(0n, 1n).refusal(1), u8.within(0n, 1n).refusal(2)], [
    undefined,
    "expected a whole number from 0 to 1, got 2.",
  ]);
});
