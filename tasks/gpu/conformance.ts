import { join } from "@std/path";
import { fileOf } from "../../tests/conformance/results.ts";
import type { Row } from "../../tests/conformance/rows.ts";
import type { Job } from "./job.ts";
import type { Outcome } from "./step.ts";

/** The words after `deno`, but for the APIs. */
const COMMAND = ["run", "-A", "--no-check", "tests/conformance/main.ts", "--full", "--json", "--where=gpu"];

/**
 * Every case on every edge of an API; the rows become a file like those of tests/conformance/results. `apis`: the edges
 * that go into it, by their names in tests/conformance/edges.ts.
 */
export async function conformance(job: Job, machine: string, api: string, apis = [api]): Promise<Outcome> {
  const command = [...COMMAND, `--only=${apis}`];
  const { stdout, how } = await job.deno(command, "tests.log");
  const rows = rowsIn(stdout);
  if (rows === undefined) return { verdict: "red", counts: `it ended with ${how}`, failures: [`conformance: ${how}`] };
  const heading = { commit: job.commit, machine, command: `deno ${command.join(" ")}` };
  await Deno.writeTextFile(join(job.out, `conformance-${api}.json`), fileOf(heading, rows));
  const of = (result: Row["result"]) => rows.filter((row) => row.result === result);
  const failures = of("fail").map((row) => `${row.edge}  ${row.case}: ${row.reason}`);
  const edges = new Set(rows.map(({ edge }) => edge)).size;
  const counts = `${edges} edges: ${of("pass").length} pass, ${failures.length} fail, ${
    of("not-here").length
  } not here`;
  const remarks = new Set(of("not-here").map(({ edge, reason }) => `${edge}: ${reason}`));
  return {
    verdict: failures.length === 0 && of("pass").length > 0 ? "green" : "red",
    counts,
    failures,
    remarks: [...remarks],
  };
}

/** The array that the suite prints, whatever else was printed before. */
function rowsIn(stdout: string): Row[] | undefined {
  const start = stdout.search(/^\[$/m);
  if (start < 0) return undefined;
  try {
    return JSON.parse(stdout.slice(start));
  } catch {
    return undefined;
  }
}
