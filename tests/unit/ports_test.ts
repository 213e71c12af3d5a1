// Edges that the graph makes of what kinds of memory give and take.

import { assert, assertEquals, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { Imported, Memory, MemoryTarget, Offer } from "../../src/core/contract.ts";
import { Port } from "../../src/core/device/port.ts";
import { offerSemaphores } from "../../src/core/device/line_sync.ts";
import { allocateTensor, importAs } from "../../src/core/tensors/over.ts";
import { findPlace, registerPlace } from "../../src/core/memory/peers.ts";
import { TensorViews } from "../../src/core/memory/view.ts";
import { assertOpenFds, collect, openFds } from "../gc.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Access } from "../../src/core/memory/access.ts";
import type { DeviceId } from "../../src/core/device/device_id.ts";
import type { Context, Target } from "../../src/core/graph/context.ts";
import { Graph, takeStep } from "../../src/core/graph/graph.ts";
import { chain } from "../../src/core/graph/chain.ts";
import { edgeOf, type Mapper, type ProbedStep } from "../../src/core/graph/mapper.ts";
import { edgesOf, portMapper, portMappers } from "../../src/core/graph/port_mapper.ts";
import { AccessError, ArgumentError, InteropError, NativeCallError, NoRouteError } from "../../src/core/errors.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { mapBlock, mapReadOnlyPages, PAGE, unmapPages } from "../../src/core/native/blocks.ts";
import { createMemfd } from "../../src/core/native/memfd.ts";
import { type Undo, undoAll } from "../../src/core/life/undo.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { adopt, adoptHandle, own } from "../../src/core/memory/own.ts";
import { Resource } from "../../src/core/life/resource.ts";
import type { FdFacts } from "../../src/core/native/fd.ts";
import { Described } from "../../src/core/tensors/described.ts";
import { Frame } from "../../src/core/tensors/frame.ts";
import { Tensor, type TensorInit } from "../../src/core/tensors/tensor.ts";
import { host } from "../../src/host/mod.ts";
import { ManualGate } from "../gate.ts";
import { warningsOf } from "../warnings.ts";
import { command, FakeDriver, type FakeLane, FakeMaker } from "./fakes.ts";
import { withEmptyLedger } from "./ledger.ts";

/** A tensor of a kind that is made up here. */
class Made extends Tensor<bigint> {}

/** A context with one kind of memory. */
function contextOf(
  kind: string,
  ports: Partial<Memory<Made, bigint>>,
  id: DeviceId = {},
): Context & { target: MemoryTarget } {
  const resource = new Resource({ name: `a context of ${kind}` });
  const context = {
    ...{ api: kind, name: `the ${kind}`, id, resource, targets: [] as Target[] },
    target: undefined as unknown as MemoryTarget,
    [Symbol.dispose]: () => resource.dispose(),
  };
  const target = {
    ...{ kind, context, is: (_value: unknown): _value is Made => true },
    ports: { exports: [], imports: [], tensor: (init: TensorInit<bigint>) => new Made(init), ...ports },
  };
  context.target = target;
  context.targets.push(context.target);
  return context;
}

const graphOf = (...contexts: Context[]) => new Graph([host, ...contexts], portMappers);
const bytes = () => host.allocate({ shape: [64], dtype: "u8" });
const pointer = (offer: Partial<Offer> = {}): Offer => ({ kind: "host-pointer", ...offer });
const byAddress = ({ value }: Port): Imported<bigint> => ({ handle: value });

Deno.test("ports: an edge is wherever one kind imports what another exports", () => {
  const takes = contextOf("takes", { imports: [{ kind: "dma-buf" }, pointer()] });
  const gives = contextOf("gives", { exports: [{ kind: "dma-buf" }] });
  const alone = contextOf("alone", { imports: [{ kind: "cl_mem" }], exports: [{ kind: "cuda-ipc" }] });
  assertEquals(portMappers([host, takes, gives, alone]).map(edgeOf).sort(), ["gives→takes", "host→takes"]);
});

Deno.test("Offer.from limits an import to one kind of memory", () => {
  const gives = contextOf("gives", { exports: [pointer()] });
  const takes = contextOf("takes", { imports: [pointer({ from: "host" }), { kind: "dma-buf", from: "host" }] });
  assertEquals(portMappers([host, gives, takes]).map(edgeOf).sort(), ["gives→host", "host→takes"]);
  using tensor = allocateTensor(
    contextOf("both", {
      exports: [pointer(), { kind: "memfd" }],
      allocate: () => ({ handle: 1n, release: () => {} }),
      export: (_tensor, kind) => ({ port: new Port(kind, {}) }),
    }).target,
    { shape: [4], dtype: "u8" },
  );
  const other = contextOf("other", { imports: [pointer({ from: "host" }), { kind: "memfd" }], import: byAddress });
  using graph = graphOf(tensor.target.context, other);
  assertEquals(graph.explain(tensor, other.target).steps[0].evidence, "the same memory, by its memfd");
});

Deno.test("Exported.shown says where the driver shows the memory, and with which pitches", () => {
  const rows = layout({ shape: [2, 4], dtype: "u8", strides: [32, 1] });
  using there = host.allocate({ shape: [64], dtype: "u8" });
  const fates: string[] = [];
  const block = { kind: "shown", byteLength: 36, address: 4096n, free: (fate: string) => void fates.push(fate) };
  const gives = contextOf("gives", {
    exports: [{ kind: "host-view", places: true }],
    allocate: () => ({ handle: 1n, address: 8192n, release: () => {} }),
    export: () => ({
      port: new Port("host-view", { value: there.address, byteLength: 36 }),
      shown: { block, layouts: [rows] },
    }),
  });
  using tensor = allocateTensor(gives.target, { shape: [2, 4], dtype: "u8" });
  using graph = graphOf(gives);
  assertEquals(graph.explain(tensor, host).steps.map(({ transfer }) => transfer), ["alias"]);
  {
    using mapped = graph.map(tensor, host);
    assertEquals([mapped.address, mapped.layout.strides], [there.address, [32, 1]]);
    assertEquals([mapped.grant.allocation.block, mapped.grants[1].allocation], [block, tensor.grant.allocation]);
    assertThrows(() => tensor.handle, AccessError);
  }
  assertEquals(fates, ["unused"]);
  assertEquals(tensor.handle, 1n);
});

for (const at of ["there", "takeBack"] as const) {
  Deno.test(`a map between two lines that wait by the host has the failure of its copy, ${at}`, () => {
    const made = (name: string) =>
      command(() => {
        if (name === at) throw new NativeCallError("the copy failed", { api: "fake", fn: "fakeCommand", code: 5 });
      });
    const [first, second] = [new FakeDriver("first").line(), new FakeDriver("second").line()];
    const stage = (_: Tensor, byteLength: number) => ({
      block: mapBlock({ byteLength, align: PAGE, sharable: false, guard: false }),
      there: () => made("there"),
      back: () => made("back"),
    });
    const gives = contextOf("gives", {
      line: first,
      exports: [pointer({ transfer: "copy", stage })],
      allocate: () => ({ handle: 1n, release() {} }),
    });
    const takeBack = (step: number) => step === 0 ? made("takeBack") : undefined;
    const takes = contextOf("takes", {
      line: second,
      imports: [pointer({ transfer: "copy" })],
      import: () => ({ handle: 2n, bring: () => made("bring"), once: true, takeBack }),
    });
    using graph = graphOf(gives, takes);
    using source = allocateTensor(gives.target, { shape: [64], dtype: "u8" });
    const mapped = graph.map(source, takes.target, { copy: "allow" });
    assertThrows(() => mapped[Symbol.dispose](), NativeCallError, "the copy failed");
  });
}

Deno.test("allocateTensor() keeps memory for good once a view of it was moved away", async () => {
  let released = 0;
  const page = mapBlock({ byteLength: 64, align: PAGE, sharable: false, guard: false });
  const gives = contextOf("gives", {
    exports: [{ kind: "host-view" }],
    allocate: () => ({ handle: 1n, address: page.address, release: () => void released++ }),
    export: () => ({ port: new Port("host-view", { value: page.address, byteLength: 64 }) }),
  });
  const tensor = () => allocateTensor(gives.target, { shape: [64], dtype: "u8" });
  using graph = graphOf(gives);
  {
    using kept = tensor();
    using mapped = graph.map(kept, host);
    mapped.bytes();
  }
  assertEquals(released, 1);
  await warningsOf(() => {
    using moved = tensor();
    using mapped = graph.map(moved, host);
    structuredClone(mapped.bytes().buffer, { transfer: [mapped.bytes().buffer] });
    return Promise.resolve();
  });
  assertEquals(released, 1);
});

Deno.test("host.wrap() refuses to write what another API has mapped for reading", () => {
  const undo: Undo = [];
  const { fd } = createMemfd(PAGE, undo);
  const address = mapReadOnlyPages(PAGE, fd, true);
  undo.push(() => unmapPages(address, PAGE));
  try {
    const gives = contextOf("gives", { allocate: () => ({ handle: 1n, address, release() {} }) });
    using tensor = allocateTensor(gives.target, { shape: [64], dtype: "u8" });
    assertEquals(tensor.grant.allocation.block.address, address);
    const wrap = (access: Access) => host.wrap(address, { shape: [64], dtype: "u8" }, { access })[Symbol.dispose]();
    wrap("read");
    assertThrows(() => wrap("read-write"), ArgumentError, "is read-only");
  } finally {
    undoAll(undo, "unmapping a page");
  }
});

Deno.test("ports: an offer holds for the device that it names; between others the edge is closed, with both UUIDs", () => {
  const offers: Offer[] = [{ kind: "opaque-fd", device: { uuid: "ab" } }];
  const gives = contextOf("gives", { exports: offers, allocate: () => ({ handle: 1n, release: () => {} }) }, {
    uuid: "ab",
  });
  const [same, other] = ["ab", "cd"].map((uuid) => contextOf("takes", { imports: [{ kind: "opaque-fd" }] }, { uuid }));
  assertEquals(portMappers([gives, same]).map(edgeOf), ["gives→takes"]);
  using tensor = allocateTensor(gives.target, { shape: [4], dtype: "u8" });
  using graph = graphOf(gives, other);
  const { refused } = assertThrows(() => graph.map(tensor, other.target), NoRouteError);
  assertStringIncludes(refused[0].reason, "UUID ab");
  assertStringIncludes(refused[0].reason, "UUID cd");
  const demands = contextOf("demands", { imports: offers }, { pci: "0:1:0.0" });
  using toDemands = graphOf(gives, demands);
  assertThrows(() => toDemands.map(tensor, demands.target), NoRouteError, "no UUID");
});

/** Memory of a driver's, of whose fds so much is known. */
function withFds(fd: FdFacts): (init: TensorInit<bigint>) => Made {
  return (init) =>
    new class extends Made {
      protected override describe(): Described {
        const { layout, grant: { allocation, start } } = this;
        return new Described(this.target, this.access, [{ layout, allocation, start, fd }]);
      }
    }(init);
}

const FDS = [
  ["for reading alone", { access: "read" }, 'its dma-buf is open for "read" only, and the driver maps what it imports'],
  [
    "whose mapping is not the memory",
    { access: "read-write", hidden: { reason: "it lies elsewhere." } },
    "it lies elsewhere.",
  ],
] as const;

for (const [name, fd, reason] of FDS) {
  Deno.test(`ports: an import that maps fds for writing takes no fd ${name}: the edge says so, or takes another kind of port`, () => {
    const kinds: string[] = [];
    const gives = contextOf("gives", {
      exports: [{ kind: "dma-buf" }, pointer()],
      allocate: () => ({ handle: 1n, release: () => {} }),
      tensor: withFds(fd),
      export: (_tensor, kind) => ({ port: new Port(kind, { value: 1n }) }),
    });
    const takes = (offers: readonly Offer[]) =>
      contextOf("takes", {
        imports: offers,
        import(port) {
          kinds.push(port.kind);
          return { handle: 2n };
        },
      });
    using tensor = allocateTensor(gives.target, { shape: [4], dtype: "u8" });
    const map = (...offers: Offer[]) => {
      const other = takes(offers);
      using graph = graphOf(gives, other);
      graph.map(tensor, other.target, { access: "read" })[Symbol.dispose]();
    };
    map({ kind: "dma-buf" });
    map({ kind: "dma-buf", fdAccess: "read-write" }, pointer());
    assertEquals(kinds, ["dma-buf", "host-pointer"]);
    const { message } = assertThrows(() => map({ kind: "dma-buf", fdAccess: "read-write" }), NoRouteError);
    assertStringIncludes(message, reason);
  });
}

Deno.test("ports: what is known of the fds of memory says nothing of those of a map of it", () => {
  const gives = contextOf("gives", {
    exports: [{ kind: "crate" }],
    allocate: () => ({ handle: 1n, release: () => {} }),
    tensor: withFds({ access: "read" }),
    export: (_tensor, kind) => ({ port: new Port(kind, { value: 1n }) }),
  });
  const between = contextOf("between", {
    imports: [{ kind: "crate" }],
    exports: [{ kind: "dma-buf" }],
    import: byAddress,
    export: (_tensor, kind) => ({ port: new Port(kind, { value: 1n }) }),
  });
  const last = contextOf("last", { imports: [{ kind: "dma-buf", fdAccess: "read-write" }], import: byAddress });
  using tensor = allocateTensor(gives.target, { shape: [4], dtype: "u8" });
  using graph = graphOf(gives, between, last);
  using mapped = graph.map(tensor, last.target);
  assertEquals(mapped.route.steps.length, 2);
});

Deno.test("ports: memory with a line takes an address by its import, and its line begins and ends the map", () => {
  const seen: string[] = [];
  const line = new FakeDriver("acts").line();
  const says = (word: string) => command(() => void seen.push(word));
  const acts = contextOf("acts", {
    line,
    imports: [pointer()],
    addressOf: () => undefined,
    import({ value }) {
      seen.push("imported");
      return {
        handle: value,
        bring: () => says("brought"),
        takeBack: (step) => step === 0 ? says("taken back") : undefined,
      };
    },
  });
  using graph = graphOf(acts);
  using source = bytes();
  graph.map(source, acts.target)[Symbol.dispose]();
  assertEquals(seen, ["imported", "brought", "taken back"]);
});

Deno.test("ports: a later step that finds only when taken that it has to copy is refused; if it may, the route says so", () => {
  const gives = contextOf("gives", { allocate: () => ({ handle: 1n, release: () => {} }) });
  const [via, takes] = [contextOf("via", {}), contextOf("takes", {})];
  let asked = 0;
  const step = (from: string, to: string, transfer: () => "alias" | "copy"): Mapper => ({
    ...{ from, to },
    probe: (source, target, access) => (
      { edge: `${from}→${to}`, transfer: transfer(), hostWait: false, bytesMoved: 4, result: source.as(target, access) }
    ),
    map: (source, target, job) =>
      new Made({
        ...{ target, handle: 1n, layout: (source as Made).layout, parent: source },
        resource: new Resource({ name: job.name, undo: job.undo, grants: job.grants, owners: [source.resource] }),
      }),
  });
  const mappers = [
    step("gives", "via", () => "alias"),
    step("via", "takes", () => asked++ === 0 ? "alias" : "copy"), // a probe does not know all of what will be there
  ];
  using tensor = allocateTensor(gives.target, { shape: [4], dtype: "u8" });
  using graph = new Graph([gives, via, takes], mappers);
  assertThrows(() => graph.map(tensor, takes.target), NoRouteError, "it would copy 4 bytes to the takes");
  tensor.borrow("read-write")[Symbol.dispose](); // what was taken is given back
  asked = 0;
  using mapped = graph.map(tensor, takes.target, { copy: "allow" });
  assertEquals(mapped.route.steps.map(({ transfer }) => transfer), ["alias", "copy"]);
});

Deno.test("ports: the exporter's block comes with a port to it, but not with a dma-buf, which may show a part", () => {
  for (const kind of ["opaque-fd", "dma-buf"] as const) {
    const gives = contextOf("gives", {
      exports: [{ kind }],
      allocate: () => ({ handle: 1n, release: () => {} }),
      export: (_tensor, kind, byteLength) => ({ port: new Port(kind, { byteLength }) }),
    });
    const told: (Allocation | undefined)[] = [];
    const takes = contextOf("takes", {
      imports: [{ kind }],
      import: (_port, _access, of) => (told.push(of), { handle: 2n }),
    });
    using graph = graphOf(gives, takes);
    using tensor = allocateTensor(gives.target, { shape: [4], dtype: "u8" });
    using _mapped = graph.map(tensor, takes.target);
    assertEquals(told, [kind === "opaque-fd" ? tensor.grant.allocation : undefined]);
  }
});

/** A device whose commands are counted, and a pair of kinds over the same bytes: the first is handed over to the second. */
function handedOver(order: string[], { aliases = true, failsToImport = false, failsToProve = false } = {}) {
  const [giver, taker] = ["giver", "taker"].map((name) => new FakeDriver(name, "binary-fd"));
  const [out, into] = [giver.line("the giver's line"), taker.line("the taker's line")];
  const said = (what: string) => command(() => void order.push(what));
  const own = new Uint8Array(4096);
  const copy = new Uint8Array(4096);
  const theirs = aliases ? own : copy;
  const offer: Offer = {
    kind: "opaque-fd",
    sample: () => ({
      name: failsToProve ? "bytes without a sample" : aliases ? "shared bytes" : "copied bytes",
      make: (byteLength, undo) => {
        if (failsToProve) throw new Error("no sample");
        const tensor = allocateTensor(gives.target, { shape: [byteLength], dtype: "u8" });
        undo.push(() => tensor[Symbol.dispose]());
        return tensor;
      },
    }),
  };
  const gives = contextOf("gives", {
    line: out,
    exports: [offer],
    copies: { write: (_tensor, bytes) => own.set(bytes), read: (_tensor, bytes) => bytes.set(own) },
    allocate: () => ({ handle: 1n, release: () => {} }),
    export: (_tensor, kind, byteLength) => ({
      port: new Port(kind, { byteLength }),
      begin: () => said("given"),
      end: () => said("had back"),
    }),
  });
  const takes = contextOf("takes", {
    line: into,
    imports: [{ kind: "opaque-fd" }],
    copies: { write: (_tensor, bytes) => theirs.set(bytes), read: (_tensor, bytes) => bytes.set(theirs) },
    import() {
      if (failsToImport) throw new Error("no import");
      return { handle: 2n, begin: () => said("acquired"), end: () => said("released") };
    },
  });
  return { gives, takes, out, into, giver, taker };
}

Deno.test(
  "ports: memory is handed over and back by the commands of both sides, and no host waits",
  withEmptyLedger(() => {
    const order: string[] = [];
    const maker = new FakeMaker();
    using _open = { [Symbol.dispose]: offerSemaphores(maker) };
    const { gives, takes, out, into, giver, taker } = handedOver(order);
    using graph = graphOf(gives, takes);
    using tensor = allocateTensor(gives.target, { shape: [4], dtype: "u8" });
    graph.map(tensor, takes.target)[Symbol.dispose](); // with the proof
    order.length = giver.blocks = taker.blocks = 0;
    {
      using mapped = graph.map(tensor, takes.target, { access: "read" }) as Made;
      into.submit([{ tensor: mapped, access: "read", argument: "t" }], command(() => void order.push("used")));
      assertEquals([giver.blocks, taker.blocks, order], [0, 0, []]);
    }
    assertEquals(order, ["given", "acquired", "used", "released", "had back"]);
    for (const context of [gives, takes]) context[Symbol.dispose]();
    for (const line of [out, into]) line.resource.dispose();
    assertEquals(maker.made, maker.released);
  }),
);

Deno.test(
  "ports: an address is read once the import has begun: a buffer of OpenGL's has none before CUDA has mapped it",
  withEmptyLedger(() => {
    let hasBegun = false;
    const acquire = command(() => {});
    const line = new FakeDriver("taker").line();
    const takes = contextOf("takes", {
      line,
      imports: [pointer()],
      import: () => ({
        get handle() {
          assert(hasBegun, "it was read too early");
          return 7n;
        },
        begin: () => ({ ...acquire, call: (lane: FakeLane) => (hasBegun = true, acquire.call(lane)) }),
        end: () => command(() => {}),
      }),
    });
    using source = bytes();
    using graph = graphOf(takes);
    {
      using mapped = graph.map(source, takes.target) as Made;
      assertEquals(mapped.handle, 7n);
    }
    takes[Symbol.dispose]();
    line.resource.dispose();
  }),
);

Deno.test(
  "ports: where the import fails, what was handed over is had back",
  withEmptyLedger(() => {
    const order: string[] = [];
    const { gives, takes, out } = handedOver(order, { failsToImport: true });
    using graph = graphOf(gives, takes);
    using tensor = allocateTensor(gives.target, { shape: [4], dtype: "u8" });
    const mapper = portMapper("gives", "takes");
    const step = mapper.probe(tensor.described, takes.target, "read", []) as ProbedStep;
    assertThrows(
      () => takeStep(mapper, tensor, takes.target, "read", step, { waits: [], returning: [] }),
      Error,
      "no import",
    );
    assertEquals(order, ["given", "had back"]);
    assertThrows(() => graph.map(tensor, takes.target), Error, "no import");
    out.resource.dispose();
  }),
);

/** From the host to one context, and from there to another. */
const NEAR = { imports: [pointer({ from: "host" })], import: byAddress, exports: [{ kind: "cl_mem" }] };

for (const isChain of [false, true]) {
  const [how, edges] = isChain ? ["a chain", 1] : ["a route", 2];
  Deno.test(`${how} takes views away once all of its steps are taken: where the last one fails, they stay`, () => {
    let fails = true;
    const near = contextOf("near", { ...NEAR, export: (_, kind) => ({ port: new Port(kind, { value: 7n }) }) });
    const far = contextOf("far", {
      imports: [{ kind: "cl_mem" }],
      import(port) {
        if (fails) throw new Error("no import");
        return byAddress(port);
      },
    });
    const both = chain([portMapper("host", "near"), near.target], portMapper("near", "far"));
    using graph = isChain ? new Graph([host, near, far], [both]) : graphOf(near, far);
    using source = bytes();
    const view = source.view();
    assertThrows(() => graph.map(source, far.target), Error, "no import");
    assertEquals(view.length, 64);
    fails = false;
    using mapped = graph.map(source, far.target);
    assertEquals([mapped.route.steps.length, view.length], [edges, 0]);
  });
}

for (const isChain of [false, true]) {
  const how = isChain ? "a chain" : "a route";
  Deno.test(
    `${how} whose last step fails takes views away, and keeps the bytes, while its first step waits for a promise`,
    withEmptyLedger(async () => {
      using gate = new ManualGate();
      const order: string[] = [];
      const note = (what: string) => command(() => void order.push(what));
      const driver = new FakeDriver();
      const line = driver.line();
      const near = contextOf("near", {
        line,
        imports: [pointer({ from: "host", transfer: "migrate" })],
        import: (port) => ({
          ...byAddress(port),
          release: () => void order.push("released"),
          bring: () => note("brings"),
          takeBack: (step) => step === 0 ? note("takes back") : undefined,
        }),
        exports: [{ kind: "cl_mem" }],
        export: (_, kind) => ({ port: new Port(kind, { value: 7n }) }),
      });
      const far = contextOf("far", {
        line: driver.line(),
        imports: [{ kind: "cl_mem" }],
        import() {
          throw new Error("no import");
        },
      });
      const both = chain([portMapper("host", "near"), near.target], portMapper("near", "far"));
      using graph = isChain ? new Graph([host, near, far], [both]) : graphOf(near, far);
      using source = bytes();
      const view = source.view();
      const error = assertThrows(() => graph.map(source, far.target, { after: gate.fence }), InteropError, "no import");
      assertStringIncludes(error.message, "could never end");
      assertEquals(view.length, 0);
      assertThrows(() => source.view(), AccessError, "on their way back");
      gate.open();
      line.lane.run();
      await source.finished();
      assertEquals(order, ["brings", "takes back", "released"]);
      assertEquals(source.view().length, 64);
    }),
  );
}

Deno.test(
  "ports: an alias is what an experiment with both APIs has shown, once for each pair",
  withEmptyLedger(() => {
    for (const aliases of [true, false]) {
      const { gives, takes } = handedOver([], { aliases });
      using graph = graphOf(gives, takes);
      using tensor = allocateTensor(gives.target, { shape: [4], dtype: "u8" });
      if (aliases) {
        using mapped = graph.map(tensor, takes.target);
        const [{ transfer, evidence }] = mapped.route.steps;
        assertEquals(transfer, "alias");
        assertStringIncludes(evidence!, "proven by aliasing both ways, shared bytes");
      } else {
        const { refused: [{ reason }] } = assertThrows(() => graph.map(tensor, takes.target), NoRouteError);
        const seen = "takes did not see what gives had written, copied bytes";
        assertEquals(reason, `${seen}: they do not share it.`);
      }
    }
  }),
);

Deno.test("portMapper() calls memory whose experiment failed no alias", async () => {
  const { gives, takes } = handedOver([], { failsToProve: true });
  using graph = graphOf(gives, takes);
  using tensor = allocateTensor(gives.target, { shape: [4], dtype: "u8" });
  const warnings = await warningsOf(() => {
    using mapped = graph.map(tensor, takes.target, { access: "read" });
    const [{ transfer, evidence }] = mapped.route.steps;
    assertEquals([transfer, evidence, mapped.route.bytesMoved], ["migrate", "not proven", 4]);
  });
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0], "the proof of aliasing on the takes failed, bytes without a sample: no sample");
});

