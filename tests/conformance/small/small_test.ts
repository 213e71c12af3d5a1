/** The suite over a small backend, which it accepts, and over the same with a fault in it, which it has to reject. */
import "../edges.ts"; // first: it makes native calls fail
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CASES, casesOf } from "../cases/mod.ts";
import { EdgeRun, type Row } from "../rows.ts";
import { type Fault, FOLDER, PREFIX } from "./backend.ts";
import { small } from "./subject.ts";

/** Each fault, the case that finds it, and a word of what that says. */
const FAULTS: { readonly [fault in Fault]: readonly [found: string, says: string] } = {
  "never unmaps": ["hundred-allocations", `more bytes mapped of ${FOLDER}/${PREFIX}`],
  "never unlinks": ["hundred-allocations", `1 more files ${FOLDER}/${PREFIX}`],
  "never closes an fd": ["hundred-allocations", `1 more fds of ${FOLDER}/${PREFIX}`],
  "does not look at what ftruncate returns": ["fault-at-every-allocation", "failures that went unsaid"],
  "forgets what it has made where a later step fails": ["fault-at-every-allocation", "call 1 of libc.ftruncate"],
  "never unmaps what it has wrapped": ["fault-at-every-wrap", "more bytes mapped of /memfd:theirs"],
  "keeps the fd of a wrap that fails": ["fault-at-every-wrap", "1 more fds of /memfd:theirs"],
  "keeps the fd of an opening that fails": ["fault-at-opening", "call 1 of libc.statx"],
  "has no hostAddress": ["host-address-known", "has no host address"],
  "has another address for what it maps": ["aliasing-source-to-target", "it is called an alias"],
};

/** The rows of its edges, up to the first that fails. */
async function rowsOf(fault?: Fault, cases?: typeof CASES): Promise<Row[]> {
  const rows: Row[] = [];
  for (const candidate of small(fault)) {
    using run = new EdgeRun(candidate, "bare");
    for (const one of casesOf(candidate, "bare", cases)) {
      const row = await run.row(one);
      rows.push(row);
      if (row.result === "fail") return rows;
    }
  }
  return rows;
}

Deno.test("conformance accepts a small backend without a device", async () => {
  const rows = await rowsOf();
  assertEquals(
    rows.filter(({ result }) => result === "fail").map((row) => `${row.edge} ${row.case}: ${row.reason}`),
    [],
  );
  assert(rows.filter(({ result }) => result === "pass").length > 30, `${rows.length} rows`);
});

for (const [fault, [found, says]] of Object.entries(FAULTS)) {
  Deno.test(`conformance rejects a backend that ${fault}`, async () => {
    try {
      const last = (await rowsOf(fault as Fault, CASES.filter(({ name }) => name === found))).at(-1)!;
      assertEquals([last.case, last.result], [found, "fail"]);
      assertStringIncludes(last.reason!, says);
    } finally {
      for (const { name } of Deno.readDirSync(FOLDER)) {
        if (name.startsWith(PREFIX)) Deno.removeSync(`${FOLDER}/${name}`);
      }
    }
  });
}
