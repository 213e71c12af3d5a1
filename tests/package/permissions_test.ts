import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { deno, ROOT, temporaryFolder } from "./project.ts";
import { firstSnippet, missingFor, named } from "./readme.ts";

const snippet = await firstSnippet();
const missing = missingFor(snippet);

Deno.test({
  name: named("README's first snippet runs with --allow-ffi and nothing more", missing),
  ignore: missing !== undefined,
  async fn() {
    await using folder = await temporaryFolder();
    const main = join(folder.path, "main.ts");
    await Deno.writeTextFile(main, snippet.code);
    const config = join(ROOT, "deno.json");
    const args = ["run", "--no-prompt", "--no-lock", "--check", "--allow-ffi", "--config", config, main];
    assertEquals((await deno(args, { cwd: folder.path })).stdout, snippet.prints);
  },
});