Deno.test(
  "ports: a map releases what it holds, newest first, and lends what any map lends",
  withEmptyLedger(() => {
    const seen: unknown[] = [];
    const takes = contextOf("takes", {
      imports: [pointer()],
      import: ({ value, byteLength }) => {
        seen.push(byteLength);
        return { handle: value, release: () => void seen.push("released") };
      },
    });
    using graph = graphOf(takes);
    using source = bytes();
    using part = source.slice(layout({ shape: [16], dtype: "u8", byteOffset: 8 }));
    {
      using mapped = graph.map(part, takes.target) as Made;
      assertEquals([mapped.handle, mapped.layout.byteOffset], [source.address + 8n, 0]);
      assertEquals([mapped.route.steps[0].transfer, mapped.route.bytesMoved], ["alias", 0]);
      assertThrows(() => part.view(), AccessError);
    }
    assertEquals([seen, part.view().length], [[16, "released"], 16]);
    takes[Symbol.dispose]();
    assertThrows(() => graph.map(part, takes.target));
  }),
);

/** A kind of memory with a line, and one tensor of the host's that it has written, and gives back once the line has run. */
function writtenAndOnItsWayBack({ takeBack }: Pick<Imported<bigint>, "takeBack"> = {}) {
  const line = new FakeDriver("taker").line();
  const imported = takeBack === undefined ? {} : { takeBack };
  const takes = contextOf("takes", {
    line,
    imports: [pointer()],
    import: (port) => ({ ...byAddress(port), ...imported }),
  });
  const source = bytes();
  const graph = graphOf(takes);
  const use = (tensor: Made, access: Access) => line.submit([{ tensor, access, argument: "t" }], command(() => {}));
  const mapped = graph.map(source, takes.target) as Made;
  use(mapped, "write");
  mapped.disposeAfter(line.fence());
  return { takes, line, source, graph, use };
}

