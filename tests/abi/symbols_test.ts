import { assertEquals } from "@std/assert";
import { TARGETS } from "../../ffi/generate/clang.ts";
import type { Library } from "../../ffi/generate/library.ts";
import { LIBRARIES } from "../../ffi/generate/lists/mod.ts";
import { libc } from "../../ffi/generate/lists/libc.ts";
import { type Assertion, failingAssertions } from "./checker.ts";
import { committed } from "./claims.ts";
import { abiTest } from "./tools.ts";

type Table = Record<string, Deno.ForeignFunction>;

/** Compares symbol tables with the prototypes of the headers, through C++'s own type deduction. */
async function contradicted(library: Library, table: Table): Promise<string[][]> {
  const preamble = await Deno.readTextFile(new URL("signature.hpp", import.meta.url));
  const assertions = Object.entries(table).map(([name, symbol]): Assertion => {
    const natives = [symbol.result, ...symbol.parameters].map((type) =>
      String(type).replace("size", "64").toUpperCase()
    );
    return { name, condition: `is(&${symbol.name ?? name}, {${natives.join(", ")}})` };
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
  });
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
      fcntl: { parameters: ["i32", "i32", "buffer"], result: "i32" },
      ftruncate: { parameters: ["i32", "i64"], result: "i32" }, // right
    };
    const wrong = Object.keys(table).slice(0, -1);
    assertEquals(await contradicted(libc, table), TARGETS.map(() => wrong));
  },
);
