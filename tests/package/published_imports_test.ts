// A published module may import what is published beside it, and nothing else: no npm, jsr or node module, no bare name
// of our own import map, no file that stays behind.

import { assert, assertEquals } from "@std/assert";
import { importsOf } from "./modules.ts";
import { config, publishedFiles } from "./project.ts";

const files = await publishedFiles();

Deno.test("published modules import only each other, by relative paths", async () => {
  const imports = await importsOf(files);
  const isRelative = (specifier: string) => specifier.startsWith("./") || specifier.startsWith("../");
  const wrong = imports.filter((it) => !isRelative(it.specifier) || !files.includes(it.to));
  assertEquals(wrong.map((it) => `${it.from} imports ${it.specifier}`), []);
});

Deno.test("what is published: the entry points, the licence, the README and the guides; no tests, no generator", () => {
  const entryPoints = Object.values(config.exports).map((path) => path.replace("./", ""));
  for (const file of [...entryPoints, "LICENSE", "README.md", "docs/guides/host.md", "deno.json"]) {
    assert(files.includes(file), `${file} is not published`);
  }
  assertEquals(files.filter((file) => /_test\.ts$|^tests\/|^tasks\/|^examples\/|^ffi\/generate\//.test(file)), []);
});