Deno.test(
  "ports: whoever only reads bytes that a writer gives back does not stand for the writer",
  withEmptyLedger(() => {
    const { takes, line, source, graph } = writtenAndOnItsWayBack();
    const reader = graph.map(source, takes.target, { access: "read" });
    assertThrows(() => source.view({ access: "read" }), AccessError, "on their way back");
    reader[Symbol.dispose]();
    for (const one of [graph, source, takes]) one[Symbol.dispose]();
    line.resource.dispose();
  }),
);

Deno.test(
  "ports: a writer does not stand for another's bytes whose way back takes more commands than were submitted",
  withEmptyLedger(() => {
    const order: string[] = [];
    const takeBack = (step: number) => step < 2 ? command(() => void order.push(`back ${step}`)) : undefined;
    const { takes, line, source, graph } = writtenAndOnItsWayBack({ takeBack });
    graph.map(source, takes.target)[Symbol.dispose]();
    assertEquals(order, ["back 0", "back 0", "back 1"]);
    source.view(); // the work is over, and the first map's last command would overwrite what is seen: it is made here
    assertEquals(order, ["back 0", "back 0", "back 1", "back 1"]);
    source[Symbol.dispose]();
    for (const one of [graph, takes]) one[Symbol.dispose]();
    line.resource.dispose();
  }),
);

