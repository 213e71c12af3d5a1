// What the graph says of memory that this machine has not: the conformance suite's fake knows every transfer.

import { assert, assertEquals } from "@std/assert";
import { host, ledger } from "@samepage/interop";
import { type Mapper, portMapper } from "@samepage/interop/backend";
import type { Node } from "../../src/doctor/api.ts";
import { type Edges, examineEdges } from "../../src/doctor/edges.ts";
import type { ApiReport } from "../../src/doctor/report.ts";
import { FakeContext } from "../conformance/template/queue/context.ts";
import type { FakeKind } from "../conformance/template/queue/memory.ts";

const LAYOUT = { shape: [64], dtype: "u8" } as const;
const HOST: Node = { device: "host", target: host, make: () => host.allocate(LAYOUT) };

const KINDS = ["fake.alias", "fake.migrate", "fake.copy"] as const;
const FAKE_MAPPERS = [
  ...KINDS.flatMap((kind) => [portMapper("host", kind), portMapper(kind, "host")]),
  portMapper("fake.alias", "fake.alias"),
  portMapper("fake.alias", "fake.migrate"),
  portMapper("fake.migrate", "fake.copy"),
];

/** Asks about the host and two devices of the fake. */
function examined(
  kinds: readonly FakeKind[],
  mappers: readonly Mapper[],
  made: boolean = true,
  apis: readonly ApiReport[] = [],
): Edges {
  const before = ledger.alive;
  const opened = new DisposableStack();
  const contexts = ["first", "second"].map((name) => opened.use(new FakeContext(name)));
  const nodes = contexts.flatMap((context, i) =>
    kinds.map((kind): Node => {
      const target = context.target(kind);
      return { device: `fake:${i}`, target, make: made ? () => target.allocate(LAYOUT) : undefined };
    })
  );
  const edges = examineEdges([HOST, ...nodes], mappers, { proofs: true, opened }, apis);
  opened.dispose();
  assertEquals(ledger.alive, before);
  return edges;
}

Deno.test("doctor: edges are open as the graph says: alias, migrate or copy", () => {
  const { targets, edges, routes } = examined(KINDS, FAKE_MAPPERS);
  const ids = ["fake:0.alias", "fake:0.migrate", "fake:0.copy", "fake:1.alias", "fake:1.migrate", "fake:1.copy"];
  assertEquals(targets.map(({ id }) => id), ["host", ...ids]);
  for (const transfer of ["alias", "migrate", "copy"] as const) {
    const found = edges.filter(({ edge }) => edge === `host→fake.${transfer}`);
    assertEquals(found.map((it) => [it.to, it.open, it.transfer]), [
      [`fake:0.${transfer}`, true, transfer],
      [`fake:1.${transfer}`, true, transfer],
    ]);
  }
  assertEquals(routes.length, 7 * 6);
  const across = routes.find(({ from, to }) => from === "fake:0.alias" && to === "fake:1.copy")!;
  assertEquals([across.open, across.transfer], [true, "copy"]);
});

Deno.test("doctor: an edge of an API that is not here is closed, with what that API lacks", () => {
  const cuda = { from: "host", to: "cuda" } as Mapper;
  const mapper: Mapper = { ...cuda, probe: () => ({ edge: "", reason: "never asked" }), map: () => never() };
  const library = { variable: "SAMEPAGE_LIB_CUDA", attempts: [], facts: [] };
  const findings = [{ what: "No cuda library could be opened." }, { what: "No GPU.", remedy: "Buy one." }];
  const api = { api: "cuda", library, modules: [], variables: {}, drivers: [], devices: [], findings };
  const { edges } = examined(["fake.alias"], [mapper], true, [api]);
  const reason = "there is no cuda here.";
  assertEquals(edges, [{ edge: "host→cuda", open: false, reason, remedy: "Buy one." }]);
});

Deno.test("doctor: a kind that nothing here makes is said to be so, and is a target all the same", () => {
  const { targets, edges, routes } = examined(["fake.alias"], FAKE_MAPPERS, false);
  assertEquals(targets[1].problem, "nothing here makes fake.alias memory to try.");
  assertEquals(edges.find(({ edge }) => edge === "host→fake.alias")?.open, true);
  assertEquals(edges.filter(({ edge }) => edge === "fake.alias→host").map(({ open, reason }) => [open, reason]), [
    [false, "nothing here makes fake.alias memory to try."],
    [false, "nothing here makes fake.alias memory to try."],
  ]);
  assert(routes.every(({ from, open }) => open === (from === "host")), JSON.stringify(routes));
});

Deno.test("doctor: one device's refusal is not another's, and a mapper that throws is closed", () => {
  const [toAlias] = FAKE_MAPPERS.filter(({ from, to }) => from === "host" && to === "fake.alias");
  const choosy: Mapper = {
    from: "host",
    to: "fake.alias",
    probe(source, target, access, waits) {
      if (target.context.name === "first") throw new Error("the probe fell over");
      if (target.context.name === "second") {
        return { edge: "host→fake.alias", reason: "the second will not.", remedy: "Ask." };
      }
      return toAlias.probe(source, target, access, waits);
    },
    map: () => never(),
  };
  const { edges, routes } = examined(["fake.alias"], [choosy]);
  assertEquals(edges, [
    { edge: "host→fake.alias", from: "host", to: "fake:0.alias", open: false, reason: "the probe fell over" },
    {
      edge: "host→fake.alias",
      from: "host",
      to: "fake:1.alias",
      open: false,
      reason: "the second will not.",
      remedy: "Ask.",
    },
  ]);
  assert(routes.every(({ open }) => !open));
});

function never(): never {
  throw new Error("the doctor maps nothing");
}
