// The table of misuse: every row is a program that does what it should not, in a process of its own. None may end by a
// signal, hang, or leave with an untyped error. A topic's rows are in `rows/`; a new file there is found by itself.

import { assert, assertEquals } from "@std/assert";
import { hasDevice } from "../opencl/present.ts";
import { type Driver, DRIVERS, type Row, type Rows } from "./row.ts";
import { assertOutcome, entryPoints, expectation, type Outcome, runRow } from "./run.ts";
import { publicMethods } from "./surface.ts";

const FOLDER = new URL("./rows/", import.meta.url);

/** A row on one driver. */
interface Run {
  readonly title: string;
  readonly row: Row;
  readonly driver: Driver | undefined;
  /** True where its driver is not on this machine. */
  readonly missing: boolean;
  /** Runs it, once. */
  readonly outcome: () => Promise<Outcome>;
}

const topics = Deno.readDirSync(FOLDER).map(({ name }) => name).toArray().sort();
const runs = new Map<string, readonly Run[]>();
for (const topic of topics) {
  const file = new URL(topic, FOLDER);
  const { default: rows }: { default: Rows } = await import(file.href);
  runs.set(topic, Object.entries(rows).flatMap(([name, row]) => runsOf(file.pathname, name, row)));
}

function runsOf(file: string, name: string, row: Row): Run[] {
  const drivers = row.opencl === true ? DRIVERS : [row.opencl];
  return drivers.map((driver) => {
    const missing = driver !== undefined && !hasDevice(driver);
    const title = driver === undefined ? name : `${name} (${missing ? "not here: " : ""}${driver})`;
    let outcome: Promise<Outcome> | undefined;
    return { title, row, driver, missing, outcome: () => outcome ??= runRow(file, name, row, driver) };
  });
}

for (const [topic, of] of runs) {
  Deno.test(`misuse: ${topic.replace(/\.ts$/, "")}`, async (t) => {
    // Beside each other: each waits for room.
    await Promise.all(of.map((run) =>
      t.step({
        name: run.title,
        ignore: run.missing,
        fn: async () => assertOutcome(run.row, run.driver, await run.outcome()),
        sanitizeOps: false,
        sanitizeResources: false,
        sanitizeExit: false,
      })
    ));
  });
}

const here = [...runs.values()].flat().filter(({ missing }) => !missing);

Deno.test("misuse: at least 60 rows, which expect at least 12 classes of errors or codes", async () => {
  const rows = new Set([...runs.values()].flat().map(({ row }) => row));
  assert(rows.size >= 60, `${rows.size} rows`);
  const expected = new Set<string>();
  for (const { row, driver, outcome } of here) {
    const failure = expectation(row, driver);
    const named = failure === undefined ? [] : [failure.error.name, failure.codeName];
    for (const name of [...named, ...(await outcome()).report?.caught ?? []]) {
      if (name !== undefined) expected.add(name);
    }
  }
  assert(expected.size >= 12, [...expected].join(", "));
});

Deno.test({
  name: `misuse: every public method is called by some row${hasDevice() ? "" : " (skipped: no OpenCL device)"}`,
  ignore: !hasDevice(),
  async fn() {
    const called = new Set<string>();
    for (const { outcome } of here) for (const name of (await outcome()).report?.called ?? []) called.add(name);
    const wanted = await publicMethods(await entryPoints());
    assert(wanted.length > 0);
    assertEquals(wanted.filter((name) => !called.has(name)), [], "public, and called by no row");
  },
});
