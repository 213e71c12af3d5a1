// docs/guides/errors.md has a row for every class of error, and for every variable that names a library.

import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { config, ROOT } from "./project.ts";
import { filesUnder } from "./modules.ts";

const guide = await Deno.readTextFile(join(ROOT, "docs/guides/errors.md"));

Deno.test("the guide of errors names every class of error", async () => {
  const modules = await Promise.all(Object.values(config.exports).map((path) => import(join(ROOT, path))));
  const names = modules.flatMap(Object.entries).filter(([, it]) => it?.prototype instanceof Error).map(([name]) =>
    name
  );
  const missing = [...new Set(names)].filter((name) => name !== "InteropError" && !guide.includes(`\`${name}\``));
  assertEquals(missing, []);
});

Deno.test("the guide of errors names the variables of every API's libraries", async () => {
  const texts = await Promise.all((await filesUnder("src/doctor")).map((file) => Deno.readTextFile(join(ROOT, file))));
  const names = texts.flatMap((text) => text.match(/SAMEPAGE_LIB_[A-Z]+/g) ?? []);
  const known = ["SAMEPAGE_LIB_LIBC", "SAMEPAGE_LIB_DMABUF"]; // libc itself, which is always there
  const isNamed = (name: string) => guide.includes(name) || guide.includes(`…${name.slice("SAMEPAGE_LIB".length)}`);
  assertEquals([...new Set(names)].filter((name) => !known.includes(name) && !isNamed(name)), []);
});
