// Where a forgotten object was made, which its warning says if somebody has asked for it.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { host, MapperGraph, type Tensor, traceForgotten } from "@samepage/interop";
import { collect } from "../gc.ts";
import { runModule } from "../process.ts";
import { warningsOf } from "../warnings.ts";

function makeTensor(): void {
  host.allocate({ shape: [4], dtype: "u8" });
}

function makeMap(graph: MapperGraph, source: Tensor): void {
  graph.map(source, host);
}

/** What is warned of when `make` forgets something. */
async function warned(make: () => void): Promise<string> {
  return (await warningsOf(async () => {
    make();
    await collect();
  })).join("\n");
}

Deno.test("traceForgotten() has warnings say where a tensor was made, without samepage's own calls", async () => {
  assertMatch(await warned(makeTensor), /u8 was never disposed.*SAMEPAGE_TRACE_FORGOTTEN=1 says where it was made\.$/);
  traceForgotten();
  try {
    const [what, ...calls] = (await warned(makeTensor)).split("\n");
    assertMatch(what, /^samepage: host tensor \[4\] u8 was never disposed.* It was made here:$/);
    assertMatch(calls[0], /^ {4}at makeTensor \(.*origin_test\.ts:\d+:\d+\)$/);
    assertEquals(calls.filter((call) => /\/src\/(core|host)\//.test(call)), []);
    using graph = new MapperGraph([host]);
    // The source is kept: of two forgotten objects, the engine chooses which one it warns of first.
    using source = host.allocate({ shape: [2], dtype: "u8" });
    const said = await warned(() => makeMap(graph, source));
    assert(said.includes("at makeMap (") && said.includes("slice [2] u8"), said);
  } finally {
    traceForgotten(false);
  }
  assertMatch(await warned(makeTensor), /says where it was made\.$/);
});

/** What a program may do to `Error`. It runs in a process of its own: nothing else may meet that. */
const CHANGES = {
  "returns no text": "Error.prepareStackTrace = (_, calls) => calls.length;",
  "throws": "Error.prepareStackTrace = () => { throw new Error('no stacks'); };",
};

for (const [what, change] of Object.entries(CHANGES)) {
  Deno.test(`traceForgotten() lets objects be made where Error.prepareStackTrace ${what}`, async () => {
    const { code, stdout, stderr } = await runModule(`
      import { host, ledger, traceForgotten } from "@samepage/interop";
      const limit = Error.stackTraceLimit;
      traceForgotten();
      ${change}
      (() => host.allocate({ shape: [4], dtype: "u8" }))();
      console.log(Error.stackTraceLimit === limit);
      await 0;
      for (let i = 0; i < 600 && ledger.alive["host.block"]; i++) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      console.log(JSON.stringify(ledger.alive));
    `);
    assertEquals([code, stdout], [0, "true\n{}\n"], stderr);
    assertMatch(stderr, /It was made here:\n {4}\(unknown: Error\.prepareStackTrace of this program returns no text\)/);
  });
}

Deno.test("traceForgotten() says where an object was made where Error is frozen", async () => {
  const { code, stdout, stderr } = await runModule(`
    import { host, ledger, traceForgotten } from "@samepage/interop";
    traceForgotten();
    Error.stackTraceLimit = 30;
    Object.freeze(Error);
    (function makes() { host.allocate({ shape: [4], dtype: "u8" }); })();
    await 0;
    for (let i = 0; i < 600 && ledger.alive["host.block"]; i++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    console.log(JSON.stringify(ledger.alive));
  `);
  assertEquals([code, stdout], [0, "{}\n"], stderr);
  assertMatch(stderr, /It was made here:\n {4}at makes \(/);
});

const FORGET = `
import { host } from "./src/host/mod.ts";
import { ledger } from "./src/core/life/ledger.ts";
function make() { host.allocate({ shape: [4], dtype: "u8" }); }
make();
await 0;
for (let i = 0; i < 600 && ledger.alive["host.block"]; i++) {
  gc();
  await new Promise((resolve) => setTimeout(resolve, 50));
}
`;

Deno.test("SAMEPAGE_TRACE_FORGOTTEN is read only where that is permitted", async () => {
  const env = { SAMEPAGE_TRACE_FORGOTTEN: "1" };
  const [all, ffi, without] = await Promise.all([
    runModule(FORGET, { env }),
    runModule(FORGET, { env, flags: ["--allow-ffi"] }),
    runModule(FORGET),
  ]);
  assertMatch(all.stderr, /It was made here:\n {4}at make \(/);
  for (const { stderr } of [ffi, without]) assertMatch(stderr, /never disposed.*says where it was made\.\n$/);
});
