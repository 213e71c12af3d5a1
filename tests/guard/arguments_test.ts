/** Arguments and results go through a thunk as they are, wherever the ABI has them travel. */
import { assertEquals, assertThrows } from "@std/assert";
import { NativeCallError } from "../../src/core/errors.ts";
import { lazyLibrary } from "../../src/core/native/library.ts";
import { guarded, guardOf } from "../../src/guard/guard.ts";
import { compileText, guardTest } from "./cxx.ts";

const INTEGERS = ["u8", "i8", "bool", "u16", "i16", "u32", "i32", "u64", "i64", "usize", "pointer", "buffer"] as const;
const FLOATS = ["f32", "f64"] as const;
const CXX = {
  ...{ u8: "uint8_t", i8: "int8_t", bool: "bool", u16: "uint16_t", i16: "int16_t", u32: "uint32_t", i32: "int32_t" },
  ...{
    u64: "uint64_t",
    i64: "int64_t",
    usize: "size_t",
    pointer: "void *",
    buffer: "void *",
    f32: "float",
    f64: "double",
  },
} as const;
type Type = keyof typeof CXX;
type Functions = Record<string, (...args: unknown[]) => unknown>;

/** Numbers that come again with each run. */
function random(seed: number): () => number {
  return () => {
    seed = Math.imul(seed ^ seed >>> 15, 0x2c1b3c6d) + 0x9e3779b9 | 0;
    return (seed >>> 8) / 2 ** 24;
  };
}

/** Functions of 0 to 16 integers, of 0 to 12 floats, and of both in any order. */
function signatures(): Type[][] {
  const next = random(1);
  const pick = (types: readonly Type[]) => types[Math.floor(next() * types.length)];
  const list = (length: number, types: readonly Type[]) => Array.from({ length }, () => pick(types));
  return [
    ...Array.from({ length: 17 }, (_, n) => list(n, INTEGERS)),
    ...Array.from({ length: 13 }, (_, n) => list(n, FLOATS)),
    ...Array.from({ length: 50 }, () => list(Math.floor(next() * 20), [...INTEGERS, ...FLOATS, ...FLOATS, ...FLOATS])),
  ];
}

/** A value of a type, and its bits as a C++ program sees them. */
function valueOf(type: Type, next: () => number): { value: unknown; bits: bigint } {
  const bits = BigInt(Math.floor(next() * 2 ** 24)) << 40n | BigInt(Math.floor(next() * 2 ** 24)) << 20n |
    BigInt(Math.floor(next() * 2 ** 20));
  const size = { u8: 8, i8: 8, u16: 16, i16: 16, u32: 32, i32: 32 }[type as "u8"];
  const view = new DataView(new ArrayBuffer(8));
  switch (type) {
    case "bool":
      return { value: bits % 2n === 1n, bits: bits % 2n };
    case "u64":
    case "usize":
      return { value: bits, bits };
    case "i64":
      return { value: BigInt.asIntN(64, bits), bits };
    case "pointer":
      return { value: Deno.UnsafePointer.create(bits >> 17n), bits: bits >> 17n };
    case "buffer": {
      const buffer = new Uint8Array(new ArrayBuffer(8));
      return { value: buffer, bits: BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer))) };
    }
    case "f32":
      view.setFloat32(0, next() * 1000 - 500, true);
      return { value: view.getFloat32(0, true), bits: view.getBigUint64(0, true) };
    case "f64":
      view.setFloat64(0, next() * 1000 - 500, true);
      return { value: view.getFloat64(0, true), bits: view.getBigUint64(0, true) };
    default: {
      const value = type.startsWith("i") ? BigInt.asIntN(size, bits) : BigInt.asUintN(size, bits);
      return { value: Number(value), bits: BigInt.asUintN(64, value) };
    }
  }
}

const digest = (bits: readonly bigint[]) => bits.reduce((sum, it) => BigInt.asUintN(64, sum * 31n + it), 7n);

