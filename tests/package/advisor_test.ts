// The advisor calls no library, so a program that asks it for advice loads no table of native functions either.

import { assertEquals } from "@std/assert";
import { type Import, importsOf } from "./modules.ts";
import { publishedFiles } from "./project.ts";

/** What importing a module loads: imports of types load nothing. */
function loadedBy(module: string, imports: readonly Import[]): string[] {
  const loaded = new Set([module]);
  for (const from of loaded) {
    for (const it of imports) if (it.from === from && !it.typeOnly) loaded.add(it.to);
  }
  return [...loaded];
}

Deno.test("importing the advisor loads no table of ffi", async () => {
  const loaded = loadedBy("src/advisor/mod.ts", await importsOf(await publishedFiles()));
  assertEquals(loaded.filter((file) => file.startsWith("ffi/")), []);
});
