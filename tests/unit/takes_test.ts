// Limits of layouts as data: what an offer takes, and what is said of the rest.

import { assertEquals, assertThrows } from "@std/assert";
import type { Memory, MemoryTarget, Offer } from "../../src/core/contract.ts";
import { Port } from "../../src/core/device/port.ts";
import { refuseTaken } from "../../src/core/device/takes.ts";
import { PermanentContext } from "../../src/core/graph/context.ts";
import { NoRouteError } from "../../src/core/errors.ts";
import { Graph } from "../../src/core/graph/graph.ts";
import { portMapper } from "../../src/core/graph/port_mapper.ts";
import { layout, type LayoutInit, region } from "../../src/core/layout/layout.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { Tensor } from "../../src/core/tensors/tensor.ts";
import { host, type HostTensor } from "../../src/host/mod.ts";

const NOWHERE = new Allocation({ kind: "test.block", byteLength: 1 << 20, free() {} });

/** Planes at byte `start` of a block, at an address that begins it if there is one. */
function planesAt(start: number, address: bigint | undefined, ...layouts: LayoutInit[]) {
  return layouts.map((init) => ({ layout: layout(init), allocation: NOWHERE, start, address }));
}

const reasonOf = (...given: Parameters<typeof refuseTaken>) => refuseTaken(...given)?.reason;

Deno.test("refuseTaken() knows the dtypes", () => {
  const planes = planesAt(0, undefined, { shape: [4], dtype: "f64" });
  assertEquals(refuseTaken({}, planes), undefined);
  assertEquals(refuseTaken({ dtypes: ["f32", "f64"] }, planes), undefined);
  assertEquals(
    reasonOf({ dtypes: ["u8", "f32"], of: "a model's input" }, planes),
    "dtype: its elements are f64; those of a model's input are u8, f32.",
  );
});

Deno.test("refuseTaken() knows gaps in rows, and between them", () => {
  const dense = { shape: [2, 3, 4], dtype: "u16" } as const;
  const rowsApart = { ...dense, strides: [64, 8, 2] };
  const elementsApart = { ...dense, strides: [64, 16, 4] };
  const one = { shape: [1, 3, 1], dtype: "u16", strides: [998, 2, 776] } as const; // strides that no import takes
  const all = (init: LayoutInit) => reasonOf({ dense: "all" }, planesAt(0, undefined, init));
  const rows = (init: LayoutInit) => reasonOf({ dense: "rows" }, planesAt(0, undefined, init));
  assertEquals([all(dense), rows(dense), rows(rowsApart), all(one), rows(one)], Array(5).fill(undefined));
  assertEquals(all(rowsApart), "strides[0]: expected 24 bytes, got 64: there may be no gaps.");
  assertEquals(all(elementsApart), "strides[2]: expected 2 bytes, got 4: there may be no gaps.");
  assertEquals(rows(elementsApart), "strides[2]: expected 2 bytes, got 4: there may be no gaps within a row.");
  assertEquals(all({ shape: [], dtype: "u8" }), undefined);
});

Deno.test("refuseTaken() knows the alignment of what begins and of what ends", () => {
  const init = { shape: [4096], dtype: "u8" } as const;
  assertEquals(refuseTaken({ align: 4096 }, planesAt(8192, undefined, init)), undefined);
  assertEquals(refuseTaken({ align: 4096 }, planesAt(5, 0x10000n, init)), undefined, "the address counts");
  assertEquals(
    reasonOf({ align: 4096 }, planesAt(0, 0x10010n, init)),
    "it begins 16 bytes after a multiple of 4096, and has 4096 bytes: memory is taken that begins and ends at " +
      "multiples of 4096 bytes.",
  );
  assertEquals(refuseTaken({ align: 4096 }, planesAt(64, undefined, init))?.remedy?.includes("align: 4096"), true);
  assertEquals(refuseTaken({ align: 64 }, planesAt(0, undefined, { shape: [65], dtype: "u8" })) === undefined, false);
});

/** Memory that takes host pointers within limits. */
class Limited extends PermanentContext<Seen> implements MemoryTarget<Seen> {
  readonly ports: Memory<Seen, bigint>;

  constructor(...imports: Offer[]) {
    super("limited");
    this.ports = {
      exports: [],
      imports,
      import: (port) => ({ handle: port instanceof Port ? port.value : 0n }),
      tensor: (init) => new Seen(init),
    };
  }
}

class Seen extends Tensor<bigint> {}

/** What explain() says; where the route is open, the map has to work. */
function explained(target: Limited, source: HostTensor): string {
  using graph = new Graph([host, target], [portMapper("host", "limited")]);
  const route = graph.explain(source, target);
  if (route.open) {
    using mapped = graph.map(source, target);
    assertEquals(mapped.rawHandle, source.address);
  }
  return `${route}`;
}

Deno.test("explain() and map() refuse what the offer of a target does not take", () => {
  using bytes = host.allocate({ shape: [4096], dtype: "u8" });
  using numbers = host.allocate({ shape: [512], dtype: "f64" });
  using part = bytes.slice(region(bytes.layout, [8], [64]));
  const target = new Limited({ kind: "host-pointer", takes: { dtypes: ["u8"], dense: "all", align: 64 } });
  assertEquals(
    explained(target, numbers).split(" Make it")[0],
    "no route\nhost→limited: closed: dtype: its elements are f64; those of this target are u8.",
  );
  assertEquals(explained(target, part as HostTensor).includes("it begins 8 bytes after a multiple of 64"), true);
  part[Symbol.dispose]();
  assertEquals(explained(target, bytes).startsWith("host→limited: alias"), true);
});

Deno.test("a route that gaps close says by which call to copy the elements", () => {
  using gaps = host.allocate({ shape: [4, 4], dtype: "u8", strides: [8, 2] });
  const target = new Limited({ kind: "host-pointer", takes: { dense: "rows" } });
  using graph = new Graph([host, target], [portMapper("host", "limited")]);
  const { refused: [refusal] } = graph.explain(gaps, target);
  assertEquals(refusal.argument, "strides[1]");
  const error = assertThrows(() => graph.map(gaps, target), NoRouteError);
  const call = "host.allocate({ shape, dtype }).view().set(tensor.elements())";
  assertEquals([refusal.remedy, error.hint], Array(2).fill(`Copy it to memory without gaps: ${call}.`));
  gaps.view().fill(7);
  const { shape, dtype } = gaps.layout;
  using dense = host.allocate({ shape, dtype });
  dense.view().set(gaps.elements());
  assertEquals(explained(target, dense).startsWith("host→limited: alias"), true);
});
