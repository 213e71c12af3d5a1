/** How a library is opened with a guard: as every library is, with its own image, or without where there can be none. */
import { openFds } from "../gc.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { LibraryNotFoundError, NativeCallError } from "../../src/core/errors.ts";
import { lazyLibrary, openingOf, setTap } from "../../src/core/native/library.ts";
import { guarded, guardOf } from "../../src/guard/guard.ts";
import { type Ended, runModule } from "../process.ts";
import { compileFile, guardTest, THROWING, type Throwing, throwing } from "./cxx.ts";

function opener<F = Throwing>(
  api: string,
  candidates: readonly string[],
  symbols: Deno.ForeignLibraryInterface = THROWING,
): () => F {
  return lazyLibrary<F>({ api, candidates, symbols, hint: "Install it.", link: guarded() });
}

guardTest("candidates and attempts are as of every library", async () => {
  const path = await throwing();
  const open = opener("guardtest", ["/nowhere/libnone.so", "/etc/passwd", path]);
  assertEquals(guardOf("guardtest"), undefined);
  assertEquals(open().which(), 0);
  const { attempts, path: opened } = openingOf("guardtest")!;
  assertEquals([opened, attempts.map((it) => it.path)], [path, ["/nowhere/libnone.so", "/etc/passwd"]]);
  for (const { message } of attempts) {
    assertMatch(message, /^(?:cannot open shared object file|invalid ELF header|file too short)/);
  }
  assertEquals(guardOf("guardtest"), { guarded: true });
});

guardTest(
  "a symbol goes by its name in the library; one that is missing is null, or an attempt that failed",
  async () => {
    const path = await throwing();
    const symbols = {
      renamed: { name: "which", parameters: [], result: "i32" },
      again: { name: "which", parameters: [], result: "i32" },
      newer: { parameters: [], result: "i32", optional: true },
    } as const;
    const lib = opener<Record<keyof typeof symbols, () => number>>("named", [path], symbols)();
    assertEquals([lib.renamed(), lib.again(), lib.newer], [0, 0, null]);
    const missing = opener("missing", [path], { no_such_symbol: { parameters: [], result: "i32" } });
    const error = assertThrows(() => missing(), LibraryNotFoundError, "Install it.");
    assertStringIncludes(error.attempts[0].message, "no_such_symbol");
    assertEquals(guardOf("missing"), undefined);
  },
);

guardTest("a tap sees functions that throw typed errors already", async () => {
  const path = await throwing();
  const errors: unknown[] = [];
  setTap((api, functions) => {
    if (api !== "tapped") return functions;
    const real = functions.throwAs as (how: number) => number;
    return {
      ...functions,
      throwAs: (how: number) => {
        try {
          return real(how);
        } catch (error) {
          errors.push(error);
          return -1;
        }
      },
    };
  });
  try {
    const lib = opener("tapped", [path])();
    assertEquals(guardOf("tapped"), { guarded: true });
    assertEquals([lib.throwAs(0), lib.throwAs(2)], [0, -1]);
  } finally {
    setTap(undefined);
  }
  assert(errors.length === 1 && errors[0] instanceof NativeCallError);
});

guardTest("images do not get mixed up, though each was the same fd in its time", async () => {
  const which = [1, 2, 3, 4, 5];
  const paths = await Promise.all(which.map((n) => compileFile("throwing.cpp", `WHICH=${n}`)));
  const libs = which.map((n) => opener(`which${n}`, [paths[n - 1]])());
  for (const [i, lib] of libs.entries()) {
    assertEquals(lib.which(), which[i]);
    assertThrows(() => lib.throwWhich(), NativeCallError, `throwWhich threw std::runtime_error: ${which[i]}`);
  }
});

guardTest("one image serves all who open the same functions, and it leaves no fd behind", async () => {
  const path = await throwing();
  const open = (api: string) => opener(api, [path])();
  open("same");
  const fds = openFds();
  const images = imagesLoaded();
  for (let i = 0; i < 10; i++) assertThrows(() => open("same").throwAs(2), NativeCallError);
  assertEquals([openFds(), imagesLoaded()], [fds, images]);
  open("other");
  assertEquals([openFds(), imagesLoaded()], [fds, images + 1]);
});

guardTest("nothing of an image is writable, and nothing else is executable", async () => {
  opener("pages", [await throwing()])();
  const pages = Deno.readTextFileSync("/proc/self/maps").split("\n").filter((line) => line.includes("guard-pages"));
  assertEquals(pages.map((line) => line.split(/\s+/)[1]), ["r--p", "r--p", "r-xp", "r--p"]);
});

guardTest("what a thunk cannot call is called as it is, and that is said", async () => {
  const path = await throwing();
  const later = { which: { parameters: [], result: "i32", nonblocking: true } } as const;
  const lib = opener<{ which(): Promise<number> }>("later", [path], later)();
  assertEquals(await lib.which(), 0);
  const struct = { throwDouble: { parameters: [{ struct: ["f64"] }], result: "f64" } } as const;
  opener("struct", [path], struct)();
  for (const api of ["later", "struct"]) {
    const state = guardOf(api);
    assert(state?.guarded === false);
    assertStringIncludes(state.reason, "struct by value");
  }
});

const USE = `
  import { lazyLibrary, setTap } from "./src/core/native/library.ts";
  import { guarded, guardOf } from "./src/guard/guard.ts";
  const symbols = { which: { parameters: [], result: "i32" } };
  const open = lazyLibrary({ api: "use", candidates: [LIBRARY], symbols, hint: "", link: guarded() });
  BEFORE
  try {
    console.log(open().which(), JSON.stringify(guardOf("use")));
  } catch (error) {
    console.log(error.name, error.flag, error.cause?.name);
  }
`;

async function use(before: string, flags: readonly string[] = ["-A"]): Promise<Ended> {
  return await runModule(USE.replace("LIBRARY", JSON.stringify(await throwing())).replace("BEFORE", before), { flags });
}

guardTest("--allow-ffi is all that a guard needs; without it, or for one path, a PermissionError", async () => {
  assertEquals((await use("", ["--allow-ffi"])).stdout, '0 {"guarded":true}\n');
  assertEquals((await use("", [])).stdout, "PermissionError --allow-ffi NotCapable\n");
  assertEquals((await use("", [`--allow-ffi=${await throwing()}`])).stdout, "PermissionError --allow-ffi NotCapable\n");
});

for (
  const [what, before, reason] of [
    ["memfd_create", `memfd_create: () => -1`, "memfd_create failed with"],
    ["write", `write: () => 1n`, "write failed with"],
    [
      "dlopen",
      `dlopen: (name, flags) => flags & 4 ? real.dlopen(name, flags) : 0n`,
      "dlopen refused an image in memory",
    ],
    ["a C library with dlopen", `dlopen: null`, "dlopen elsewhere"],
    ["a C library with dlsym", `dlsym: null`, "has no which"],
  ]
) {
  guardTest(`without ${what} there is no guard, which is said, and the functions are there`, async () => {
    const tap = `setTap((api, real) => api === "libc" ? { ...real, ${before} } : real);`;
    const { stdout, stderr } = await use(tap);
    assertStringIncludes(stdout, '0 {"guarded":false,"reason":"', stderr);
    assertStringIncludes(stdout, reason);
  });
}

/** How many images of guards this process has. */
function imagesLoaded(): number {
  const lines = Deno.readTextFileSync("/proc/self/maps").split("\n").filter((line) => line.includes("samepage-guard-"));
  return new Set(lines.map((line) => line.split(/\s+/)[4])).size; // by inode
}
