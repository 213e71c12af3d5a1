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

Deno.test("conformance results: guest-dmabuf.json has a row for each case of each edge of DMA-BUF's", () => {
  const { kernel, rows } = read("guest-dmabuf.json");
  assert(kernel?.startsWith("Linux "), `the kernel: ${kernel}`);
  assert(rows.every(({ where }) => where === "guest"), "a row that is not of the guest");
  const namesOf = (some: readonly Row[]) => some.map((row) => row.case);
  const edges = Map.groupBy(edgesOf(["dmabuf"]), ({ edge }) => edge);
  assertEquals(new Set(rows.map(({ edge }) => edge)), new Set(edges.keys()));
  for (const [edge, [first]] of edges) {
    const devices = Map.groupBy(rows.filter((row) => row.edge === edge), ({ device }) => device);
    for (const [i, some] of [...devices.values()].entries()) {
      const cases = casesOf(i === 0 ? first : { ...first, covered: true }, "guest").map(({ name }) => name);
      const how = `${edge}: run deno task test:guest, and keep out/guest/conformance-dmabuf.json as guest-dmabuf.json`;
      assertEquals(namesOf(some), cases, how);
    }
  }
});
