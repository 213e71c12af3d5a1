// A published module may import what is published beside it, and nothing else: no npm, jsr or node module, no bare name
// of our own import map, no file that stays behind. An example is read and run, not imported: it names what it imports as
// programs do, and deno.json, which is published too, says what those names are.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { type Import, importsOf } from "./modules.ts";
import { config, publishedFiles, ROOT } from "./project.ts";

const files = await publishedFiles();
const isExample = (file: string) => file.startsWith("examples/");
const isRelative = (specifier: string) => specifier.startsWith("./") || specifier.startsWith("../");
const shown = (imports: readonly Import[]) => imports.map((it) => `${it.from} imports ${it.specifier}`);

Deno.test("published modules import only each other, by relative paths", async () => {
  const imports = await importsOf(files.filter((file) => !isExample(file)));
  const wrong = imports.filter((it) => !isRelative(it.specifier) || !files.includes(it.to) || isExample(it.to));
  assertEquals(shown(wrong), []);
});

Deno.test("published examples import files beside them, and names of deno.json", async () => {
  const imports = await importsOf(files.filter(isExample));
  const isNamed = (specifier: string) => Object.hasOwn(config.imports, specifier) || specifier.startsWith("node:");
  const wrong = imports.filter((it) => isRelative(it.specifier) ? !files.includes(it.to) : !isNamed(it.specifier));
  assertEquals(shown(wrong), []);
});

Deno.test("README's imports of a checkout name every entry point", async () => {
  const readme = await Deno.readTextFile(join(ROOT, "README.md"));
  const { imports } = JSON.parse(readme.match(/^```json\n(\{\n {2}"imports": [\s\S]*?)^```$/m)![1]);
  const wanted = Object.entries(config.exports).map(([entry, path]) => {
    return [entry.replace(/^\./, config.name), path.replace(/^\./, "/path/to/samepage")];
  });
  assertEquals(imports, Object.fromEntries(wanted));
});

Deno.test("what is published: the entry points, the licence, the README, the guides and the examples; no tests, no generator", () => {
  const entryPoints = Object.values(config.exports).map((path) => path.replace("./", ""));
  for (
    const file of [
      ...entryPoints,
      "LICENSE",
      "README.md",
      "docs/guides/host.md",
      "deno.json",
      "examples/edges/photo.jpg",
    ]
  ) {
    assert(files.includes(file), `${file} is not published`);
  }
  assertEquals(files.filter((file) => /_test\.ts$|^tests\/.*\.ts$|^tasks\/|^ffi\/generate\//.test(file)), []);
});