Deno.test(
  "ports: commands on what a map was made of wait on the device for the map's work, and the host for nothing",
  withEmptyLedger(() => {
    const order: string[] = [];
    const named = (name: string) => command(() => void order.push(name));
    const driver = new FakeDriver();
    const [owner, taker] = [driver.line("owner"), driver.line("taker")];
    const takes = contextOf("takes", { line: taker, imports: [pointer()], import: byAddress });
    const graph = graphOf(takes);
    const source = bytes();
    const submit = (line: typeof owner, tensor: Made | typeof source, name: string) =>
      line.submit([{ tensor, access: "read-write", argument: "t" }], named(name));
    for (let lap = 0; lap < 3; lap++) {
      submit(owner, source, `owner ${lap}`);
      const mapped = graph.map(source, takes.target) as Made;
      submit(taker, mapped, `taker ${lap}`);
      mapped.disposeAfter(taker.fence());
      assertThrows(() => source.view(), AccessError, "on their way back");
    }
    assertEquals([order, driver.blocks], [[], 0]);
    for (let i = 0; i < 6; i++) for (const { lane } of [taker, owner]) lane.step();
    assertEquals(order, [0, 1, 2].flatMap((lap) => [`owner ${lap}`, `taker ${lap}`]));
    source.view();
    for (const one of [graph, source, takes]) one[Symbol.dispose]();
    for (const { resource } of [owner, taker]) resource.dispose();
  }),
);

