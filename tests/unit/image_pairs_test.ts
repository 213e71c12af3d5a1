// Images at their edges, with what stands beside them: slices whose rows lie apart, lends to promises, devices with memory
// of their own.

import { assert, assertEquals, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ImagePort } from "../../src/core/device/port.ts";
import type { Call, Images, Memory, Offer } from "../../src/core/contract.ts";
import { AccessError } from "../../src/core/errors.ts";
import { Graph } from "../../src/core/graph/graph.ts";
import { portMappers } from "../../src/core/graph/port_mapper.ts";
import { layout, region } from "../../src/core/layout/layout.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { own } from "../../src/core/memory/own.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { host, type HostTensor } from "../../src/host/mod.ts";
import { openFds } from "../gc.ts";
import { FakeDriver, type FakeLane } from "./fakes.ts";
import { contextOf, drivers, Made, STRIDE } from "./image_drivers.ts";
import { withEmptyLedger } from "./ledger.ts";

Deno.test(
  "image pairs: a slice whose rows lie apart crosses by its own rows, and holds no others",
  withEmptyLedger(() => {
    using made = drivers();
    const { allocate, graph, blocks, surfaces, imported } = made;
    using surface = allocate();
    using mapped = graph.map(surface, blocks);
    const [plane] = mapped.planes;
    const rows = (first: number, count: number) => plane.slice(layout(region(plane.layout, [first, 2], [count, 4])));
    using part = rows(1, 2);
    const at = { offset: STRIDE + 2, stride: STRIDE };
    {
      using there = graph.map(part, surfaces);
      assertEquals(imported.map(({ planes }) => planes), [[{ object: 0, ...at }]]);
      assertEquals([there.layout.shape, there.layout.strides, there.layout.byteOffset], [[2, 4], [4, 1], 0]);
      const { allocation, start, end } = part.grant;
      assertStrictEquals(there.grant.allocation, allocation);
      assertEquals([there.grant.start, there.grant.end], [start, end]);
      using below = rows(3, 1);
      using beside = graph.map(below, surfaces);
      assert(beside.grant.start >= end, "another row is mapped beside it");
      assertThrows(() => rows(2, 2), AccessError);
      using back = graph.map(there, blocks);
      const { strides: [stride], byteOffset: offset } = back.layout;
      assertEquals({ offset, stride }, at);
      assertStrictEquals(back.grant.allocation, allocation);
      assertEquals([back.grant.start, back.grant.end], [start, end]);
    }
    part.assertUsable("write");
    for (const one of [part, mapped, surface]) one[Symbol.dispose]();
  }),
);

Deno.test(
  "image pairs: a promise that has a plane holds the image, in whichever block the plane lies",
  withEmptyLedger(async () => {
    using made = drivers();
    const { allocate, graph, blocks } = made;
    const fds = openFds();
    for (const i of [0, 1]) {
      const surface = allocate();
      const mapped = graph.map(surface, blocks);
      const onHost = graph.map(mapped, host);
      const { promise, resolve } = Promise.withResolvers<void>();
      let view: Uint8Array | undefined;
      const lent = (onHost.planes[i] as HostTensor).lend(async (given) => {
        view = given as Uint8Array;
        await promise;
      });
      const both = onHost.planes.map((plane) => {
        try {
          plane.assertUsable("write");
          return "usable";
        } catch (error) {
          return (error as Error).name;
        }
      });
      assertEquals(both, i === 0 ? ["AccessError", "usable"] : ["usable", "AccessError"], `plane ${i}`);
      const ended = [onHost, mapped, surface].map((one) => one[Symbol.asyncDispose]());
      await Promise.resolve();
      view!.fill(7);
      assertEquals(view!.length > 0, true, `plane ${i}: nothing ends before the promise`);
      resolve();
      await lent;
      await Promise.all(ended);
      assertEquals([view!.length, openFds()], [0, fds], `plane ${i}`);
    }
  }),
);

/** Images of a device with memory of its own: two commands bring the pixels, and take them back. */
function moving(kind: string, order: string[]) {
  const line = new FakeDriver(kind).line();
  const note = (what: string): Call<FakeLane> => ({
    fn: what,
    call(lane) {
      lane.next = () => void order.push(`${kind} ${what}`);
      return 0;
    },
  });
  const side = {
    release: () => void order.push(`${kind} released`),
    bring: () => note("brings"),
    takeBack: (step: number) => step === 0 ? note("takes back") : undefined,
  };
  const images: Images<number> = {
    exports: [{ kind: "picture", transfer: "migrate" }],
    imports: [{ kind: "picture", transfer: "migrate" }],
    onePlane: true,
    export: () => ({ ...side, port: new ImagePort("picture", { objects: [], planes: [], width: 8, height: 4 }) }),
    import: () => ({ ...side, handles: [2] }),
  };
  return contextOf<number>(kind, { line, exports: [], images } as Omit<Memory<Made<number>, number>, "imports">);
}

function pictureOf({ target, context }: ReturnType<typeof moving>): Made<number> {
  const allocation = new Allocation({ kind: "picture", byteLength: 32, free() {} });
  const resource = own({ name: "a picture", allocation, owners: [context.resource] });
  return new Made({ target, handle: 1, layout: layout({ shape: [4, 8], dtype: "u8" }), resource });
}

