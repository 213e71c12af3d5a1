import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { ArgumentError, DisposedError } from "@samepage/interop";
import { directoryCache, type OpenCLContext, type OpenCLProgram, type ProgramCache } from "@samepage/interop/opencl";
import { pack, unpack } from "../../src/opencl/programs/envelope.ts";
import { assertBytes, deviceOf, filled, open, SOURCE, test, testEach, testPairs, thrown, warningsOf } from "./help.ts";
import { runText } from "./subprocess.ts";

/** A cache that remembers what it was asked. */
class Watched implements ProgramCache {
  readonly kept = new Map<string, Uint8Array>();
  readonly asked: string[] = [];
  readonly given: string[] = [];

  get(key: string): Uint8Array | undefined {
    this.asked.push(key);
    return this.kept.get(key);
  }

  set(key: string, binary: Uint8Array): void {
    this.given.push(key);
    this.kept.set(key, binary);
  }
}

function assertFills(cl: OpenCLContext, program: OpenCLProgram, seed: number): void {
  using tensor = cl.allocate({ shape: [512], dtype: "u8" });
  program.kernel("fill").run({ items: [512] }, [tensor, seed]);
  const bytes = new Uint8Array(512);
  cl.queue.read(tensor, bytes);
  assertBytes(bytes, filled(512, seed));
}

/** Builds it, and returns whether it was built anew. */
function isBuilt(cl: OpenCLContext, cache: Watched, source = SOURCE, options = ""): boolean {
  const before = cache.given.length;
  using program = cl.program(source, { cache, options });
  if (source === SOURCE) assertFills(cl, program, 5);
  return cache.given.length > before;
}

testEach("a program is built once, and then read, in this context and the next", (platform) => {
  const cache = new Watched();
  for (const expected of [true, false]) {
    using cl = open(platform);
    assertEquals(isBuilt(cl, cache), expected);
    assertEquals(isBuilt(cl, cache), false);
  }
  assertEquals(new Set(cache.asked).size, 1);
  assert(/^[\w-]+$/.test(cache.asked[0]), cache.asked[0]);
});

testEach("another source, other options: another program", (platform) => {
  using cl = open(platform);
  const cache = new Watched();
  for (const options of ["", "-DA=1", "-DA=2", "-DA=1 -DB"]) {
    for (const n of [1, 2]) {
      const source = `kernel void k(global int* x) { x[0] = ${n}; }`;
      assertEquals(isBuilt(cl, cache, source, options), true, `${options} ${n}`);
      assertEquals(isBuilt(cl, cache, source, options), false, `${options} ${n}`);
    }
  }
  assertEquals(cache.kept.size, 8);
});

testPairs("two platforms have their own", (one, other) => {
  const cache = new Watched();
  for (const expected of [true, false]) {
    for (const platform of [one, other]) {
      using cl = open(platform);
      assertEquals(isBuilt(cl, cache), expected);
    }
  }
});

testEach("what is damaged, foreign or of another source is built anew, and kept", (platform) => {
  using cl = open(platform);
  const cache = new Watched();
  isBuilt(cl, cache);
  const [[key, good]] = cache.kept;
  const envelope = unpack(good.slice());
  const flipped = good.slice();
  flipped[good.length >> 1] ^= 4;
  const foreign = envelope.devices.map(({ identity, binary }) => ({
    identity: { ...identity, driver: "0.1" },
    binary,
  }));
  const spoilt: Uint8Array[] = [
    flipped,
    good.subarray(0, good.length - 1),
    new Uint8Array(0),
    pack({ ...envelope, devices: foreign }),
    pack({ ...envelope, source: "kernel void fill(global uchar* x, uchar seed) { x[0] = 1; }" }), // the same key
    pack({ ...envelope, source: undefined }),
    pack({ ...envelope, options: "-DOTHER" }),
  ];
  for (const entry of spoilt) {
    cache.kept.set(key, entry);
    assertEquals(isBuilt(cl, cache), true);
    assertEquals(isBuilt(cl, cache), false);
  }
});

testEach("a source that includes another is built every time", (platform) => {
  using cl = open(platform);
  const folder = Deno.makeTempDirSync();
  const header = `${folder}/value.h`;
  const spellings = ["#include", "  #  include", "#/* */include", "%:include", "#inc\\\nlude"];
  for (const [value, spelling] of [...spellings, ...spellings].entries()) {
    Deno.writeTextFileSync(header, `#define VALUE ${value}\n`);
    const cache = new Watched();
    const source = `${spelling} "${header}"\nkernel void k(global int* x) { x[0] = VALUE; }`;
    using program = cl.program(source, { cache });
    using out = cl.allocate({ shape: [1], dtype: "i32" });
    program.kernel("k").run({ items: [1] }, [out]);
    const bytes = new Int32Array(1);
    cl.queue.read(out, bytes);
    // Mesa's own cache, by the source alone, does not see that the header was changed.
    if (platform === "pocl") assertEquals(bytes[0], value, spelling);
    assertEquals([cache.asked, cache.given], [[], []], spelling);
  }
  const cache = new Watched();
  cl.program("kernel void k(global int* x) {}", { cache, options: `-I${folder}` })[Symbol.dispose]();
  assertEquals(cache.asked, []);
  Deno.removeSync(folder, { recursive: true });
});