Deno.test(
  "ports: a command waits on the host for bytes whose way back takes more commands than were submitted",
  withEmptyLedger(() => {
    const order: string[] = [];
    const takeBack = (step: number) => step < 2 ? command(() => void order.push(`back ${step}`)) : undefined;
    const { takes, line, source, graph } = writtenAndOnItsWayBack({ takeBack });
    const other = new FakeDriver("owner").line();
    other.submit([{ tensor: source, access: "read", argument: "t" }], command(() => void order.push("owner")));
    other.lane.step();
    assertEquals(order, ["back 0", "back 1", "owner"]);
    for (const one of [graph, source, takes]) one[Symbol.dispose]();
    for (const { resource } of [line, other]) resource.dispose();
  }),
);

Deno.test(
  "ports: a command on bytes whose work has failed throws that before it is made, once",
  withEmptyLedger(() => {
    const { takes, line, source, graph } = writtenAndOnItsWayBack();
    const failed = new Error("it burns");
    const mapped = graph.map(source, takes.target) as Made;
    line.submit(
      [{ tensor: mapped, access: "write", argument: "t" }],
      command(() => {
        throw failed;
      }),
    );
    mapped.disposeAfter(line.fence());
    line.lane.run();
    const other = new FakeDriver("owner").line();
    const use = () => other.submit([{ tensor: source, access: "read", argument: "t" }], command(() => {}));
    assertThrows(use, Error, "it burns");
    assertEquals(use(), 1);
    for (const one of [graph, source, takes]) one[Symbol.dispose]();
    assertThrows(() => line.resource.dispose(), Error, "it burns"); // the line reports what has failed on it
    other.resource.dispose();
  }),
);

Deno.test(
  "ports: of many maps on their way back the newest is waited for, and the host's bytes are back when it is",
  withEmptyLedger(() => {
    const { takes, line, source, graph, use } = writtenAndOnItsWayBack();
    for (let i = 0; i < 3; i++) {
      const mapped = graph.map(source, takes.target) as Made;
      use(mapped, "write");
      mapped.disposeAfter(line.fence());
      assertEquals([...source.grant.lends].length, 1);
      assertThrows(() => source.view(), AccessError, "on their way back");
    }
    graph.map(source, takes.target)[Symbol.dispose]();
    assertEquals([source.view().length, line.isOver(line.submitted)], [64, true]);
    for (const one of [graph, source, takes]) one[Symbol.dispose]();
    line.resource.dispose();
  }),
);

Deno.test(
  "ports: what is not proven to be used in place is a migration, and what was proven is an alias with its evidence",
  withEmptyLedger(() => {
    for (const aliases of [true, false]) {
      let proven = 0;
      const verdict = { aliases, evidence: "it was tried" };
      const offer = pointer({ prepare: () => void proven++, judge: () => verdict });
      const takes = contextOf("takes", { imports: [offer], import: byAddress });
      using graph = graphOf(takes);
      using source = bytes();
      using mapped = graph.map(source, takes.target);
      const [{ transfer, evidence, bytesMoved }] = mapped.route.steps;
      assertEquals([transfer, evidence], [aliases ? "alias" : "migrate", "it was tried"]);
      assertEquals([bytesMoved, proven > 0], [aliases ? 0 : 128, true]);
    }
  }),
);

