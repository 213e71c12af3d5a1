import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { config, deno, temporaryFolder } from "./project.ts";
import { firstSnippet, missingFor, named } from "./readme.ts";
import { serveRegistry } from "./registry.ts";

const snippet = await firstSnippet();
const missing = missingFor(snippet);

Deno.test({
  name: named("a fresh project imports it from a JSR registry and runs README's first snippet", missing),
  ignore: missing !== undefined,
  async fn() {
    await using registry = await serveRegistry();
    await using project = await temporaryFolder();
    const env = { JSR_URL: registry.url, DENO_DIR: join(project.path, ".deno") };
    const run = (args: string[]) => deno(args, { cwd: project.path, env });

    await Deno.writeTextFile(join(project.path, "deno.json"), "{}\n");
    await Deno.writeTextFile(join(project.path, "main.ts"), snippet.code);
    await run(["add", `jsr:${config.name}`]);
    const { stdout } = await run(["run", "--no-prompt", "--check", "--allow-ffi", "main.ts"]);

    assertEquals(stdout, snippet.prints);
    assert(registry.requests.includes(`/${config.name}/${config.version}/mod.ts`), "mod.ts came from elsewhere");
  },
});

Deno.test("every entry point can be imported from a JSR registry, and passes the type check there", async () => {
  await using registry = await serveRegistry();
  await using project = await temporaryFolder();
  const env = { JSR_URL: registry.url, DENO_DIR: join(project.path, ".deno") };
  const names = Object.keys(config.exports).map((entry) => entry.replace(/^\./, `jsr:${config.name}`));

  const lines = names.map((name, i) =>
    `import * as m${i} from "${name}";\nconsole.log(Object.keys(m${i}).length > 0);\n`
  );
  await Deno.writeTextFile(join(project.path, "deno.json"), "{}\n");
  await Deno.writeTextFile(join(project.path, "main.ts"), lines.join(""));
  const { stdout } = await deno(["run", "--no-prompt", "--check=all", "main.ts"], { cwd: project.path, env });
  assertEquals(stdout, "true\n".repeat(names.length));
});
