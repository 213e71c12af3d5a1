// The links of the documentation lead somewhere: to a file of the checkout, and to a heading in it.

import { assertEquals } from "@std/assert";
import { dirname, join } from "@std/path";
import { filesUnder } from "./modules.ts";
import { ROOT } from "./project.ts";

/** GitHub's anchor of a heading. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
}

/** Markdown without its blocks of code. */
function proseOf(text: string): string {
  return text.replace(/^```.*?^```$/gms, "");
}

async function problemOf(file: string, link: string): Promise<string | undefined> {
  const [path, anchor] = link.split("#");
  const target = path === "" ? file : join(dirname(file), path);
  const exists = await Deno.stat(join(ROOT, target)).then(() => true, () => false);
  if (!exists) return `${file}: ${link} is not there`;
  if (anchor === undefined) return undefined;
  const text = proseOf(await Deno.readTextFile(join(ROOT, target)));
  const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading));
  return anchors.includes(anchor) ? undefined : `${file}: ${target} has no heading #${anchor}`;
}

Deno.test("every relative link in the documentation leads to a file, and to a heading of it", async () => {
  const files = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", ...await filesUnder("docs")];
  const problems = await Promise.all(files.map(async (file) => {
    const links = [...proseOf(await Deno.readTextFile(join(ROOT, file))).matchAll(/\]\(([^)\s]+)\)/g)];
    const relative = links.map(([, link]) => link).filter((link) => !/^[a-z]+:/.test(link));
    return await Promise.all(relative.map((link) => problemOf(file, link)));
  }));
  assertEquals(problems.flat().filter((problem) => problem !== undefined), []);
});