Deno.test(
  "ports: what nothing was found out of is known by what the offers say, and the side that moves the bytes is named",
  withEmptyLedger(() => {
    const same = { aliases: true, evidence: "the same address" };
    const gives = contextOf("gives", {
      exports: [pointer({ judge: () => same })],
      export: () => ({ port: nothing() }),
    });
    const nothing = () => new Port("host-pointer", {});
    using source = ownedBy(gives);
    const transfers = [[undefined, "the same address"], ["copy", "takes imports host-pointer by a copy"]] as const;
    for (const [transfer, evidence] of transfers) {
      const offer = pointer(transfer === undefined ? {} : { transfer });
      const takes = contextOf("takes", { imports: [offer], import: byAddress });
      using graph = graphOf(gives, takes);
      assertEquals(graph.explain(source, takes.target, { copy: "allow" }).steps.at(-1)!.evidence, evidence);
    }
    const takes = contextOf("takes", { imports: [pointer()], import: byAddress });
    using graph = graphOf(takes);
    using own = bytes();
    assertEquals(graph.explain(own, takes.target).steps[0].evidence, "the same memory, by its host-pointer");
  }),
);

Deno.test(
  "ports: a kind that names ports and has no code for them is refused, by the function's name",
  withEmptyLedger(() => {
    const takes = contextOf("takes", { imports: [pointer()] });
    using graph = graphOf(takes);
    using source = bytes();
    assertThrows(
      () => graph.map(source, takes.target),
      NoRouteError,
      "takes (the takes) names ports, and has no ports.import().",
    );
  }),
);

Deno.test(
  "ports: a kind may refuse, with what to do",
  withEmptyLedger(() => {
    const refuse = () => ({ reason: "it is Sunday.", remedy: "Come again tomorrow." });
    const takes = contextOf("takes", { imports: [pointer()], refuse, import: byAddress });
    using graph = graphOf(takes);
    using source = bytes();
    const error = assertThrows(() => graph.map(source, takes.target), NoRouteError, "it is Sunday.");
    assertEquals(error.refused.map(({ edge, remedy }) => [edge, remedy]), [["host→takes", "Come again tomorrow."]]);
  }),
);

Deno.test(
  "ports: a port that this machine does not have is passed over for the next, also where that is only found out",
  withEmptyLedger(() => {
    const sunday = () => ({ reason: "it is Sunday.", remedy: "Come again tomorrow." });
    let isSunday = false;
    const closings: Partial<Offer>[] = [
      { closed: sunday },
      { prepare: () => void (isSunday = true), refuse: () => isSunday ? sunday() : undefined },
    ];
    for (const closing of closings) {
      const prepared: string[] = [];
      const offers = (other: Partial<Offer> = {}): Offer[] => [
        { kind: "memfd", ...other },
        pointer({ prepare: () => void prepared.push("pointer") }),
      ];
      const exported: string[] = [];
      const gives = contextOf("gives", {
        exports: offers(closing),
        export: (_tensor, kind) => (exported.push(kind), { port: new Port(kind, {}) }),
      });
      const takes = contextOf("takes", { imports: offers(), import: byAddress });
      using source = ownedBy(gives);
      using graph = graphOf(gives, takes);
      using mapped = graph.map(source, takes.target);
      assertEquals([exported, mapped.route.steps.length], [["host-pointer"], 1]);
      assertEquals(prepared, ["pointer", "pointer"], "of both sides");
    }
  }),
);

Deno.test(
  "ports: a map asks each side once before it prepares, once after, and once to probe",
  withEmptyLedger(() => {
    let [closed, refused] = [0, 0];
    const takes = contextOf("takes", {
      imports: [pointer({ closed: () => void closed++, refuse: () => void refused++, prepare: () => {} })],
      import: byAddress,
    });
    using graph = graphOf(takes);
    using source = bytes();
    using _mapped = graph.map(source, takes.target);
    assertEquals([closed, refused], [3, 3]);
  }),
);

Deno.test(
  "ports: after the host has waited, a map probes again",
  withEmptyLedger(() => {
    const line = new FakeDriver().line("a slow line");
    const exported: string[] = [];
    let hasEnded = false;
    const gives = contextOf("gives", {
      exports: [{ kind: "memfd", closed: () => hasEnded ? { reason: "it has ended." } : undefined }, pointer()],
      export: (_tensor, kind) => (exported.push(kind), { port: new Port(kind, {}) }),
    });
    const takes = contextOf("takes", { imports: [{ kind: "memfd" }, pointer()], import: byAddress });
    using source = ownedBy(gives);
    using graph = graphOf(gives, takes);
    source.usedBy(line.submitRaw(command(() => hasEnded = true)));
    using mapped = graph.map(source, takes.target);
    const [{ hostWait, evidence }] = mapped.route.steps;
    assertEquals([hostWait, evidence, exported], [true, "the same memory, by its host-pointer", ["host-pointer"]]);
    line.resource.dispose();
  }),
);

Deno.test(
  "ports: work that only the kernel knows of is waited for, and told, as any",
  withEmptyLedger(async () => {
    using gate = new ManualGate();
    class Busy extends Made {
      override outsideWork(access: Access): readonly Fence[] {
        return gate.settled || access === "read" ? [] : [gate.fence];
      }
    }
    const gives = contextOf("gives", { exports: [pointer()], export: () => ({ port: new Port("host-pointer", {}) }) });
    const takes = contextOf("takes", { imports: [pointer()], import: byAddress });
    const { target, handle, layout, resource } = ownedBy(gives);
    using source = new Busy({ target, handle, layout, resource });
    using graph = graphOf(gives, takes);
    for (const access of ["read", "write"] as const) {
      assertEquals(graph.explain(source, takes.target, { access }).steps[0].hostWait, access === "write");
    }
    using mapped = graph.map(source, takes.target, { access: "read" });
    mapped[Symbol.dispose]();
    assertThrows(() => graph.map(source, takes.target), AccessError, "could never end");
    const finished = source.finished();
    gate.open();
    await finished;
  }),
);

/** A kind of memory whose bytes are brought by one command and taken back by two. */
function moving(kind: string, order: string[], driver = new FakeDriver(kind)) {
  const line = driver.line();
  const note = (what: string) => command(() => void order.push(`${kind} ${what}`));
  const side = {
    release: () => void order.push(`${kind} released`),
    bring: () => note("brings"),
    takeBack: (step: number) => step < 2 ? note(`takes back ${step}`) : undefined,
  };
  const offer = (port: string): Offer => ({ kind: port, transfer: "migrate" });
  const context = contextOf(kind, {
    line,
    exports: [offer("crate")],
    imports: [offer("crate"), offer("host-pointer")],
    export: () => ({ ...side, port: new Port("crate", {}) }),
    import: ({ value }) => ({ ...side, handle: value }),
    allocate: () => ({ handle: 1n, release() {} }),
  });
  return { line, context };
}