Deno.test(
  "image pairs: a device with memory of its own gets the pixels behind the source's device, and gives them back first",
  withEmptyLedger(() => {
    const order: string[] = [];
    const [from, to] = [moving("one", order), moving("other", order)];
    using graph = new Graph([from.context, to.context], portMappers);
    using source = pictureOf(from);
    {
      using mapped = graph.map(source, to.target);
      const { route } = mapped;
      assertEquals(route.steps.map(({ transfer }) => transfer), ["migrate"]);
      assertEquals(route.bytesMoved, 2 * 2 * 32, "there and back, on both sides");
    }
    const there = ["one brings", "other brings"];
    const released = ["other released", "one released"];
    assertEquals(order.splice(0), [...there, "other takes back", "one takes back", ...released]);
    graph.map(source, to.target, { access: "read" })[Symbol.dispose]();
    assertEquals(order.splice(0), [...there, ...released], "what is only read does not go back");
    graph.map(source, to.target, { access: "write" })[Symbol.dispose]();
    assertEquals(order, ["other takes back", "one takes back", ...released], "what is overwritten does not come");
    for (const one of [source, graph, from.context, to.context]) one[Symbol.dispose]();
  }),
);

Deno.test(
  "image pairs: an offer of images by a copy is made where copies are allowed, there and back",
  withEmptyLedger(() => {
    const order: string[] = [];
    const call = (fn: string) => (): Call<FakeLane> => ({ fn, call: () => (order.push(fn), 0) });
    const line = new FakeDriver("one").line();
    const stage: Offer["stage"] = (_, byteLength) => ({
      block: { kind: "test.copy", address: 0x1000n, byteLength, free: () => void order.push("freed") },
      there: call("there"),
      back: call("back"),
    });
    const exports: Images["exports"] = [{ kind: "picture", transfer: "copy", stage }];
    const from = contextOf<number>("one", { line, exports: [], images: { exports, imports: [] } });
    const ports: ImagePort[] = [];
    const to = contextOf<number>("other", {
      exports: [],
      images: { exports: [], imports: [{ kind: "picture" }], import: (port) => (ports.push(port), { handles: [2] }) },
    });
    using graph = new Graph([from.context, to.context], portMappers);
    using source = pictureOf(from as ReturnType<typeof moving>);
    graph.map(source, to.target, { copy: "allow" })[Symbol.dispose]();
    const [{ width, height, planes, objects }] = ports;
    assertEquals([width, height, planes, objects[0].value], [8, 4, [{ object: 0, offset: 0, stride: 8 }], 0x1000n]);
    assertEquals(order, ["there", "back", "freed"]);
    for (const one of [source, graph, from.context, to.context]) one[Symbol.dispose]();
    line.resource.dispose();
  }),
);

/** Images of which an experiment shows whether both devices see one memory. */
function judged(kind: string, memory: Uint8Array) {
  const made = contextOf<number>(kind, {
    exports: [],
    copies: {
      write: (_: Tensor, bytes: Uint8Array) => memory.set(bytes),
      read: (_: Tensor, into: Uint8Array) => into.set(memory.subarray(0, into.length)),
    },
    images: {
      exports: [{
        kind: "picture",
        sample: () => ({
          name: `pictures of ${kind}`,
          make: (): Tensor => pictureOf(made),
        }),
      }],
      imports: [{ kind: "picture" }],
      export: () => ({ port: new ImagePort("picture", { objects: [], planes: [], width: 8, height: 4 }) }),
      import: () => ({ handles: [2] }),
    },
  });
  return made;
}

for (const alias of [true, false]) {
  Deno.test(
    `image pairs: an image is an alias where both devices see one memory: they ${alias ? "do" : "do not"}`,
    withEmptyLedger(() => {
      const memory = new Uint8Array(4096);
      const [from, to] = [judged(`a${alias}`, memory), judged(`b${alias}`, alias ? memory : new Uint8Array(4096))];
      using graph = new Graph([from.context, to.context], portMappers);
      using source = pictureOf(from);
      const { open, steps: [step], refused } = graph.explain(source, to.target);
      assertEquals(open, alias);
      if (alias) {
        assertEquals([step.transfer, step.evidence], ["alias", "proven by aliasing both ways, pictures of atrue"]);
      } else assertStringIncludes(refused[0].reason, "pictures of afalse: they do not share it.");
      for (const one of [source, graph, from.context, to.context]) one[Symbol.dispose]();
    }),
  );
}

Deno.test(
  "image pairs: of memory that the target refuses as a whole, its ports are asked nothing",
  withEmptyLedger(() => {
    const from = moving("gives", []);
    const asked: string[] = [];
    const to = contextOf<number>("takes", {
      exports: [],
      images: {
        exports: [],
        imports: [{
          kind: "picture",
          prepare: () => void asked.push("prepare"),
          refuse: () => (asked.push("refuse"), undefined),
        }],
        refuse: () => ({ reason: "it has no pixel format." }),
        import: () => ({ handles: [2] }),
      },
    });
    using graph = new Graph([from.context, to.context], portMappers);
    using source = pictureOf(from);
    assertEquals(graph.explain(source, to.target).refused.map(({ reason }) => reason), ["it has no pixel format."]);
    assertEquals(asked, []);
    for (const one of [source, graph, from.context, to.context]) one[Symbol.dispose]();
  }),
);
