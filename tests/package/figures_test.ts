// What may only become less: the code that a map runs, and what the main entry point names and loads.

import { assert, assertEquals } from "@std/assert";
import { hasDevice } from "../opencl/present.ts";
import { deno } from "../process.ts";
import { filesUnder, importsOf, loadedBy } from "./modules.ts";
import { ROOT } from "./project.ts";

/** Today's. Whoever makes one smaller writes the new figure here. */
const MOST = {
  "files in a warm map from the host to OpenCL": 25,
  "functions in a warm map from the host to OpenCL": 97,
  "files in its dispose after a kernel": 21,
  "functions in its dispose after a kernel": 86,
  "names of the main entry point": 70,
  "modules that the main entry point loads": 73,
} as const;

function assertNoMore(figures: Readonly<Partial<Record<keyof typeof MOST, number>>>): void {
  for (const [what, count] of Object.entries(figures)) {
    const most = MOST[what as keyof typeof MOST];
    console.log(`${what}: ${count} (at most ${most})`);
    assert(count <= most, `${what}: ${count}, and there may be ${most}`);
  }
}

const here = hasDevice("Portable");
Deno.test({
  name: here ? "a warm map runs no more code than it did" : "a warm map runs no more code than it did (not here: PoCL)",
  ignore: !here,
  async fn() {
    const args = [
      "run",
      "-q",
      "-A",
      "--no-check",
      "--config",
      `${ROOT}/deno.json`,
      `${ROOT}/tests/package/path_length.ts`,
    ];
    const { code, stdout, stderr } = await deno(args);
    assert(code === 0, stderr);
    const { map, dispose } = JSON.parse(stdout);
    assertNoMore({
      "files in a warm map from the host to OpenCL": map.files,
      "functions in a warm map from the host to OpenCL": map.functions,
      "files in its dispose after a kernel": dispose.files,
      "functions in its dispose after a kernel": dispose.functions,
    });
  },
});

/** The names that a module exports. */
async function namesOf(module: string): Promise<Set<string>> {
  const { code, stdout, stderr } = await deno(["doc", "--json", `${ROOT}/${module}`]);
  assert(code === 0, stderr);
  const { nodes } = JSON.parse(stdout) as { nodes: Record<string, { symbols: { name: string }[] }> };
  return new Set(Object.values(nodes).flatMap(({ symbols }) => symbols.map(({ name }) => name)));
}

Deno.test("the main entry point exports no more names than it did", async () => {
  assertNoMore({ "names of the main entry point": (await namesOf("mod.ts")).size });
});

Deno.test("the main entry point loads no more modules than it did", async () => {
  const imports = await importsOf(await filesUnder("mod.ts", "src", "ffi"));
  assertNoMore({ "modules that the main entry point loads": loadedBy("mod.ts", imports).size });
});

Deno.test("the main entry point and ./backend export no name twice", async () => {
  const [main, backend] = [await namesOf("mod.ts"), await namesOf("backend.ts")];
  assertEquals([...main.intersection(backend)], []);
});
