// docs/seeds.md names files, and docs/guides/dlstreamer.md tests: each of them exists.

import { assert, assertEquals } from "@std/assert";
import { ROOT } from "./project.ts";

Deno.test("docs/seeds.md names only files that exist, and at least one for each seed", async () => {
  const text = await Deno.readTextFile(`${ROOT}/docs/seeds.md`);
  const sections = text.split(/^## /m).slice(1);
  assertEquals(sections.map((section) => section.slice(0, 3)), ["000", "001", "002", "003", "004"]);
  for (const section of sections) {
    const paths = Array.from(
      section.matchAll(/`((?:docs|examples|src|tasks|tests|bench)\/[\w./-]+)`/g),
      ([, path]) => path,
    );
    assert(paths.length > 0, section.slice(0, 40));
    for (const path of paths) {
      const found = await Deno.stat(`${ROOT}/${path}`).catch(() => undefined);
      assert(found?.isFile, `${path} is not a file`);
    }
  }
});

Deno.test("docs/guides/dlstreamer.md names a test for each of the eighteen faults", async () => {
  const text = await Deno.readTextFile(`${ROOT}/docs/guides/dlstreamer.md`);
  const rows = Array.from(text.matchAll(/^\| (\d+)\. .*\| (`.*`): "(.*)"\s*\|$/gm));
  assertEquals(rows.map(([, number]) => Number(number)), Array.from({ length: 18 }, (_, i) => i + 1));
  for (const [, number, paths, name] of rows) {
    for (const path of paths.replaceAll("`", "").split(", ")) {
      const source = await Deno.readTextFile(`${ROOT}/${path}`);
      assert(source.includes(name), `${number}: ${path} has no test "${name}"`);
    }
  }
});