testEach("what a cache does wrong is thrown, and nothing is left", (platform) => {
  using cl = open(platform);
  const source = "kernel void k(global int* x) {}";
  for (const cache of [null, 1, "cache", {}, { get: () => undefined }, []]) {
    assertEquals(
      thrown(ArgumentError, () => cl.program(source, { cache: cache as unknown as ProgramCache })).api !== "",
      true,
    );
  }
  for (const answer of [Promise.resolve(), "bytes", 7, null, {}]) {
    const cache = { get: () => answer as unknown as Uint8Array, set() {} };
    assertEquals(thrown(ArgumentError, () => cl.program(source, { cache })).argument, "cache");
  }
  const failing = new Error("no");
  const boom = () => {
    throw failing;
  };
  assertEquals(thrown(Error, () => cl.program(source, { cache: { get: boom, set() {} } })), failing);
  assertEquals(thrown(Error, () => cl.program(source, { cache: { get: () => undefined, set: boom } })), failing);
});

testEach("a cache that ends the context: nothing is built in it", (platform) => {
  const cl = open(platform);
  const cache = { get: () => (cl[Symbol.dispose](), undefined), set() {} };
  thrown(DisposedError, () => cl.program("kernel void k(global int* x) {}", { cache }));
  const again = open(platform);
  const late = { get: () => undefined, set: () => again[Symbol.dispose]() };
  const program = again.program("kernel void k(global int* x) {}", { cache: late });
  thrown(DisposedError, () => program.handle);
});

testEach("a folder keeps programs, and takes no harm from what else lies there", async (platform) => {
  using cl = open(platform);
  const folder = `${Deno.makeTempDirSync()}/made/by the cache`;
  const cache = directoryCache(folder);
  cl.program(SOURCE, { cache })[Symbol.dispose]();
  const files = [...Deno.readDirSync(folder)].map(({ name }) => name);
  assertEquals(files.length, 1);
  const file = `${folder}/${files[0]}`;
  const good = Deno.readFileSync(file);
  for (const spoilt of [good.subarray(0, 100), new Uint8Array(0), good.map((byte) => byte ^ 1)]) {
    Deno.writeFileSync(file, spoilt);
    using program = cl.program(SOURCE, { cache });
    assertFills(cl, program, 3);
    assertNotEquals(Deno.readFileSync(file).length, spoilt === good ? 0 : 100);
  }
  assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), files, "nothing unfinished");
  Deno.removeSync(file);
  Deno.mkdirSync(file); // cannot be read, cannot be written
  const warnings = await warningsOf(() => {
    using program = cl.program(SOURCE, { cache });
    assertFills(cl, program, 4);
  });
  assertEquals(warnings.length, 2, warnings.join("\n"));
  assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), files, "nothing unfinished");
  Deno.removeSync(folder, { recursive: true });
});

test("a FIFO, a device and a file too long in the folder count as not there, and are not waited for", [], async () => {
  const folder = Deno.makeTempDirSync();
  await new Deno.Command("mkfifo", { args: [`${folder}/fifo.clbin`] }).output();
  Deno.symlinkSync("/dev/zero", `${folder}/zero.clbin`);
  Deno.createSync(`${folder}/long.clbin`).close();
  Deno.truncateSync(`${folder}/long.clbin`, 2 ** 40);
  // In a process of its own, for what waits for a FIFO never comes back.
  const text = `
    import { directoryCache } from "@samepage/interop/opencl";
    const cache = directoryCache("${folder}");
    for (const key of ["fifo", "zero", "long"]) {
      console.log(key, cache.get(key));
      cache.set(key, new Uint8Array(3));
      console.log(key, cache.get(key).length);
    }
  `;
  const { late, stdout, stderr } = await runText(text);
  assertEquals(late, false, "it was waited for");
  assertEquals(
    stdout.trim().split("\n"),
    ["fifo undefined", "fifo 3", "zero undefined", "zero 3", "long undefined", "long 3"],
    stderr,
  );
  assertEquals(stderr.match(/it is not a regular file|it has more than 268435456 bytes/g)?.length, 3, stderr);
  Deno.removeSync(folder, { recursive: true });
});

test("a key that leads out of the folder is refused", [], () => {
  const cache = directoryCache("/tmp/samepage-no-such-folder");
  for (const key of ["", "..", "../x", "a/b", "a\0", "a.b"]) {
    assertEquals(thrown(ArgumentError, () => cache.get(key)).argument, "key");
    assertEquals(thrown(ArgumentError, () => cache.set(key, new Uint8Array(1))).argument, "key");
  }
  assertEquals(cache.get("00-11"), undefined);
  for (const path of ["", "a\0b", 1, null]) thrown(ArgumentError, () => directoryCache(path as string));
});

testEach("without permission for the folder the error names the flags", async (platform) => {
  const folder = Deno.makeTempDirSync();
  const text = `
    import { OpenCLContext, directoryCache, openclDevices } from "@samepage/interop/opencl";
    const device = openclDevices().find((d) => d.platform === "${deviceOf(platform).platform}");
    using cl = OpenCLContext.create([device]);
    try {
      cl.program("kernel void k(global int* x) {}", { cache: directoryCache("${folder}") });
    } catch (error) {
      console.log(error.name, error.flag, error.message.includes("--allow-read=${folder} --allow-write=${folder}"));
    }
    cl[Symbol.dispose]();
    console.log(JSON.stringify(ledger.alive));
  `;
  for (const [flag, missing] of [["--allow-env", "--allow-read"], [`--allow-read=${folder}`, "--allow-write"]]) {
    const flags = ["--no-prompt", "--allow-ffi", flag];
    const { stdout, stderr } = await runText(text, { flags });
    assertEquals(stdout.trim().split("\n"), [`PermissionError ${missing} true`, "{}"], stderr);
  }
  Deno.removeSync(folder, { recursive: true });
});