guardTest("arguments arrive bit for bit, up to 19 of them, in registers and on a stack that is aligned", async () => {
  const all = signatures();
  const functions = all.map((types, n) => {
    const parameters = types.map((type, i) => `${CXX[type]} a${i}`).join(", ");
    const sums = types.map((_, i) => `  h = h * 31 + bits(a${i});\n`).join("");
    const body = `  uint64_t h = 7;\n  check(__builtin_frame_address(0));\n${sums}  if (armed) throw h;\n  return h;\n`;
    return `extern "C" uint64_t f${n}(${parameters}) {\n${body}}\n`;
  });
  const library = await compileText(`
    #include <cstdint>
    #include <cstring>
    #include <type_traits>
    template <class T> uint64_t bits(T x) {
      uint64_t b = 0;
      if constexpr (std::is_integral_v<T>) b = x; // with its sign
      else memcpy(&b, &x, sizeof x);
      return b;
    }
    static bool armed;
    static int32_t misaligned;
    static void check(void *frame) { misaligned += uintptr_t(frame) % 16 != 0; } // as the ABI has it at every call
    extern "C" int32_t misalignedFrames() { return misaligned; }
    extern "C" void arm(bool on) { armed = on; }
    ${functions.join("")}`);
  const symbols = Object.fromEntries(
    all.map((parameters, n) => [`f${n}`, { parameters, result: "u64" }] as [string, Deno.ForeignFunction]),
  );
  const thrown: bigint[] = [];
  const open = lazyLibrary<Functions>({
    api: "arguments",
    candidates: [library],
    symbols: {
      ...symbols,
      arm: { parameters: ["bool"], result: "void" },
      misalignedFrames: { parameters: [], result: "i32" },
    },
    hint: "",
    link: guarded(({ object }) => {
      thrown.push(new Deno.UnsafePointerView(Deno.UnsafePointer.create(object)!).getBigUint64());
      return new NativeCallError("thrown");
    }),
  });
  const next = random(2);
  for (const armed of [false, true, false]) {
    open().arm(armed);
    all.forEach((types, n) => {
      const args = types.map((type) => valueOf(type, next));
      const expected = digest(args.map(({ bits }) => bits));
      const call = () => open()[`f${n}`](...args.map(({ value }) => value));
      if (armed) assertThrows(call, NativeCallError, "thrown");
      assertEquals(armed ? thrown.pop() : call(), expected, `f${n}(${types})`);
    });
  }
  // Once more by the calls that V8 has compiled.
  for (const n of [8, 16, 29, ...all.keys().filter((n) => all[n].length > 15)]) {
    const args = all[n].map((type) => valueOf(type, next));
    const values = args.map(({ value }) => value);
    const fn = open()[`f${n}`];
    const expected = digest(args.map(({ bits }) => bits));
    for (let i = 0; i < 10_000; i++) if (fn(...values) !== expected) throw new Error(`f${n}(${all[n]}), call ${i}`);
  }
  assertEquals(open().misalignedFrames(), 0);
  assertEquals(guardOf("arguments"), { guarded: true });
});

guardTest("results are those that Deno gives of the function itself", async () => {
  const types = [...INTEGERS.filter((type) => type !== "buffer"), ...FLOATS];
  const values: Record<string, string[]> = {
    bool: ["true", "false"],
    pointer: ["nullptr", "(void *) 0x123456789ab"],
    f32: ["0.1f", "-0.0f", "1e30f"],
    f64: ["0.1", "-0.0", "1e300"],
  };
  const names: string[] = [];
  const functions = types.flatMap((type) =>
    (values[type] ?? ["0", "1", "-1", "(0x8000000000000000ull >> 1)", "127", "128"]).map((value, i) => {
      names.push(`${type}_${i}`);
      return `extern "C" ${CXX[type]} ${type}_${i}() { return (${CXX[type]}) ${value}; }\n`;
    })
  );
  const library = await compileText(`#include <cstdint>\n#include <cstddef>\n${functions.join("")}`);
  const symbols = Object.fromEntries(
    names.map((name) => [name, { parameters: [], result: name.split("_")[0] }] as [string, Deno.ForeignFunction]),
  );
  const spec = { api: "results", candidates: [library], symbols, hint: "" };
  const [plain, wrapped] = [lazyLibrary<Functions>(spec)(), lazyLibrary<Functions>({ ...spec, link: guarded() })()];
  const plainly = (value: unknown) => typeof value === "object" ? Deno.UnsafePointer.value(value as null) : value;
  for (const name of names) assertEquals(plainly(wrapped[name]()), plainly(plain[name]()), name);
  assertEquals(guardOf("results"), { guarded: true });
});