function ownedBy(context: Context & { target: MemoryTarget }): Made {
  const allocation = new Allocation({ kind: "made", byteLength: 64, free() {} });
  const resource = own({ name: "made", allocation });
  return new Made({ target: context.target, handle: 1n, layout: layout({ shape: [64], dtype: "u8" }), resource });
}

Deno.test(
  "ports: bytes are brought by the source's line and then by the target's, and go back the other way round",
  withEmptyLedger(() => {
    const order: string[] = [];
    const [from, to] = [moving("one", order), moving("other", order)];
    using graph = graphOf(from.context, to.context);
    using source = ownedBy(from.context);
    {
      using mapped = graph.map(source, to.context.target);
      assertEquals(mapped.route.bytesMoved, 256);
    }
    assertEquals(order, [
      ...["one brings", "other brings", "other takes back 0", "other takes back 1"],
      ...["one takes back 0", "one takes back 1", "other released", "one released"],
    ]);
    order.splice(0);
    graph.map(source, to.context.target, { access: "read" })[Symbol.dispose]();
    assertEquals(order, ["one brings", "other brings", "other released", "one released"]);
    order.splice(0);
    graph.map(source, to.context.target, { access: "write" })[Symbol.dispose]();
    assertEquals(order.filter((each) => each.includes("brings")), []);
  }),
);

Deno.test(
  "ports: bytes are brought behind the work on them, and that may be gated",
  withEmptyLedger(() => {
    const order: string[] = [];
    const to = moving("other", order);
    using graph = graphOf(to.context);
    const gate = new ManualGate();
    using source = bytes();
    const mapped = graph.map(source, to.context.target, { after: gate.fence });
    assertEquals([order, mapped.route.steps[0].hostWait, mapped.work.length], [[], false, 1]);
    gate.open();
    to.line.lane.run();
    mapped[Symbol.dispose]();
    assertEquals(order[0], "other brings");
  }),
);

Deno.test(
  "ports: an import that fails gives up what was exported, and the source is as it was",
  withEmptyLedger(() => {
    const order: string[] = [];
    const from = moving("one", order);
    const failure = new Error("no memory could be made");
    const to = contextOf("other", {
      imports: [{ kind: "crate" }],
      import: () => {
        throw failure;
      },
    });
    using graph = graphOf(from.context, to);
    using source = ownedBy(from.context);
    assertStrictEquals(assertThrows(() => graph.map(source, to.target)), failure);
    assertEquals(order, ["one brings", "one released"]);
    assert(source.grant.lendsNothing);
  }),
);

Deno.test(
  "ports: a map that fails after its resource was made leaves no command that writes to the source",
  withEmptyLedger(() => {
    const order: string[] = [];
    const line = new FakeDriver("one").line();
    const copy = (name: string) => () => command(() => void order.push(name));
    const failure = new Error("no tensor could be made");
    const from = contextOf("one", {
      line,
      exports: [{
        kind: "crate",
        transfer: "copy",
        stage: (_, byteLength) => ({
          block: { kind: "test.copy", address: 0x1000n, byteLength, free: () => void order.push("freed") },
          there: copy("there"),
          back: copy("back"),
        }),
      }],
    });
    const to = contextOf("other", {
      imports: [{ kind: "crate" }],
      import: byAddress,
      tensor: () => {
        throw failure;
      },
    });
    using graph = graphOf(from, to);
    const source = ownedBy(from);
    assertStrictEquals(assertThrows(() => graph.map(source, to.target, { copy: "allow" })), failure);
    assert(source.grant.lendsNothing);
    source[Symbol.dispose]();
    line.lane.run?.();
    assertEquals(order.filter((each) => each !== "there"), ["freed"]);
  }),
);

Deno.test(
  "ports: an export whose bytes cannot be brought leaves no fd",
  withEmptyLedger(() => {
    const failure = new Error("the bytes could not be brought");
    const bring = () => {
      throw failure;
    };
    using memory = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    const from = contextOf("one", {
      exports: [{ kind: "crate" }],
      export: () => ({ port: new Port("crate", { fd: memory.exportFd() }), bring }),
    });
    const to = contextOf("other", { imports: [{ kind: "crate" }], import: ({ value }) => ({ handle: value }) });
    using graph = graphOf(from, to);
    using source = ownedBy(from);
    const before = openFds();
    assertStrictEquals(assertThrows(() => graph.map(source, to.target)), failure);
    assertOpenFds(before);
    assert(source.grant.lendsNothing);
  }),
);

Deno.test(
  "blocks are adopted by address and by handle: who owns the same bytes is a peer",
  withEmptyLedger(() => {
    const never = () => {
      throw new Error("it is known");
    };
    let freed = 0;
    const block = { kind: "test.block", address: 0x7000_0000_0000n, byteLength: 64, free: () => void freed++ };
    const first = own({ name: "first", allocation: adopt(block.address, 64, () => block) });
    const second = own({ name: "second", allocation: adopt(block.address + 8n, 8, never), start: 8, end: 16 });
    assertStrictEquals(first.grants[0].allocation, second.grants[0].allocation);
    assertEquals([...second.grants[0].allocation.roots], [first.grants[0], second.grants[0]]);
    first.dispose();
    assertEquals(freed, 0);
    second.dispose();
    assertEquals(freed, 1);
    const made = () => ({ kind: "test.block", byteLength: 64, free: () => void freed++ });
    const third = own({ name: "third", ...adoptHandle("cl_mem", 7n, made) });
    const fourth = own({ name: "fourth", ...adoptHandle("cl_mem", 7n, never) });
    for (const each of [third, fourth]) each.dispose();
    assertEquals(freed, 2);
  }),
);

/** A kind whose memory is one object, and how often it was let go. */
function objects() {
  const seen = { released: 0 };
  const { target } = contextOf("objects", {
    import: ({ byteLength }) => ({
      handle: 7n,
      object: { kind: "object", handle: 7n, byteLength, start: 0 },
      release: () => void seen.released++,
    }),
  });
  const layouts = [layout({ shape: [64], dtype: "u8" })];
  const attach = () => importAs(target, new Port("dma-buf", { byteLength: 64 }), { layouts, access: "read" }) as Made;
  return { attach, seen };
}

Deno.test(
  "ports: an object is known for as long as a tensor over it lives, whoever told of it first",
  withEmptyLedger(() => {
    const { attach } = objects();
    using source = bytes();
    const endOfMap = registerPlace("object", 7n, source.grant.allocation, 0);
    using second = attach();
    endOfMap();
    using third = attach();
    assertStrictEquals(third.grant.allocation, source.grant.allocation);
    assertEquals([second.grant.start, third.grant.start], [source.grant.start, source.grant.start]);
  }),
);

