import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError } from "../../../mod.ts";
import { staleViews } from "../../stale_views.ts";
import { parametersIn, type ParameterType } from "../../../src/cuda/kernels/declared.ts";
import { LaunchMemory } from "../../../src/cuda/kernels/launch_memory.ts";
import { elementOf } from "../../../src/cuda/kernels/types.ts";
import { cudaLibrary } from "../../cuda_libraries.ts";
import { hasCC } from "./recording.ts";

/** Where CUDA's headers are, which say what a float3 is. */
const INCLUDE = [
  cudaLibrary("libcudart.so.13")?.replace(/lib\/[^/]*$/, "include"),
  "/usr/local/cuda/include",
].find((folder) => folder !== undefined && exists(`${folder}/vector_types.h`));

/** A value of each type: as C writes it, and as a program passes it. */
const VALUES: readonly (readonly [type: string, c: string, value: unknown])[] = [
  ["bool", "1", true],
  ["bool", "0", 0],
  ["char", "-5", -5],
  ["signed char", "-128", -128],
  ["unsigned char", "255", 255],
  ["uchar", "7", 7n],
  ["short", "-32768", -32768],
  ["unsigned short", "65535", 65535],
  ["ushort", "1", 1],
  ["int", "-2147483647 - 1", -(2 ** 31)],
  ["int", "4711", 4711n],
  ["unsigned int", "4294967295u", 2 ** 32 - 1],
  ["unsigned", "3u", 3],
  ["long", "-9007199254740991l", Number.MIN_SAFE_INTEGER],
  ["long long", "9007199254740991ll", Number.MAX_SAFE_INTEGER],
  ["long long", "-1ll", -1],
  ["long long", "-9223372036854775807ll - 1", -(2n ** 63n)],
  ["int64_t", "-4294967296ll", -(2 ** 32)],
  ["unsigned long long", "18446744073709551615ull", 2n ** 64n - 1n],
  ["size_t", "4294967297ull", 2 ** 32 + 1],
  ["uint64_t", "1ull", 1n],
  ["float", "0.1f", 0.1],
  ["float", "-1e30f", -1e30],
  ["float", "1.0f / 0.0f", Infinity],
  ["double", "0.1", 0.1],
  ["half", "1.5f16", 1.5],
  ["char2", "{ 1, -1 }", [1, -1]],
  ["uchar3", "{ 1, 2, 255 }", [1, 2, 255]],
  ["uchar4", "{ 1, 2, 3, 4 }", [1, 2, 3, 4]],
  ["short3", "{ -1, 2, -3 }", [-1, 2, -3]],
  ["ushort4", "{ 1, 2, 3, 65535 }", [1, 2, 3, 65535]],
  ["int1", "{ -9 }", -9],
  ["int2", "{ -9, 9 }", [-9, 9]],
  ["uint3", "{ 1, 2, 3 }", [1, 2, 3]],
  ["int4", "{ 1, 2, 3, -4 }", [1, 2, 3, -4]],
  ["long2", "{ 1, -2 }", [1, -2]],
  ["longlong2", "{ 1, -2 }", [1n, -2]],
  ["ulonglong3", "{ 1, 2, 18446744073709551615ull }", [1, 2, 2n ** 64n - 1n]],
  ["float1", "{ 0.5f }", 0.5],
  ["float2", "{ 0.5f, -0.25f }", [0.5, -0.25]],
  ["float3", "{ 1, 2, 3 }", [1, 2, 3]],
  ["float4", "{ 1, 2, 3, 4 }", [1, 2, 3, 4]],
  ["double2", "{ 1, -2 }", [1, -2]],
  ["double3", "{ 1, -2, 3 }", [1, -2, 3]],
  ["double4", "{ 1, 2, 3, 4 }", [1, 2, 3, 4]],
];

