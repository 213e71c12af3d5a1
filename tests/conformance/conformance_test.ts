/** The suite as tests: one for each edge on each device, a step for each case. */
import { assert, assertEquals } from "@std/assert";
import { edgeOf } from "../../src/core/graph/mapper.ts";
import { KNOWN_EDGES } from "../../src/doctor/known_edges.ts";
import { type Case, filled, NotHere } from "./case.ts";
import { BINDING, CASES, casesOf } from "./cases/mod.ts";
import { API_NAMES, edgesOf } from "./edges.ts";
import { EdgeRun } from "./rows.ts";
import type { Candidate } from "./subject.ts";
import { pretenders, synthetic } from "./synthetic.ts";

const candidates = edgesOf(API_NAMES);

Deno.test("conformance: every edge written by hand has rows", () => {
  const covered = new Set(candidates.map((candidate) => candidate.edge));
  const table = KNOWN_EDGES.map(
    edgeOf,
  );
  assertEquals(table.filter((edge) => !covered.has(edge)), []);
});

Deno.test("conformance: every case has a name of its own, in kebab-case", () => {
  const names = CASES.map((one) => one.name);
  assertEquals(names.filter((name, i) => !/^[a-z]+(-[a-z]+)*$/.test(name) || names.indexOf(name) !== i), []);
  assertEquals(BINDING.filter((name) => !names.includes(name)), [], "binding cases that there are not");
});

Deno.test("conformance: a case may say that it is not here at its start, and no later", async () => {
  const [candidate] = synthetic();
  using run = new EdgeRun(candidate, "bare");
  const notHere = () => {
    throw new NotHere("no reason");
  };
  const resultOf = async (name: string, of: Case["run"]) => (await run.row({ name, run: of })).result;
  assertEquals(await resultOf("at-the-start", notHere), "not-here");
  const late: Case["run"] = async (subject) => {
    using _ = (await filled(subject.source)).source;
    notHere();
  };
  assertEquals(await resultOf("in-the-middle", late), "fail");
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
  for (const one of casesOf(candidate, "bare")) {
    const { result, reason } = await run.row(one);
    await test.step({
      name: result === "not-here" ? `${one.name} (not here: ${reason})` : one.name,
      ignore: result === "not-here",
      fn: () => assert(result === "pass", reason),
    });
  }
}
