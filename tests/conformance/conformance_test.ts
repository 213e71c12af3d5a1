/** The suite as tests: one for each edge on each device, a step for each case. */
import { assert, assertEquals } from "@std/assert";
import { MAPPERS } from "../../mod.ts";
import { edgeOf } from "../../src/core/graph/mapper.ts";
import { CASES } from "./cases/mod.ts";
import { API_NAMES, edgesOf } from "./edges.ts";
import { EdgeRun } from "./rows.ts";
import type { Candidate } from "./subject.ts";
import { pretenders } from "./synthetic.ts";

const candidates = edgesOf(API_NAMES);

Deno.test("conformance: every mapper of the table has rows", () => {
  const covered = new Set(candidates.map((candidate) => candidate.edge));
  assertEquals(MAPPERS.map(edgeOf).filter((edge) => !covered.has(edge)), []);
});

Deno.test("conformance: every case has a name of its own, in kebab-case", () => {
  const names = CASES.map((one) => one.name);
  assertEquals(names.filter((name, i) => !/^[a-z]+(-[a-z]+)*$/.test(name) || names.indexOf(name) !== i), []);
});

for (const candidate of pretenders()) {
  Deno.test(`conformance: ${candidate.edge}, which copies and says that it aliases, is found out`, async () => {
    using run = new EdgeRun(candidate, "bare");
    for (const one of CASES.filter((one) => one.name.startsWith("aliasing-"))) {
      const { result, reason } = await run.row(one);
      assertEquals(result, "fail", one.name);
      assert(reason!.includes("it is called an alias"), reason);
    }
  });
}

for (const candidate of candidates) {
  const name = `conformance: ${nameOf(candidate)}`;
  const { open } = candidate;
  if (typeof open === "string") Deno.test({ name: `${name} (not here: ${open})`, ignore: true, fn() {} });
  else Deno.test(name, (test) => steps(candidate, test));
}

function nameOf({ edge, device }: Candidate): string {
  return device === undefined ? edge : `${edge} on ${device}`;
}

async function steps(candidate: Candidate, test: Deno.TestContext): Promise<void> {
  using run = new EdgeRun(candidate, "bare");
  for (const one of CASES) {
    const { result, reason } = await run.row(one);
    await test.step({
      name: result === "not-here" ? `${one.name} (not here: ${reason})` : one.name,
      ignore: result === "not-here",
      fn: () => assert(result === "pass", reason),
    });
  }
}