Deno.test("ports: an object of which a map shows the end lies before the map's bytes, for others who have it too", () => {
  const acts = contextOf("acts", {
    imports: [pointer()],
    import: () => ({ handle: 7n, object: { kind: "object", handle: 7n, byteLength: 64, start: 16 } }),
  });
  using graph = graphOf(acts);
  using source = bytes();
  using part = source.slice({ shape: [8], dtype: "u8", byteOffset: 24 });
  {
    using mapped = graph.map(part, acts.target);
    assertEquals(mapped.layout.byteOffset, 16);
    const { allocation, start } = findPlace("object", 7n)!;
    assertEquals([allocation === source.grant.allocation, start], [true, part.grant.start - 16]);
  }
  assertEquals(findPlace("object", 7n), undefined);
});

Deno.test("ports: memory that a moved view of a collected tensor may look at is not let go", async () => {
  const { attach, seen } = objects();
  using memory = bytes();
  using _first = attach();
  const second = attach();
  const moved = (() => new TensorViews(second.grant).open(memory.address, false, undefined, {}).transfer())();
  await collect();
  second[Symbol.dispose]();
  assertEquals([moved.byteLength, seen.released], [64, 0]);
  attach()[Symbol.dispose]();
});

Deno.test(
  "ports: what an import shows to the host stays, where a view of it was moved away",
  withEmptyLedger(() => {
    let released = 0;
    const memory = host.allocate({ shape: [64], dtype: "u8" });
    const gives = contextOf("gives", {
      exports: [{ kind: "opaque-fd" }],
      allocate: () => ({ handle: 1n, release: () => {} }),
      export: (_tensor, kind, byteLength) => ({ port: new Port(kind, { byteLength }) }),
    });
    const shows = contextOf("shows", {
      imports: [{ kind: "opaque-fd" }],
      exports: [pointer()],
      import: () => ({ handle: memory.address, address: memory.address, release: () => void released++ }),
      export: ({ rawHandle }, kind, byteLength) => ({ port: new Port(kind, { value: rawHandle, byteLength }) }),
    });
    using graph = graphOf(gives, shows);
    const tensor = allocateTensor(gives.target, { shape: [64], dtype: "u8" });
    for (const moves of [false, true]) {
      using onHost = graph.map(tensor, host);
      if (moves) (onHost.view().buffer as ArrayBuffer).transfer();
    }
    assertEquals(released, 1);
    tensor[Symbol.dispose]();
    memory[Symbol.dispose]();
  }, { quarantined: 64 }),
);

Deno.test(
  "ports: planes of two blocks that went two steps are on their way back together, and are named by the map they were lent for",
  withEmptyLedger(async () => {
    const between = contextOf("between", { imports: [pointer()], exports: [{ kind: "cl_mem" }], import: byAddress });
    const last = contextOf("last", { imports: [{ kind: "cl_mem" }], import: byAddress });
    between.target.ports.export = ({ rawHandle: value }, kind, byteLength) => ({
      port: new Port(kind, { value: value as bigint, byteLength }),
    });
    const graph = graphOf(between, last);
    const planes = [host.allocate({ shape: [4, 8], dtype: "u8" }), host.allocate({ shape: [2, 4, 2], dtype: "u8" })];
    using frame = Frame.of(planes, imageInfo({ format: "NV12", width: 8, height: 4 }));
    for (const how of ["disposeAfter", "asyncDispose"]) {
      const gate = new ManualGate();
      const mapped = graph.map(frame, last.target);
      assertEquals(mapped.route.steps.map(({ edge }) => edge), ["host→between", "between→last"]);
      for (const plane of frame.planes) {
        assertThrows(() => plane.view(), AccessError, "are lent to its last (the last) map for");
      }
      mapped.usedBy(gate.fence);
      const ended = how === "disposeAfter" ? mapped.disposeAfter(gate.fence) : mapped[Symbol.asyncDispose]();
      for (const plane of frame.planes) assertThrows(() => plane.view(), AccessError, "on their way back");
      assertEquals(graph.explain(frame, last.target).steps.map(({ hostWait }) => hostWait), [true, false]);
      gate.open();
      await ended;
      graph.map(frame, last.target)[Symbol.dispose]();
    }
    for (const one of [frame, graph, last, between]) one[Symbol.dispose]();
  }),
);

Deno.test(
  "ports: commands that block behind a promise are made only once it has settled, and other work holds nothing up",
  withEmptyLedger(async () => {
    const made: string[] = [];
    const line = new FakeDriver("taker").line();
    const own = (fn: string) => {
      const one = command(() => {}, { fn, blocks: true });
      return { ...one, call: (lane: FakeLane) => (made.push(fn), one.call(lane)) };
    };
    const takes = contextOf("takes", {
      line,
      imports: [pointer({ blocks: true })],
      import: (port) => ({ ...byAddress(port), begin: () => own("acquire"), end: () => own("release") }),
    });
    const source = bytes();
    const graph = graphOf(takes);
    const first = new ManualGate();
    source.usedBy(first.fence);
    const explained = graph.explain(source, takes.target);
    assertEquals(explained.steps.map(({ hostWait }) => hostWait), [true]);
    const why = "the host waits first: the work stands behind a promise, and a line of taker would block this thread";
    assertStringIncludes(String(explained), why);
    assertThrows(() => graph.map(source, takes.target), AccessError, "could never end");
    assertEquals(made, []);
    first.open();

    const mapped = graph.map(source, takes.target) as Made;
    assertEquals(made.splice(0), ["acquire"]);
    const [second, third] = [new ManualGate(), new ManualGate()];
    mapped.usedBy(second.fence); // behind one promise itself
    line.waitFor([third.fence]); // and its line behind another
    const ended = mapped[Symbol.asyncDispose]();
    second.open();
    await new Promise((resolve) => setTimeout(resolve, 5));
    assertEquals(made, []);
    assertThrows(() => source.view(), AccessError, "on their way back");
    third.open();
    let isBack = false;
    ended.then(() => isBack = true);
    while (!isBack) {
      line.lane.run();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assertEquals(made, ["release"]);
    for (const one of [graph, source, takes]) one[Symbol.dispose]();
    line.resource.dispose();
  }),
);

Deno.test("edgesOf() takes each edge that contexts bring once, and refuses anything but a list of mappers", () => {
  const edge = portMapper("one", "another");
  const bringing = (edges: unknown): Context => ({
    ...{ api: "test", name: "test", id: {}, targets: [], resource: undefined, edges: edges as readonly Mapper[] },
    [Symbol.dispose]() {},
  });
  assertEquals(edgesOf([bringing([edge]), bringing(undefined), bringing([edge])]), [edge]);
  assertThrows(() => edgesOf([bringing(7)]), ArgumentError, "edges: expected a list of mappers, got 7");
  assertThrows(() => edgesOf([bringing([edge, null])]), ArgumentError, "edges[1]: expected a mapper, got null");
});
