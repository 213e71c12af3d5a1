// Importing opens no library: strace sees every file that the process opens, or tries to open. What Deno has loaded
// itself (libc, libm) it would not see opened again, so Deno.dlopen is forbidden besides.

import { assert, assertEquals } from "@std/assert";
import { join, toFileUrl } from "@std/path";
import { config, exec, ROOT, temporaryFolder } from "./project.ts";
import { named } from "./readme.ts";

/** strace may be installed and still be forbidden to trace, as in some containers. */
const canTrace = await exec("strace", ["-qq", "-e", "trace=none", "true"]).then(({ code }) => code === 0, () => false);
const missing = canTrace ? undefined : "strace, allowed to trace";

const FORBID_DLOPEN = `Deno.dlopen = (path) => {
  console.error("Deno.dlopen was called with", path);
  Deno.exit(1);
};
`;

/** The libraries that `deno run -A` of a program opens or looks for, without those of Deno itself. */
async function librariesOpenedBy(program: string): Promise<string[]> {
  const before = await traced("");
  return (await traced(program)).filter((library) => !before.includes(library));
}

async function traced(program: string): Promise<string[]> {
  await using folder = await temporaryFolder();
  const [main, log] = [join(folder.path, "main.ts"), join(folder.path, "strace.log")];
  await Deno.writeTextFile(main, program);
  const trace = ["-f", "-qq", "-s", "4096", "-e", "trace=open,openat,openat2", "-o", log];
  const args = [...trace, Deno.execPath(), "run", "-A", "--no-lock", "--config", join(ROOT, "deno.json"), main];
  const { code, stdout, stderr } = await exec("strace", args);
  assert(code === 0, `strace of deno: exit code ${code}\n${stdout}${stderr}`);
  const paths = (await Deno.readTextFile(log)).matchAll(/open(?:at2?)?\([^"]*"([^"]*\.so[^"]*)"/g);
  return [...new Set([...paths].map((match) => match[1]))].sort();
}

function lazyTest(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: named(name, missing), ignore: missing !== undefined, fn });
}

lazyTest("lazy: strace sees a library that is opened (a check on the test itself)", async () => {
  const opened = await librariesOpenedBy(
    `try { Deno.dlopen("libsamepage-none.so.1", {}); } catch { /* as it should */ }`,
  );
  assert(opened.some((path) => path.endsWith("libsamepage-none.so.1")), `it saw ${opened.join(", ")}`);
});

for (const [entry, path] of Object.entries(config.exports)) {
  lazyTest(`lazy: importing ${entry.replace(/^\./, config.name)} opens no library`, async () => {
    const url = toFileUrl(join(ROOT, path)).href;
    assertEquals(await librariesOpenedBy(`${FORBID_DLOPEN}await import(${JSON.stringify(url)});\n`), []);
  });
}
