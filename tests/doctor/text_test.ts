import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { doctor, type Report, textOf } from "@samepage/interop/doctor";
import { row, table, WIDTH, wrap } from "../../src/doctor/show/columns.ts";
import { joined } from "../../src/doctor/show/text.ts";

/** Letters as a terminal has them in one column each. */
const lengthOf = (line: string) => [...line].length;

function assertFits(lines: readonly string[]): void {
  for (const line of lines) assert(lengthOf(line) <= WIDTH && !/[\p{Cc}\p{Cf}]/u.test(line), JSON.stringify(line));
}

Deno.test("doctor: the text fits 80 columns, and has every device, driver, edge and remedy", () => {
  const report = doctor();
  const text = textOf(report);
  assertFits(text.split("\n"));
  const words = text.replace(/\s+/g, "");
  const has = (part: string | undefined) => {
    if (part !== undefined) assert(words.includes(part.replace(/\s+/g, "")), `${part} is not in\n${text}`);
  };
  const { apis, routes, edges, targets } = report;
  for (const { library, modules, drivers, devices, findings } of apis) {
    for (const { file, version, package: owner } of [library, ...modules]) [file, version, owner].forEach(has);
    for (const { name, file } of drivers) [name, file].forEach(has);
    for (const { id, name, traits } of devices) [id, name, ...traits.map((trait) => trait.text)].forEach(has);
    for (const { what, remedy } of findings) [what, remedy].forEach(has);
  }
  for (const { id } of targets) has(id);
  for (const { transfer } of routes) has(transfer);
  for (const { from, to, reason, remedy } of edges) {
    const aliased = routes.some((it) => it.from === from && it.to === to && it.transfer === "alias");
    if (!aliased) [reason, remedy].forEach(has);
  }
});

Deno.test("doctor: without proofs nothing is called an alias but one address or handle for both", () => {
  const report = doctor({ proofs: false });
  // Verdicts are kept by device: what another test has proven in this process stays proven.
  for (const { steps } of report.routes.filter(({ transfer }) => transfer === "alias")) {
    for (const { edge, evidence } of steps) assert(/^(proven|the same )/.test(evidence!), `${edge}: ${evidence}`);
  }
});

Deno.test("textOf() says why a kind of memory has no row", () => {
  const report = doctor({ proofs: false });
  const targets = [...report.targets, { ...report.targets[0], id: "lonely:0" }];
  const text = textOf({ ...report, targets }).replace(/\s+/g, " ");
  assert(
    /no row [^:]*(:\d[^:]*)*lonely:0: nothing here makes such memory to try, or no route leads there/.test(text),
    text,
  );
});

Deno.test("doctor: a driver's words cannot break the text", () => {
  const nasty = "\u001b[31mred\u0007 \u202egnp.exe\n".repeat(9) + "x".repeat(200);
  const spoilt = (value: unknown): unknown => {
    if (typeof value === "string") return `${value}${nasty}`;
    if (Array.isArray(value)) return value.map(spoilt);
    if (typeof value !== "object" || value === null) return value;
    const kept = new Set(["id", "from", "to", "device", "transfer", "edge", "kind"]);
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, kept.has(k) ? v : spoilt(v)]));
  };
  assertFits(textOf(spoilt(doctor({ proofs: false })) as Report).split("\n"));
});

Deno.test("pairs: what has the same targets stands together, and no pair is lost or made up", () => {
  assertEquals(joined([["a", "c"], ["b", "c"], ["a", "d"], ["b", "d"]]), "a, b → c, d");
  assertEquals(joined([["a", "b"], ["b", "a"], ["c", "a"]]), "a, b → a, b; c → a");
  const name = fc.constantFrom("a", "b", "c", "d", "e");
  fc.assert(fc.property(fc.array(fc.tuple(name, name), { minLength: 1 }), (all) => {
    const pairs = all.filter(([from, to]) => from !== to);
    const shown = joined(pairs).split("; ").filter((group) => group !== "").flatMap((group) => {
      const [froms, tos] = group.split(" → ").map((side) => side.split(", "));
      return froms.flatMap((from) => tos.filter((to) => to !== from).map((to) => from + to));
    });
    assertEquals(shown.sort(), [...new Set(pairs.map((pair) => pair.join("")))].sort());
  }));
});

Deno.test("columns: wrapped lines hold every letter, in order, and fit", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 90 }), (text, width) => {
    const lines = wrap(text, width);
    assert(lines.every((line) => lengthOf(line) <= width && line !== ""));
    const letters = (of: string) => of.replace(/[\s\p{Cc}\p{Cf}]+/gu, "");
    assertEquals(letters(lines.join("")), letters(text));
  }));
});

Deno.test("columns: a row fits whatever its cells are", () => {
  const word = fc.string({ unit: "grapheme-ascii", maxLength: 120 });
  fc.assert(fc.property(word, word, word, (a, b, c) => assertFits(row([2, 12, 10], "", a, b).concat(row([20], a, c)))));
});

Deno.test("columns: a table goes on below itself where it is too wide", () => {
  const names = Array.from({ length: 12 }, (_, i) => `opencl:${i}`);
  const lines = table(["from", ...names], names.map((name) => [name, ...names.map(() => "migrate")]));
  assertFits(lines);
  for (const name of names) assert(lines.some((line) => line.startsWith("from") && line.split(/\s+/).includes(name)));
  assertEquals(lines.filter((line) => line === "").length, 1);
});
