// The table of misuse: every row is a program that does what it should not, in a process of its own. None may end by a
// signal, hang, or leave with an untyped error. A topic's rows are in `rows/`; a new file there is found by itself.

import { assert, assertEquals } from "@std/assert";
import { hasDevice } from "../opencl/present.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
import { type Driver, DRIVERS, type Row, type Rows } from "./row.ts";
import { assertOutcome, entryPoints, expectation, type Outcome, runRow } from "./run.ts";
import { publicMethods } from "./surface.ts";

const FOLDER = new URL("./rows/", import.meta.url);

/** A row on one driver. */
interface Run {
  readonly title: string;
  readonly row: Row;
  readonly driver: Driver | undefined;
  /** True where its driver, or OpenCV, is not on this machine. */
  readonly missing: boolean;
  /** Runs it, once. */
  readonly outcome: () => Promise<Outcome>;
}

const topics = Deno.readDirSync(FOLDER).map(({ name }) => name).toArray().sort();
const runs = new Map<string, readonly Run[]>();
for (const topic of topics) {
  const file = new URL(topic, FOLDER);
  const { default: rows }: { default: Rows } = await import(file.href);
  const needs = topic.startsWith("opencv") && !hasOpenCV ? "OpenCV" : undefined;
  runs.set(topic, Object.entries(rows).flatMap(([name, row]) => runsOf(file.pathname, name, row, needs)));
}

/** `needs` is what all rows of the topic lack on this machine. */
function runsOf(file: string, name: string, row: Row, needs: string | undefined): Run[] {
  const drivers = row.opencl === true ? DRIVERS : [row.opencl];
  return drivers.map((driver) => {
    const lacks = needs ?? (driver !== undefined && !hasDevice(driver) ? driver : undefined);
    const missing = lacks !== undefined;
    const where = missing ? `not here: ${lacks}` : driver;
    const title = where === undefined ? name : `${name} (${where})`;
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

const isWhole = hasDevice() && hasOpenCV;

Deno.test({
  name: `misuse: every public method is called by some row${
    isWhole ? "" : " (skipped: needs an OpenCL device and OpenCV)"
  }`,
  ignore: !isWhole,
  async fn() {
    const called = new Set<string>();
    for (const { outcome } of here) for (const name of (await outcome()).report?.called ?? []) called.add(name);
    const wanted = await publicMethods(await entryPoints());
    assert(wanted.length > 0);
    assertEquals(wanted.filter((name) => !called.has(name)), [], "public, and called by no row");
  },
});
