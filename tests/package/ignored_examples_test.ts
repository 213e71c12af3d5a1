// Examples that need a GPU or a driver are marked ```ts ignore, and do not run here: their types are checked.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { filesUnder } from "./modules.ts";
import { deno, ROOT, temporaryFolder } from "./project.ts";

/** Where they stand alone; elsewhere they use what they do not declare. */
const PLACES = ["README.md", "docs", "src/cuda", "src/opencv/gpu_mat.ts", "src/pipeline"];

/** What stands for a package that is not a dependency. */
const NODE_AV = new URL("../ffmpeg/node_av.ts", import.meta.url).href;

/** One of them, by the file and line that it begins in. */
interface Example {
  readonly name: string;
  readonly code: string;
}

/** Every ```ts ignore block of a file; in a comment, without what each line of that begins with. */
function examplesIn(file: string, text: string): Example[] {
  return [...text.matchAll(/^( *(?:\* )?)```ts ignore\n([\s\S]*?)^ *(?:\* )?```$/gm)].map((match) => {
    const [, begin, block] = match;
    const line = text.slice(0, match.index).split("\n").length;
    const lines = block.split("\n").map((it) => it.startsWith(begin) ? it.slice(begin.length) : it.trim().slice(1));
    return { name: `${file.replaceAll("/", "-")}-${line}.ts`, code: lines.join("\n") };
  });
}

/** All of them. */
async function ignoredExamples(): Promise<Example[]> {
  const files = (await filesUnder(...PLACES)).filter((file) => /\.(?:ts|md)$/.test(file));
  const found = await Promise.all(
    files.map(async (file) => examplesIn(file, await Deno.readTextFile(join(ROOT, file)))),
  );
  return found.flat();
}

Deno.test("ignored examples: they are found in comments and in Markdown", () => {
  const comment = "  /**\n   * ```ts ignore\n   * if (a) {\n   *   b();\n   *\n   * }\n   * ```\n   */\n";
  assertEquals(examplesIn("src/a.ts", comment), [{ name: "src-a.ts-2.ts", code: "if (a) {\n  b();\n\n}\n" }]);
  const markdown = "```ts\nno();\n```\n\n```ts ignore\nyes();\n```\n";
  assertEquals(examplesIn("A.md", markdown), [{ name: "A.md-5.ts", code: "yes();\n" }]);
});

Deno.test("ignored examples: they type-check", async () => {
  const examples = await ignoredExamples();
  for (const place of ["docs-guides-", "src-cuda-", "src-opencv-"]) {
    assert(examples.some(({ name }) => name.startsWith(place)), place);
  }
  await using folder = await temporaryFolder();
  const paths = await Promise.all(examples.map(async ({ name, code }) => {
    const path = join(folder.path, name);
    const known = code.replaceAll('"node-av/api"', `"${NODE_AV}"`);
    await Deno.writeTextFile(path, known.includes("import ") ? known : `export {};\n${known}`);
    return path;
  }));
  await deno(["check", "--quiet", "--no-lock", "--config", join(ROOT, "deno.json"), ...paths]);
});
