import { assert, assertEquals } from "@std/assert";
import { advise, advisorRow, CLAIMS, judgeClaim } from "../../../src/cuda/advisor/mod.ts";
import { H200 } from "./devices.ts";

Deno.test("claims: ids are unique, rows exist, cases are different unless rules disagree", () => {
  assertEquals(new Set(CLAIMS.map(({ id }) => id)).size, CLAIMS.length);
  for (const { row, statement } of CLAIMS) {
    assert(advisorRow(row).says.length > 0 && statement.length > 0);
  }
  const cases = CLAIMS.filter(({ about }) => about === "discrete").map((claim) => JSON.stringify(claim.case));
  assertEquals(new Set(cases).size, cases.length);
});

for (const { id, row, about, expected, case: it } of CLAIMS) {
  const relation = about === "discrete" ? "is what advise says of a discrete GPU" : "is not, being a Tegra's rule";
  Deno.test(`claims: ${id} ${relation}`, () => {
    const { size, cpu, gpu, repeats, existing = false } = it;
    const { kind, rules } = advise({ size, cpu, gpu, repeats, existing, device: H200 });
    assertEquals(expected === (kind === "device" ? "copy-faster" : "mapped-faster"), about === "discrete");
    if (about === "discrete") assert(rules.includes(row), `${row} is not in ${rules}`);
  });
}

Deno.test("claims: one pass, many passes, strided access and small buffers are all among them", () => {
  const has = (test: (claim: (typeof CLAIMS)[number]) => boolean) => assert(CLAIMS.some(test));
  has((claim) => claim.case.repeats === 1 && claim.case.gpu === "coalesced");
  has((claim) => claim.case.repeats > 1);
  has((claim) => claim.case.stride !== undefined);
  has((claim) => claim.case.size <= 131_072);
  has((claim) => claim.case.existing === true);
});

Deno.test("claims: a measurement holds, differs or is even", () => {
  const mapped = { expected: "mapped-faster" } as const;
  const copy = { expected: "copy-faster" } as const;
  assertEquals(judgeClaim(mapped, { mapped: 100, copied: 150 }), { verdict: "holds", ratio: 1.5 });
  assertEquals(judgeClaim(copy, { mapped: 100, copied: 150 }), { verdict: "differs", ratio: 1.5 });
  assertEquals(judgeClaim(mapped, { mapped: 150, copied: 100 }).verdict, "differs");
  assertEquals(judgeClaim(copy, { mapped: 150, copied: 100 }).verdict, "holds");
  for (const copied of [96, 100, 104]) assertEquals(judgeClaim(mapped, { mapped: 100, copied }).verdict, "even");
});
