import { assertEquals } from "@std/assert";
import { TARGETS } from "../../ffi/generate/clang.ts";
import type { Library } from "../../ffi/generate/library.ts";
import { avcodec59 } from "../../ffi/generate/lists/avcodec59.ts";
import { avformat59 } from "../../ffi/generate/lists/avformat59.ts";
import { avhwcontext57 } from "../../ffi/generate/lists/avhwcontext57.ts";
import { avutil57 } from "../../ffi/generate/lists/avutil57.ts";
import { LATER_FFMPEG } from "../../ffi/generate/lists/ffmpeg.ts";
import { LIBRARIES } from "../../ffi/generate/lists/mod.ts";
import { libc } from "../../ffi/generate/lists/libc.ts";
import { type Assertion, failingAssertions } from "./checker.ts";
import { committed } from "./claims.ts";
import { headers } from "./cxx.ts";
import { abiTest, needsOf } from "./tools.ts";

type Table = Record<string, Deno.ForeignFunction>;

/** A list over fixture.h. */
const FIXTURE: Library = {
  name: "fixture",
  interface: "Fixture",
  headers: [new URL("fixture.h", import.meta.url).pathname],
  defines: {},
  functions: [],
  constants: [],
  structs: [],
};

/** What signature.hpp calls a type of Deno's. */
function native(type: Deno.NativeResultType): string {
  return typeof type === "string" ? `FFI_${type.replace("size", "64").toUpperCase()}` : "FFI_STRUCT";
}

/** Compares symbol tables with the prototypes of the headers, through C++'s own type deduction. */
async function contradicted(library: Library, table: Table): Promise<string[][]> {
  const preamble = await headers("signature.hpp", "signature_c.hpp");
  const assertions = Object.entries(table).map(([name, symbol]): Assertion => {
    const f = library.table === undefined
      ? `&${symbol.name ?? name}`
      : `decltype(${library.table}::${symbol.name ?? name}){}`;
    const natives = [symbol.result, ...symbol.parameters].map(native);
    const structs = symbol.parameters.flatMap((type, i) => (
      typeof type === "string"
        ? []
        : Object.values(library.byWords ?? {}).includes(type.struct.length)
        ? [`hasWords<Parameter<${i}, decltype(${f})>::Type>(${type.struct.length})`]
        : [`holds<Parameter<${i}, decltype(${f})>::Type, ${type.struct.map(native).join(", ")}>(0)`]
    ));
    return { name, condition: [`is(${f}, {${natives.join(", ")}})`, ...structs].join(" && ") };
  });
  const language = ["-x", "c++", "-std=c++14"];
  return await Promise.all(TARGETS.map((target) => (
    failingAssertions("clang++", language, target, library, preamble, assertions)
  )));
}

for (const library of LIBRARIES.filter(({ cxx, functions }) => !cxx && functions.length > 0)) {
  abiTest(`ffi/${library.name}: every symbol has the parameters and result of its prototype`, async () => {
    const { SYMBOLS } = await committed(library);
    const table = SYMBOLS as Table;
    assertEquals(Object.keys(table).length, library.functions.length);
    assertEquals(await contradicted(library, table), TARGETS.map(() => []));
  }, ...needsOf(library));
}

for (const library of LATER_FFMPEG) {
  const base = [avutil57, avhwcontext57, avcodec59, avformat59].find((base) => base.interface === library.interface)!;
  abiTest(`ffi/${library.name}: every function of ${base.name} has the same prototype`, async () => {
    assertEquals(await contradicted(library, (await committed(base)).SYMBOLS as Table), TARGETS.map(() => []));
  }, ...needsOf(library));
}

abiTest(
  "the checker finds a parameter too few, a wrong size, a wrong sign, a wrong class and a wrong result",
  async () => {
    const table: Table = {
      munmap: { parameters: ["u64"], result: "i32" },
      mprotect: { parameters: ["u64", "u32", "i32"], result: "i32" },
      sysconf: { parameters: ["u32"], result: "i64" },
      close: { parameters: ["buffer"], result: "i32" },
      getpid: { parameters: [], result: "void" },
      fcntl: { parameters: ["i32", "i32", "f64"], result: "i32" },
      ftruncate: { parameters: ["i32", "i64"], result: "i32" }, // right
    };
    const wrong = Object.keys(table).slice(0, -1);
    assertEquals(await contradicted(libc, table), TARGETS.map(() => wrong));
  },
);

abiTest("the checker finds a struct by value of a wrong size, sign, class and number of members", async () => {
  const by = (...struct: Deno.NativeType[]) => ({ parameters: ["u64", { struct }], result: "void" } as const);
  const tables: Record<string, Deno.ForeignFunction>[] = [
    { widget_move: by("i32", "f32") },
    { widget_move: by("u32", "f64") },
    { widget_move: by("i32", "u64") },
    { widget_move: by("i32") },
    { widget_move: by("i32", "f64", "f64") },
    { widget_move: by("i32", "f64"), widget_place: { parameters: ["u64"], result: "u64" } },
    { widget_move: by("i32", "f64") }, // right
    { widget_stamp: { parameters: [{ struct: Array<"u8">(15).fill("u8") }], result: "void" } },
    { widget_stamp: { parameters: [{ struct: ["u64", "u64"] }], result: "void" } },
    { widget_stamp: { parameters: [{ struct: Array<"u8">(16).fill("u8") }], result: "void" } }, // right
  ];
  const wrong = await Promise.all(tables.map(async (table) => (await contradicted(FIXTURE, table)).map(String)));
  const each = (name: string) => TARGETS.map(() => name);
  assertEquals(wrong, [
    ...Array(5).fill(each("widget_move")),
    each("widget_place"),
    each(""),
    ...Array(2).fill(each("widget_stamp")),
    each(""),
  ]);
});
