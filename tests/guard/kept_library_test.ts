// Libraries that tests compile do not pile up, however a process ends.

import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { deno } from "../process.ts";
import { compileText, guardTest } from "./cxx.ts";
import { keptLibrary } from "./kept_library.ts";

async function namesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
}

/** Calls it with a new folder, and removes that. */
async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

guardTest("compileText() leaves nothing in the temporary folder of a process that is killed", async () => {
  await inFolder(async (TMPDIR) => {
    const program = `
      const { compileText } = await import(${JSON.stringify(import.meta.resolve("./cxx.ts"))});
      Deno.dlopen(await compileText('extern "C" int one() { return 1; }'), { one: { parameters: [], result: "i32" } });
      Deno.kill(Deno.pid, "SIGKILL");`;
    const args = ["eval", "--no-check", program];
    assertEquals((await deno(args, { env: { TMPDIR } })).signal, "SIGKILL");
    assertEquals(await namesIn(TMPDIR), []);
  });
});

guardTest("compileText() returns the library of an earlier call for the same text, and no other", async () => {
  const text = (n: number) => `extern "C" int number() { return ${n}; }`;
  const [one, two] = [await compileText(text(1)), await compileText(text(2))];
  assertNotEquals(one, two);
  assertEquals(await compileText(text(1)), one);
  await assertRejects(() => compileText("int number() { return x; }"), Error, "was not declared");
});

Deno.test("keptLibrary() makes a library anew whose bytes are not those that its name says", async () => {
  await inFolder(async (folder) => {
    let made = 0;
    const library = () =>
      keptLibrary(folder, "key", async (path) => {
        made++;
        await Deno.writeTextFile(path, "a library");
      });
    const path = await library();
    assertEquals([await library(), made], [path, 1]);
    await Deno.writeTextFile(path, "half a library");
    assertEquals([await library(), await Deno.readTextFile(path), made], [path, "a library", 2]);
    assertEquals((await namesIn(folder)).length, 1);
  });
});

Deno.test("keptLibrary() leaves no file where making fails, and removes what a killed process left", async () => {
  await inFolder(async (folder) => {
    const [left, recent] = [`${folder}/unfinished-1`, `${folder}/unfinished-2`];
    for (const path of [left, recent]) await Deno.writeTextFile(path, "half");
    await Deno.utime(left, new Date(0), new Date(0));
    await assertRejects(() => keptLibrary(folder, "key", () => Promise.reject(new Error("refused"))), Error, "refused");
    assertEquals(await namesIn(folder), ["unfinished-2"]);
  });
});
