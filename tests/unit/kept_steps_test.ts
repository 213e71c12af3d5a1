// Edges keep the step that all memory takes: what depends on the memory, the access or the time is asked about each time.

import { assertEquals } from "@std/assert";
import type { Memory, MemoryTarget, Offer } from "../../src/core/contract.ts";
import { Port } from "../../src/core/device/port.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Context, Target } from "../../src/core/graph/context.ts";
import { portMapper } from "../../src/core/graph/port_mapper.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { Resource } from "../../src/core/life/resource.ts";
import type { Access } from "../../src/core/memory/access.ts";
import type { FdFacts } from "../../src/core/native/fd.ts";
import { Described } from "../../src/core/tensors/described.ts";
import { allocateTensor } from "../../src/core/tensors/over.ts";
import { Tensor, type TensorInit } from "../../src/core/tensors/tensor.ts";
import { command, fakeAllocation, FakeDriver } from "./fakes.ts";

class Made extends Tensor<bigint> {}

function contextOf(kind: string, ports: Partial<Memory<Made, bigint>>): Context & { target: MemoryTarget } {
  const resource = new Resource({ name: kind });
  const targets: Target[] = [];
  const context = { api: kind, name: kind, id: {}, resource, targets, [Symbol.dispose]: () => resource.dispose() };
  const target = {
    ...{ kind, context, is: (_value: unknown): _value is Made => true },
    ports: { exports: [], imports: [], tensor: (init: TensorInit<bigint>) => new Made(init), ...ports },
  };
  targets.push(target);
  return { ...context, target };
}

/** Two kinds of memory, whose edge is asked for its step: how the bytes cross, and whether the host waits; or `"closed"`. */
function edge(
  { out, into, gives, takes }: {
    readonly out?: Partial<Offer>;
    readonly into?: Partial<Offer>;
    readonly gives?: Partial<Memory<Made, bigint>>;
    readonly takes?: Partial<Memory<Made, bigint>>;
  },
) {
  const from = contextOf("gives", {
    exports: [{ kind: "host-pointer", ...out }],
    allocate: () => ({ handle: 1n, address: 4096n, release: () => {} }),
    export: (_tensor, kind) => new Exported(kind),
    ...gives,
  });
  const to = contextOf("takes", {
    imports: [{ kind: "host-pointer", ...into }],
    import: ({ value }) => ({ handle: value }),
    ...takes,
  });
  const mapper = portMapper("gives", "takes");
  const step = (source: Described, access: Access = "read-write", waits: readonly Fence[] = []) => {
    const found = mapper.probe(source, to.target, access, waits);
    return "reason" in found ? "closed" : `${found.transfer}${found.hostWait ? ", the host waits" : ""}`;
  };
  const tensorOf = (dtype: "u8" | "f32") => allocateTensor(from.target, { shape: [16], dtype });
  return { from, to, step, tensorOf };
}

class Exported {
  readonly port: Port;

  constructor(kind: ConstructorParameters<typeof Port>[0]) {
    this.port = new Port(kind, { value: 4096n, byteLength: 64 });
  }
}

let isOpen = true;

const closed = () => isOpen ? undefined : { reason: "it is closed now" };

const ASKED: Record<string, { readonly offer: Partial<Offer>; readonly else: string }> = {
  "Offer.judge()": { offer: { judge: () => ({ aliases: isOpen, evidence: "it was asked" }) }, else: "migrate" },
  "Offer.closed()": { offer: { closed }, else: "closed" },
  "Offer.refuse()": { offer: { refuse: closed }, else: "closed" },
};

for (const [name, { offer, else: other }] of Object.entries(ASKED)) {
  for (const side of ["out", "into"] as const) {
    Deno.test(`probe() asks ${name} of an ${side === "out" ? "export" : "import"} each time`, () => {
      const { step, tensorOf } = edge({ [side]: offer });
      using tensor = tensorOf("u8");
      const seen = [true, false, true, true, false].map((open) => {
        isOpen = open;
        return step(tensor.described);
      });
      assertEquals(seen, ["alias", other, "alias", "alias", other]);
    });
  }
}

for (const side of ["out", "into"] as const) {
  Deno.test(`probe() holds each memory against what an ${side === "out" ? "export" : "import"} takes`, () => {
    const { step, tensorOf } = edge({ [side]: { takes: { dtypes: ["u8"] } } });
    using bytes = tensorOf("u8");
    using floats = tensorOf("f32");
    assertEquals([bytes, floats, bytes].map(({ described }) => step(described)), ["alias", "closed", "alias"]);
  });
}

for (const side of ["gives", "takes"] as const) {
  Deno.test(`probe() asks the refuse() of ${side === "gives" ? "the source's" : "the target's"} ports each time`, () => {
    const refuse = (_: Described, access: Access) => access === "read" ? undefined : { reason: "it is only read" };
    const { step, tensorOf } = edge({ [side]: { refuse } });
    using tensor = tensorOf("u8");
    const seen = (["read", "read-write", "read"] as const).map((access) => step(tensor.described, access));
    assertEquals(seen, ["alias", "closed", "alias"]);
  });
}

Deno.test("probe() holds each fd against the access that an import needs", () => {
  const { from, step } = edge({ into: { fdAccess: "read-write" } });
  const seen = (["read-write", "read", "read-write"] as const).map((access) => {
    const fd: FdFacts = { access };
    const plane = { layout: layout({ shape: [16], dtype: "u8" }), allocation: fakeAllocation(16), start: 0, fd };
    return step(new Described(from.target, "read", [plane]), "read");
  });
  assertEquals(seen, ["alias", "closed", "alias"]);
});

Deno.test("probe() waits for what is in flight, and for nothing where nothing is", () => {
  const { step, tensorOf } = edge({});
  using tensor = tensorOf("u8");
  const line = new FakeDriver("device").line();
  line.submit([], command(() => {}));
  const fences = [line.fence()];
  const seen = [fences, [], fences, []].map((waits) => step(tensor.described, "read-write", waits));
  assertEquals(seen, ["alias, the host waits", "alias", "alias, the host waits", "alias"]);
  line.block(line.submitted);
});

for (const side of ["from", "to"] as const) {
  Deno.test(`probe() refuses once the ${side === "from" ? "source's" : "target's"} context was disposed`, () => {
    const all = edge({});
    const { described } = all.tensorOf("u8");
    assertEquals(all.step(described), "alias");
    all[side][Symbol.dispose]();
    assertEquals(all.step(described), "closed");
  });
}

Deno.test("probe() gives each memory its own place and layout", () => {
  const { to, tensorOf } = edge({});
  const mapper = portMapper("gives", "takes");
  using bytes = tensorOf("u8");
  using floats = tensorOf("f32");
  for (const { described } of [bytes, floats, bytes]) {
    const found = mapper.probe(described, to.target, "read", []);
    if ("reason" in found) throw new Error(found.reason);
    assertEquals([found.result.target, found.result.access], [to.target, "read"]);
    assertEquals(found.result.planes, described.planes);
  }
});
