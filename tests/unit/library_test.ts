import { assert, assertEquals, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { LibraryNotFoundError } from "../../src/core/errors.ts";
import { lazyLibrary, type LibrarySpec, type Link, openingOf, setTap } from "../../src/core/native/library.ts";
import { runModule } from "../process.ts";

interface Functions {
  getpid(): number;
}

const symbols = { getpid: { parameters: [], result: "i32" } } as const;
const spec = (candidates: readonly string[], more: Partial<LibrarySpec<Deno.ForeignLibraryInterface>> = {}) =>
  lazyLibrary<Functions>({ api: "unittest", candidates, symbols, hint: "Install it.", ...more });

Deno.test("a library opens on the first call, once, from the first candidate that is there", () => {
  const open = spec(["/nowhere/libnone.so", "libc.so.6"]);
  const functions = open();
  assertEquals(functions.getpid(), Deno.pid);
  assertStrictEquals(open(), functions);
});

Deno.test("where none opens, the error lists every attempt with the loader's words, and the hint", () => {
  const open = spec(["/nowhere/libone.so", "libtwo-is-missing.so"]);
  for (let i = 0; i < 2; i++) {
    const error = assertThrows(() => open(), LibraryNotFoundError, "Install it.");
    assertEquals(error.attempts.map((attempt) => attempt.path), ["/nowhere/libone.so", "libtwo-is-missing.so"]);
    assert(error.attempts.every(({ message }) => message.includes("cannot open shared object file")));
    assertEquals([error.api, error.fn, error.hint], ["unittest", "dlopen", "Install it."]);
    assert(error.message.includes("/nowhere/libone.so, libtwo-is-missing.so"));
  }
});

Deno.test("where one path is given, the message says why it does not open", () => {
  const { message } = assertThrows(() => spec(["/nowhere/libone.so"])(), LibraryNotFoundError);
  assertStringIncludes(message, "/nowhere/libone.so: cannot open shared object file: No such file or directory.");
});

Deno.test("what came of opening can be asked: what opened, what did not, and the override", () => {
  const variable = "SAMEPAGE_LIB_OPENINGTEST";
  const api = "openingtest";
  assertEquals(openingOf(api), undefined);
  assertThrows(() => spec(["/nowhere/libnone.so"], { api })(), LibraryNotFoundError);
  const closed = openingOf(api);
  assertEquals([closed?.path, closed?.attempts.map(({ path }) => path)], [undefined, ["/nowhere/libnone.so"]]);
  const open = spec(["/nowhere/libnone.so", "libc.so.6"], { api });
  assertEquals(openingOf(api), closed);
  open();
  const { attempts } = closed!;
  assertEquals(openingOf(api), { variable, override: undefined, path: "libc.so.6", attempts });
  Deno.env.set(variable, "/nowhere/liboverride.so");
  try {
    assertThrows(() => spec(["libc.so.6"], { api })(), LibraryNotFoundError, variable);
    assertEquals([openingOf(api)?.override, openingOf(api)?.path], ["/nowhere/liboverride.so", undefined]);
  } finally {
    Deno.env.delete(variable);
  }
});

Deno.test("a library that lacks a symbol is an attempt that failed, and names the symbol", () => {
  const missing = { samepage_no_such_symbol: symbols.getpid };
  const error = assertThrows(() => spec(["libc.so.6"], { symbols: missing })(), LibraryNotFoundError);
  assert(error.attempts[0].message.includes("samepage_no_such_symbol"));
});

Deno.test("a library that does not suit is passed over for one that does, or else taken", () => {
  const api = "unsuitedtest";
  const link: Link = (path) => {
    if (path === "missing") throw new Error("cannot open it");
    return { getpid: () => path.length };
  };
  const unsuited = ({ getpid }: Record<string, unknown>) => {
    const length = (getpid as () => number)();
    return length > 4 ? `it is of length ${length}.` : undefined;
  };
  const opened = (...candidates: string[]) => spec(candidates, { api, link, unsuited })().getpid();
  assertEquals(opened("missing", "newer", "old", "older"), 3);
  assertEquals([openingOf(api)?.path, openingOf(api)?.attempts], ["old", [
    { path: "missing", message: "cannot open it" },
    { path: "newer", message: "it is of length 5." },
  ]]);
  assertEquals(opened("missing", "newest", "newer"), 6); // the first
  assertEquals([openingOf(api)?.path, openingOf(api)?.attempts.map(({ path }) => path)], [
    "newest",
    ["missing", "newer"],
  ]);
  Deno.env.set("SAMEPAGE_LIB_UNSUITEDTEST", "newer");
  try {
    assertEquals([opened("old"), openingOf(api)?.attempts], [5, []]);
  } finally {
    Deno.env.delete("SAMEPAGE_LIB_UNSUITEDTEST");
  }
});

Deno.test("SAMEPAGE_LIB_<API> is tried instead of the candidates", () => {
  Deno.env.set("SAMEPAGE_LIB_UNITTEST", "/nowhere/liboverride.so");
  try {
    const error = assertThrows(() => spec(["libc.so.6"])(), LibraryNotFoundError);
    assertEquals(error.attempts.map((attempt) => attempt.path), ["/nowhere/liboverride.so"]);
    Deno.env.set("SAMEPAGE_LIB_UNITTEST", "libc.so.6");
    assertEquals(spec(["/nowhere/libnone.so"])().getpid(), Deno.pid);
    Deno.env.set("SAMEPAGE_LIB_UNITTEST", "");
    assertEquals(spec(["libc.so.6"])().getpid(), Deno.pid);
  } finally {
    Deno.env.delete("SAMEPAGE_LIB_UNITTEST");
  }
});

Deno.test("a tap sees a library as it is opened, and may put other functions in", () => {
  const seen: string[] = [];
  setTap((api, functions) => {
    seen.push(api);
    return { ...functions, getpid: () => -1 };
  });
  try {
    assertEquals([spec(["libc.so.6"])().getpid(), seen], [-1, ["unittest"]]);
  } finally {
    setTap(undefined);
  }
  assertEquals(spec(["libc.so.6"])().getpid(), Deno.pid);
});

const use = `
  import { lazyLibrary } from "./src/core/native/library.ts";
  const symbols = { getpid: { parameters: [], result: "i32" } };
  const open = lazyLibrary({ api: "unittest", candidates: ["libc.so.6"], symbols, hint: "" });
  try {
    console.log(open().getpid() > 0);
  } catch (error) {
    console.log(error.name, error.flag, error.cause?.name);
  }
`;

Deno.test("the override is read only where that is permitted already, and nothing is asked for", async () => {
  const env = { SAMEPAGE_LIB_UNITTEST: "/nowhere/liboverride.so" };
  assertEquals((await runModule(use, { flags: ["--allow-ffi"], env })).stdout, "true\n");
  const { stdout } = await runModule(use, { flags: ["--allow-ffi", "--allow-env"], env });
  assertEquals(stdout, "LibraryNotFoundError undefined undefined\n");
});

Deno.test("without permission: a PermissionError, with Deno's own as its cause", async () => {
  assertEquals((await runModule(use, { flags: [] })).stdout, "PermissionError --allow-ffi NotCapable\n");
});

/** A C library that has what memory takes, and nothing else. */
const PART_OF_LIBC = `
static long call(long n, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
    : "rcx", "r11", "memory");
  return result;
}
static int code;
int *__errno_location(void) { return &code; }
const char *gnu_get_libc_version(void) { return "2.27"; }
void *mmap(void *at, unsigned long n, int p, int f, int fd, long o) { return (void *)call(9, (long)at, n, p, f, fd, o); }
int munmap(void *at, unsigned long n) { return call(11, (long)at, n, 0, 0, 0, 0); }
int madvise(void *at, unsigned long n, int what) { return call(28, (long)at, n, what, 0, 0, 0); }
int open(const char *path, int flags, int mode) { return call(2, (long)path, flags, mode, 0, 0, 0); }
long read(int fd, void *into, unsigned long n) { return call(0, fd, (long)into, n, 0, 0, 0); }
int close(int fd) { return call(3, fd, 0, 0, 0, 0, 0); }
int sched_yield(void) { return call(24, 0, 0, 0, 0, 0, 0); }
`;

Deno.test({
  name: "a C library that lacks what only some programs call gives memory, and a typed error where it is called",
  ignore: Deno.build.arch !== "x86_64",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "samepage-libc-" });
    try {
      const [source, library] = [`${folder}/part.c`, `${folder}/libpart.so`];
      await Deno.writeTextFile(source, PART_OF_LIBC);
      const args = ["-shared", "-fPIC", "-nostdlib", "-o", library, source];
      const { success, stderr } = await new Deno.Command("cc", { args }).output();
      assert(success, new TextDecoder().decode(stderr));
      const program = `
        import { host } from "./src/host/mod.ts";
        using tensor = host.allocate({ shape: [64], dtype: "u8" });
        tensor.bytes()[0] = 1;
        try {
          host.allocate({ shape: [64], dtype: "u8", sharable: true });
        } catch (error) {
          console.log(error.name, error.attempts[0].path === ${JSON.stringify(library)});
        }
      `;
      const { stdout, stderr: why } = await runModule(program, { flags: ["-A"], env: { SAMEPAGE_LIB_LIBC: library } });
      assertEquals(stdout, "LibraryNotFoundError true\n", why);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
