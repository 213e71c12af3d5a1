/** Functions by their addresses: each argument and result as by a pointer, without Deno's slow call. */
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { functionsByAddress, setTap } from "../../src/core/native/library.ts";
import { addressOfSymbol, openLibrary } from "../../src/guard/load.ts";
import { byStubs } from "../../src/guard/stubs.ts";
import { runModule } from "../process.ts";
import { compileText, guardTest } from "./cxx.ts";

const SYMBOLS = {
  // Nine integers and nine doubles: three and one of them travel on the stack.
  mix: {
    parameters: [
      "u64",
      "f64",
      "u64",
      "f64",
      "u64",
      "f64",
      "u64",
      "f64",
      "u64",
      "f64",
      "u64",
      "f64",
      "u64",
      "f64",
      "u64",
    ]
      .concat(["f64", "u64", "f64"]) as Deno.NativeType[],
    result: "f64",
  },
  small: { parameters: ["u8", "i16", "f32"], result: "f32" },
  half: { parameters: ["buffer"], result: { struct: ["f64", "f64"] } },
  later: { parameters: ["i32"], result: "i32", nonblocking: true },
  missing: { parameters: [], result: "i32" },
} as const satisfies Record<string, Deno.ForeignFunction>;

type Functions = Record<keyof typeof SYMBOLS, (...args: unknown[]) => unknown>;

const CXX = `
  #include <cstdint>
  using u = uint64_t;
  extern "C" double mix(u a, double b, u c, double d, u e, double f, u g, double h, u i, double j, u k, double l, u m,
                        double n, u o, double p, u q, double r) {
    u in[] = {a, c, e, g, i, k, m, o, q};
    double fl[] = {b, d, f, h, j, l, n, p, r};
    double sum = uintptr_t(__builtin_frame_address(0)) % 16 == 0 ? 0 : 1e9; // as the ABI has it at every call
    for (int x = 0; x < 9; x++) sum = sum * 3 + in[x] * fl[x];
    return sum;
  }
  extern "C" float small(uint8_t a, int16_t b, float c) { return a + b * c; }
  struct pair { double a, b; };
  extern "C" pair half(double *x) { return {*x / 2, *x * 2}; }
  extern "C" int32_t later(int32_t x) { return x + 1; }`;

async function addresses(): Promise<(name: string) => bigint> {
  const library = openLibrary(await compileText(CXX))!;
  return (name) => addressOfSymbol(library, name) ?? 0n;
}

guardTest("stubs: arguments and results are those of a call by a pointer; what is missing is null", async () => {
  const addressOf = await addresses();
  const stubs = functionsByAddress("stubs", SYMBOLS, addressOf, byStubs) as Functions;
  const pointers = functionsByAddress("stubs", SYMBOLS, addressOf, () => undefined) as Functions;
  const numbers = Array.from({ length: 18 }, (_, i) => i % 2 === 0 ? BigInt(i + 1) : i / 4);
  const sixteenth = new Float64Array([1 / 8]);
  const calls = (fn: Functions) => [fn.mix(...numbers), fn.small(255, -3, 0.5), fn.half(sixteenth), fn.missing];
  assertEquals(calls(stubs), calls(pointers));
  assertEquals(calls(stubs).slice(1), [253.5, new Uint8Array(new Float64Array([1 / 16, 1 / 4]).buffer), null]);
  assertEquals([await stubs.later(1), await pointers.later(1)], [2, 2]);
  for (let i = 0; i < 20_000; i++) if (stubs.small(1, 2, 3) !== 7) throw new Error(`call ${i}, once compiled`);
});

guardTest("stubs: the same addresses are one image; another table of functions sees the tap", async () => {
  const addressOf = await addresses();
  const open = () => functionsByAddress("stubs", SYMBOLS, addressOf, byStubs) as Functions;
  assertStrictEquals(open().small, open().small);
  const seen: string[] = [];
  setTap((api, functions) => {
    seen.push(api);
    return { ...functions, small: () => -1 };
  });
  try {
    assertEquals(open().small(1, 2, 3), -1);
  } finally {
    setTap(undefined);
  }
  assertEquals([seen, open().small(1, 2, 3)], [["stubs"], 7]);
});

guardTest("stubs: where no memory can be made executable, functions are called by their pointers", async () => {
  const { code, stdout, stderr } = await runModule(`
    import { functionsByAddress, setTap } from "${new URL("../../src/core/native/library.ts", import.meta.url)}";
    import { byStubs } from "${new URL("../../src/guard/stubs.ts", import.meta.url)}";
    setTap((api, functions) => api === "libc" ? { ...functions, memfd_create: () => -1 } : functions);
    const libc = Deno.dlopen("libc.so.6", { dlsym: { parameters: ["pointer", "buffer"], result: "u64" } }).symbols;
    const at = libc.dlsym(null, new TextEncoder().encode("abs\\0"));
    const { abs } = functionsByAddress("test", { abs: { parameters: ["i32"], result: "i32" } }, () => at, byStubs);
    console.log(abs(-3));
  `);
  assertEquals([code, stdout.trim()], [0, "3"], stderr);
  assert(!stderr.includes("rror"), stderr);
});