/** What C makes of each value: its bytes in hexadecimal digits, and the alignment of its type. */
async function fromC(): Promise<{ hex: string; align: number }[]> {
  const folder = await Deno.makeTempDir({ prefix: "samepage-layout-" });
  try {
    const lines = VALUES.map(([type, c]) => `{ T(${TYPES_OF_C[type] ?? type}) v = ${c}; SHOW(v); }`);
    await Deno.writeTextFile(`${folder}/layout.c`, `${C_HEAD}int main(void) {\n${lines.join("\n")}\nreturn 0; }\n`);
    const args = ["-w", `-I${INCLUDE}`, "-o", `${folder}/layout`, `${folder}/layout.c`];
    const { success, stderr } = await new Deno.Command("cc", { args }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    const { stdout } = await new Deno.Command(`${folder}/layout`).output();
    return new TextDecoder().decode(stdout).trim().split("\n").map((line) => {
      const [hex, align] = line.split(" ");
      return { hex, align: Number(align) };
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const TYPES_OF_C: { readonly [type: string]: string } = {
  half: "_Float16",
  uchar: "unsigned char",
  ushort: "unsigned short",
  bool: "_Bool",
};

const C_HEAD = `
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
#include <vector_types.h>
#define T(type) type
#define SHOW(v) do { for (size_t i = 0; i < sizeof v; i++) printf("%02x", ((unsigned char *)&v)[i]); \\
  printf(" %zu\\n", _Alignof(__typeof__(v))); } while (0)
`;

/** What was read by its address: it must not be collected meanwhile. */
const kept: LaunchMemory[] = [];

/** The bytes that a launch reads for each value, by the addresses that it is given. */
function packed(types: readonly ParameterType[], values: readonly unknown[]): string[] {
  const parameters = parametersIn(types, "k");
  const memory = new LaunchMemory(parameters.map(({ parameter }) => parameter));
  memory.take(values, undefined as never);
  kept.push(memory);
  const addresses = new BigUint64Array(memoryAt(memory.args, 8 * parameters.length));
  return parameters.map(({ info }, i) => new Uint8Array(memoryAt(addresses[i], info.size)).toHex());
}

function memoryAt(address: bigint, length: number): ArrayBuffer {
  return Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, length);
}

const missing = INCLUDE === undefined ? "needs CUDA's headers" : hasCC() ? undefined : "needs cc";

Deno.test({
  name: `arguments: each type lies in memory as C has it${missing ? ` (not here: ${missing})` : ""}`,
  ignore: missing !== undefined,
  fn: async () => {
    const expected = await fromC();
    const bytes = packed(VALUES.map(([type]) => type), VALUES.map(([, , value]) => value));
    VALUES.forEach(([type, c], i) => {
      assertEquals(bytes[i], expected[i].hex, `${type} ${c}`);
      assertEquals(elementOf(type)!.align, expected[i].align, `the alignment of ${type}`);
    });
  },
});

Deno.test("arguments: a struct of a view whose bytes are gone is refused", () => {
  for (const view of staleViews()) {
    const error = assertThrows(() => packed([{ bytes: 8 }], [view]), ArgumentError, "the view is stale");
    assertEquals(error.argument, "args[0]");
  }
});

Deno.test("arguments: a type has many spellings", () => {
  const spellings: [string, string][] = [
    ["const float * __restrict__", "const float*"],
    ["float const *", "const float*"],
    ["float* const", "float*"],
    [" unsigned   char* ", "unsigned char*"],
    ["const void*", "const void*"],
    ["volatile int *", "int*"],
    ["const int", "int"],
    ["const float4 *", "const float4*"],
  ];
  for (const [given, type] of spellings) assertEquals(parametersIn([given], "k")[0].info.type, type, given);
  assertEquals(parametersIn(["void*", { bytes: 12 }], "k").map(({ info }) => info.size), [8, 12]);
});

Deno.test("arguments: anything but a type, or too long, is refused", () => {
  const wrong: [unknown, string][] = [
    ["float**", "parameters[0]"],
    ["", "parameters[0]"],
    ["*", "parameters[0]"],
    ["struct point", "parameters[0]"],
    ["point*", "parameters[0]"],
    ["float5", "parameters[0]"],
    ["half4", "parameters[0]"],
    ["bool2", "parameters[0]"],
    ["void", "parameters[0]"],
    ["float&", "parameters[0]"],
    ["toString", "parameters[0]"],
    ["__proto__", "parameters[0]"],
    [7, "parameters[0]"],
    [null, "parameters[0]"],
    [{ bytes: 0 }, "parameters[0].bytes"],
    [{ bytes: 1.5 }, "parameters[0].bytes"],
    [{ bytes: 32_765 }, "parameters[0].bytes"],
    [{}, "parameters[0].bytes"],
  ];
  for (const [type, argument] of wrong) {
    assertEquals(assertThrows(() => parametersIn([type as never], "k"), ArgumentError).argument, argument, `${type}`);
  }
  const long = Array.from({ length: 5000 }, () => "double");
  assertEquals(assertThrows(() => parametersIn(long, "k"), ArgumentError).argument, "parameters");
  assertEquals(assertThrows(() => parametersIn("float*" as never, "k"), ArgumentError).argument, "parameters");
});

Deno.test("arguments: a value that its type does not have is refused", () => {
  const wrong: [ParameterType, unknown][] = [
    ...["int", "unsigned long long", "char"].flatMap((type): [string, unknown][] =>
      [NaN, Infinity, 0.5, "1", null, undefined, true, {}, [1], 2n ** 64n, -(2n ** 64n), 2 ** 64, Symbol("x")].map(
        (value) => [type, value],
      )
    ),
    ["uint", -1],
    ["unsigned char", 256],
    ["char", 128],
    ["char", -129],
    ["short", 32768],
    ["int", 2 ** 31],
    ["size_t", -1],
    ["size_t", -1n],
    ["long long", 2n ** 63n],
    ["long long", 2 ** 53],
    ["bool", 2],
    ["bool", "true"],
    ["float", "1"],
    ["float", 1n],
    ["float", true],
    ["double", null],
    ["float2", [1]],
    ["float2", [1, 2, 3]],
    ["float2", 1],
    ["float2", [1, "2"]],
    ["int2", [1, NaN]],
    ["float2", new Float32Array(1)],
    [{ bytes: 8 }, new Uint8Array(7)],
    [{ bytes: 8 }, new Float32Array(3)],
    [{ bytes: 8 }, new ArrayBuffer(8)],
    [{ bytes: 8 }, 8],
    [{ bytes: 8 }, null],
    ["float*", 0n],
    ["float*", undefined],
    ["float*", new Float32Array(4)],
    ["void*", {}],
  ];
  for (const [type, value] of wrong) {
    const error = assertThrows(() => packed([type], [value]), ArgumentError, undefined, `${type} ${String(value)}`);
    assertEquals(error.argument, "args[0]");
  }
});

Deno.test("arguments: a struct is its bytes, a null pointer is zero", () => {
  assertEquals(packed([{ bytes: 6 }], [Uint16Array.of(1, 2, 3)]), ["010002000300"]);
  assertEquals(packed(["float*", "const void*"], [null, null]), ["0".repeat(16), "0".repeat(16)]);
});

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
