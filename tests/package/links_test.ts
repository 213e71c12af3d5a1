// The links of the documentation lead somewhere: to a file that is published beside it, and to a heading in it.

import { assertEquals } from "@std/assert";
import { dirname, join } from "@std/path";
import { publishedFiles, ROOT } from "./project.ts";

const published = await publishedFiles();

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
  const isThere = published.some((name) => name === target || name.startsWith(`${target}/`));
  if (!isThere) return `${file}: ${link} is not published`;
  if (anchor === undefined) return undefined;
  const text = proseOf(await Deno.readTextFile(join(ROOT, target)));
  const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading));
  return anchors.includes(anchor) ? undefined : `${file}: ${target} has no heading #${anchor}`;
}

Deno.test("every relative link in the documentation leads to a published file, and to a heading of it", async () => {
  const files = published.filter((file) => file.endsWith(".md"));
  const problems = await Promise.all(files.map(async (file) => {
    const links = [...proseOf(await Deno.readTextFile(join(ROOT, file))).matchAll(/\]\(([^)\s]+)\)/g)];
    const relative = links.map(([, link]) => link).filter((link) => !/^[a-z]+:/.test(link));
    return await Promise.all(relative.map((link) => problemOf(file, link)));
  }));
  assertEquals(problems.flat().filter((problem) => problem !== undefined), []);
});
