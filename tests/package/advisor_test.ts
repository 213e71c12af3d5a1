// The advisor calls no library, so a program that asks it for advice loads no table of native functions either.

import { assertEquals } from "@std/assert";
import { importsOf, loadedBy } from "./modules.ts";
import { publishedFiles } from "./project.ts";

Deno.test("importing the advisor loads no table of ffi", async () => {
  const loaded = loadedBy("src/advisor/mod.ts", await importsOf(await publishedFiles()));
  assertEquals([...loaded].filter((file) => file.startsWith("ffi/")), []);
});
