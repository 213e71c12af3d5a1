import { assert, assertEquals } from "@std/assert";
import { advise, advisorRow, CLAIMS, judgeClaim, MEASURED_CLAIMS } from "../../src/advisor/mod.ts";
import { H200, ORIN } from "./devices.ts";

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

Deno.test("measured: every claim, each with the verdict of its ratio", () => {
  assertEquals(MEASURED_CLAIMS.map(({ claim }) => claim), CLAIMS.map(({ id }) => id));
  for (const { claim, gpu, versions, ratio, verdict } of MEASURED_CLAIMS) {
    const { expected } = CLAIMS.find(({ id }) => id === claim)!;
    assertEquals(judgeClaim({ expected }, { mapped: 1, copied: ratio }).verdict, verdict, claim);
    assert(gpu === "NVIDIA H200" && versions.includes("CUDA 13.0"));
  }
});

Deno.test("measured: every ratio and verdict is that of the committed bench", () => {
  const { claims } = JSON.parse(Deno.readTextFileSync(new URL("../../bench/results/cuda-h200.json", import.meta.url)));
  assertEquals(
    MEASURED_CLAIMS.map(({ claim, ratio, verdict }) => ({ claim, ratio, verdict })),
    (claims as { id: string; ratio: number; verdict: string }[])
      .map(({ id, ratio, verdict }) => ({ claim: id, ratio: Number(ratio.toFixed(2)), verdict })),
  );
});

for (const { id, about, case: { size, cpu, gpu, repeats, existing = false } } of CLAIMS) {
  const measured = MEASURED_CLAIMS.find(({ claim }) => claim === id)!;
  const tells = about === "discrete" && measured.verdict !== "holds";
  Deno.test(`measured: ${id} is ${tells ? "" : "not "}cautioned of, and on no integrated GPU`, () => {
    const cautions = (device: typeof H200) =>
      advise({ size, cpu, gpu, repeats, existing, device }).cautions.filter(({ row }) => row === `own/measured/${id}`);
    assertEquals(cautions(ORIN), []);
    const found = cautions(H200);
    assertEquals(found.length, tells ? 1 : 0);
    for (const { says } of found) assert(says.includes(`${measured.ratio} times as long`), says);
  });
}

Deno.test("measured: what was not measured is not cautioned of", () => {
  const upload = { size: 33_177_600, cpu: "write-once", gpu: "coalesced", device: H200 } as const;
  const rows = (request: Partial<Parameters<typeof advise>[0]>) =>
    advise({ ...upload, ...request }).cautions.map(({ row }) => row as string);
  assert(rows({}).includes("own/measured/upload-once"));
  for (const other of [{ repeats: 2 }, { existing: true }, { size: 1000 }, { gpu: "scattered" }] as const) {
    assert(!rows(other).includes("own/measured/upload-once"));
  }
  const unmapped = { ...H200, canMapHostMemory: false };
  assert(!rows({ device: unmapped }).includes("own/measured/upload-once"), "copies, whatever the rule says");
});
