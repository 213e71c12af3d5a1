// That the committed files are what the generator writes is a step of `deno task check`.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { abiTest } from "./tools.ts";

const ROOT = new URL("../../", import.meta.url);

/** Runs what `deno task ffi` runs. */
async function ffi(...args: string[]): Promise<{ code: number; stderr: string }> {
  const main = fromFileUrl(new URL("ffi/generate/main.ts", ROOT));
  const { code, stderr } = await new Deno.Command(Deno.execPath(), { args: ["run", "-A", main, ...args], cwd: ROOT })
    .output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

abiTest("ffi --check names a file that was changed, lost or added, and regenerating mends it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "samepage-ffi-" });
  try {
    assertEquals(await ffi(`--out=${folder}`, "opencl"), { code: 0, stderr: "" });
    assertEquals(await ffi(`--out=${folder}`, "--check", "opencl"), { code: 0, stderr: "" });

    const structs = `${folder}/opencl/structs.ts`;
    await Deno.writeTextFile(structs, (await Deno.readTextFile(structs)).replace("offset: 8", "offset: 4"));
    await Deno.remove(`${folder}/opencl/handles.ts`);
    await Deno.writeTextFile(`${folder}/opencl/stray.ts`, "");

    const { code, stderr } = await ffi(`--out=${folder}`, "--check", "opencl");
    assertEquals(code, 1);
    for (const name of ["structs.ts", "handles.ts", "stray.ts"]) assertStringIncludes(stderr, `opencl/${name} is not`);
    assert(!stderr.includes("symbols.ts"));

    assertEquals((await ffi(`--out=${folder}`, "opencl")).code, 0);
    assertEquals(await ffi(`--out=${folder}`, "--check", "opencl"), { code: 0, stderr: "" });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

abiTest("ffi refuses a library that it has no list for", async () => {
  const { code, stderr } = await ffi("--check", "opencv");
  assertEquals(code, 2);
  assertStringIncludes(stderr, "There is no list for opencv");
});
