/** The rows that are committed, of machines that are not everybody's. */
import { assert, assertEquals } from "@std/assert";
import { casesOf } from "./cases/mod.ts";
import { edgesOf } from "./edges.ts";
import type { Heading } from "./results.ts";
import type { Row } from "./rows.ts";

type File = Heading & { readonly rows: readonly Row[] };

function read(name: string): File {
  return JSON.parse(Deno.readTextFileSync(new URL(`results/${name}`, import.meta.url)));
}

for (const { name } of Deno.readDirSync(new URL("results", import.meta.url))) {
  Deno.test(`conformance results: ${name} says where its rows come from, and none of them fails`, () => {
    const { commit, machine, command, rows } = read(name);
    assert([commit, machine, command].every(Boolean), `${name} lacks its commit, machine or command`);
    assert(!commit.endsWith("+"), `${name} is of ${commit}: files were changed, and not committed`);
    assertEquals(rows.filter(({ result }) => result === "fail"), []);
  });
}

/** Files of every case on every edge of an API, and how each is made. */
const WHOLE = [
  {
    name: "guest-dmabuf.json",
    api: "dmabuf",
    where: "guest",
    how: "run deno task test:guest, and keep out/guest/conformance-dmabuf.json as guest-dmabuf.json",
  },
  {
    name: "intel-sycl.json",
    api: "sycl",
    where: "bare",
    how: "deno task setup intel sycl, then deno task conformance --only=sycl --keep=intel-sycl",
  },
] as const;

for (const { name, api, where, how } of WHOLE) {
  Deno.test(`conformance results: ${name} has a row for each case of each edge of ${api}`, () => {
    const { rows } = read(name);
    assert(rows.every((row) => row.where === where), `a row that is not of ${where}`);
    const namesOf = (some: readonly Row[]) => some.map((row) => row.case);
    const edges = Map.groupBy(edgesOf([api]), ({ edge }) => edge);
    assertEquals(new Set(rows.map(({ edge }) => edge)), new Set(edges.keys()), how);
    for (const [edge, candidates] of edges) {
      const devices = Map.groupBy(rows.filter((row) => row.edge === edge), ({ device }) => device);
      for (const [i, some] of [...devices.values()].entries()) {
        const candidate = candidates[i] ?? { ...candidates[0], covered: true };
        assertEquals(namesOf(some), casesOf(candidate, where).map(({ name }) => name), `${edge}: ${how}`);
      }
    }
  });
}

Deno.test("conformance results: guest-dmabuf.json names its kernel", () => {
  const { kernel } = read("guest-dmabuf.json");
  assert(kernel?.startsWith("Linux "), `the kernel: ${kernel}`);
});
