// Edges for images: several objects, planes at their own places. The device is made up (image_drivers.ts); its memory is real memfds.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { Staged } from "../../src/core/contract.ts";
import type { ImagePort } from "../../src/core/device/port.ts";
import { AccessError, LayoutError, NoRouteError } from "../../src/core/errors.ts";
import { IMAGES } from "../../src/core/graph/image_ports.ts";
import { edgeOf } from "../../src/core/graph/mapper.ts";
import { portMappers } from "../../src/core/graph/port_mapper.ts";
import { type ImageInfo, imageInfo } from "../../src/core/layout/frame_info.ts";
import { Described } from "../../src/core/tensors/described.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { dmabuf, DmaBufContext } from "../../src/dmabuf/mod.ts";
import { host, type HostTensor } from "../../src/host/mod.ts";
import { ManualGate } from "../gate.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { command } from "./fakes.ts";
import { drivers, INFO, PLANES, SIZE, STRIDE, TILED } from "./image_drivers.ts";
import { withEmptyLedger } from "./ledger.ts";

const viewOf = (plane: Tensor) => (plane as HostTensor).view() as Uint8Array;

Deno.test("image ports: an edge is wherever one kind imports the images that another exports", () => {
  using made = drivers();
  const edges = portMappers([host, made.surfaces.context, made.blocks.context]).map(edgeOf);
  assertEquals(edges.sort(), ["blocks→host", "blocks→surfaces", "surfaces→blocks"]);
});

Deno.test(
  "image ports: an image of two objects reaches the host, each plane at its own place, and back",
  withEmptyLedger(() => {
    using made = drivers();
    const { allocate, graph, blocks } = made;
    const surface = allocate();
    const fds = openFds();
    {
      using mapped = graph.map(surface, blocks);
      assertEquals(mapped.planes.map(({ layout }) => [layout.byteOffset, layout.strides[0]]), [[0, STRIDE], [
        4096,
        STRIDE,
      ]]);
      assertEquals(new Set(mapped.planes.map(({ grant }) => grant.allocation)).size, 2);
      using onHost = graph.map(mapped, host);
      viewOf(onHost.planes[0]).fill(1);
      viewOf(onHost.planes[1]).fill(2);
    }
    assertOpenFds(fds);
    using onHost = graph.map(surface, host);
    assertEquals(onHost.route.steps.map(({ edge, transfer }) => `${edge} ${transfer}`), [
      "surfaces→blocks alias",
      "blocks→host alias",
    ]);
    assertEquals(onHost.planes.map((plane) => new Set(viewOf(plane).filter((byte) => byte !== 0))), [
      new Set([1]),
      new Set([2]),
    ]);
    assertEquals(onHost.planes.map(({ layout }) => layout.shape), [[4, 8], [2, 4, 2]]);
    onHost[Symbol.dispose]();
    surface[Symbol.dispose]();
  }),
);

Deno.test(
  "image ports: two blocks become one image, with the whole modifier; a third plane is the modifier's own",
  withEmptyLedger(() => {
    const planes = [...PLANES, { object: 2, offset: 0, stride: 8 }];
    using made = drivers({ planes, objects: 3, modifier: TILED });
    const { allocate, graph, blocks, surfaces, imported } = made;
    const surface = allocate();
    const inBlocks = graph.map(surface, blocks);
    assertEquals([inBlocks.planes.length, (inBlocks.info as ImageInfo).modifier], [2, TILED]);
    const [first, second] = inBlocks.planes;
    assert(first.grant.allocation !== second.grant.allocation);
    using again = graph.map(inBlocks, surfaces, { access: "read" });
    assertEquals([again.route.steps.length, imported[0].modifier], [1, TILED]);
    assertEquals(imported[0].planes.map(({ offset }) => offset), [0, 4096]);
    assert(again.planes.every(({ grant }, i) => grant.allocation === inBlocks.planes[i].grant.allocation));
    assertThrows(() => second.assertUsable("write"), AccessError);
    again[Symbol.dispose]();
    second.assertUsable("write");
    for (const one of [inBlocks, surface]) one[Symbol.dispose]();
  }),
);

Deno.test("image ports: a map's planes have the fds of the image's planes, so a later step knows what they allow", () => {
  using made = drivers();
  using surface = made.allocate();
  const fds = [{ access: "read" }, { access: "read-write" }] as const;
  const { target, access, described } = surface;
  const source = new Described(target, access, described.planes.map((plane, i) => ({ ...plane, fd: fds[i] })), INFO);
  const pair = { out: { kind: "dma-buf" }, into: { kind: "dma-buf" } } as const;
  assertEquals(IMAGES.planesIn(source, "alias", pair).map(({ fd }) => fd), [...fds]);
});

Deno.test("image ports: a copy holds the planes one after the other, each with its own rows", () => {
  using made = drivers();
  using surface = made.allocate();
  const lengths = surface.described.planes.map(({ layout: { byteLength } }) => byteLength);
  const sizes: number[] = [];
  const stage = (_tensor: Tensor, byteLength: number): Staged => {
    sizes.push(byteLength);
    const block = { kind: "test.copy", address: 0x1000n, byteLength, free() {} };
    return { block, there: () => command(() => {}), back: () => command(() => {}) };
  };
  const { port } = IMAGES.stage(surface, stage, "host-pointer");
  const { planes, objects } = port as ImagePort;
  const [luma, chroma] = surface.described.planes.map(({ layout: { strides } }) => strides[0]);
  assertEquals(planes, [
    { object: 0, offset: 0, stride: luma },
    { object: 0, offset: lengths[0], stride: chroma },
  ]);
  assertEquals([sizes, objects[0].byteLength], [[lengths[0] + lengths[1]], lengths[0] + lengths[1]]);
});

Deno.test(
  "image ports: law 3 holds for the image while its blocks are mapped, and for a block by whichever route it comes",
  withEmptyLedger(() => {
    using made = drivers();
    const { allocate, graph, blocks } = made;
    using surface = allocate();
    const mapped = graph.map(surface, blocks, { access: "read" });
    using beside = graph.map(surface, blocks, { access: "read" });
    const blockOf = (frame: Frame) => frame.planes[1].grant.allocation;
    assert(blockOf(mapped) === blockOf(beside), "two maps show one block");
    assertThrows(() => graph.map(surface, blocks), AccessError, "lent");
    mapped[Symbol.dispose]();
    assertThrows(() => graph.map(surface, blocks), AccessError, "lent");
    beside[Symbol.dispose]();
    graph.map(surface, blocks)[Symbol.dispose]();
  }),
);

Deno.test(
  "image ports: a failure in the middle leaves nothing open, and what drivers say is checked",
  withEmptyLedger(() => {
    const outside = [PLANES[0], { object: 1, offset: SIZE - 8, stride: STRIDE }];
    const elsewhere = [PLANES[0], { object: 2, offset: 0, stride: STRIDE }];
    for (
      const [behaviour, error] of [
        [{ failsAt: 1 }, Error],
        [{ planes: outside }, LayoutError],
        [{ planes: elsewhere }, LayoutError],
        [{ planes: PLANES.slice(0, 1) }, LayoutError],
      ] as const
    ) {
      using made = drivers(behaviour);
      using surface = made.allocate();
      const fds = openFds();
      assertThrows(() => made.graph.map(surface, made.blocks), error);
      assertOpenFds(fds);
      surface.assertUsable("read-write");
    }
    using made = drivers();
    using wide = made.allocate(imageInfo({ format: "NV12", width: 8192, height: 2 }));
    const { refused } = assertThrows(() => made.graph.map(wide, made.blocks), NoRouteError);
    assertStringIncludes(refused[0].reason, "too wide");
  }),
);

Deno.test(
  "image ports: ten thousand maps leave nothing behind",
  withEmptyLedger(() => {
    using made = drivers();
    using surface = made.allocate();
    const fds = openFds();
    for (let i = 0; i < 10_000; i++) made.graph.map(surface, made.blocks)[Symbol.dispose]();
    assertOpenFds(fds);
  }),
);

Deno.test(
  "image ports: a block whose view was moved away is kept, and the other is given back",
  withEmptyLedger(() => {
    using made = drivers();
    using surface = made.allocate();
    let moved: ArrayBuffer;
    const fds = openFds();
    {
      using onHost = made.graph.map(surface, host);
      moved = (viewOf(onHost.planes[1]).buffer as ArrayBuffer).transfer();
    }
    assertEquals([new Uint8Array(moved)[0], openFds()], [0, fds + 1]);
  }, { quarantined: SIZE }),
);

Deno.test(
  "image ports: a block that two maps show is one block until the last of them ends",
  withEmptyLedger(() => {
    using made = drivers();
    const { allocate, graph, blocks } = made;
    using surface = allocate();
    const fds = openFds();
    const show = () => graph.map(surface, blocks, { access: "read" });
    const blockOf = (frame: Frame) => frame.planes[1].grant.allocation;
    const first = show();
    using second = show();
    using onHost = graph.map(second, host);
    viewOf(onHost.planes[1]);
    first[Symbol.dispose]();
    using third = show();
    assert(blockOf(third) === blockOf(second), "they show one block");
    for (const one of [onHost, second, third]) one[Symbol.dispose]();
    assertOpenFds(fds);
  }),
);

Deno.test(
  "image ports: work on a block is waited for by whoever has it too, whichever plane lies there",
  withEmptyLedger(() => {
    using made = drivers();
    const { allocate, graph, blocks } = made;
    using surface = allocate();
    using mapped = graph.map(surface, blocks, { access: "read" });
    using beside = graph.map(surface, blocks, { access: "read" });
    for (const i of [0, 1]) {
      const gate = new ManualGate();
      beside.planes[i].usedBy(gate.fence);
      const waits = [mapped.planes[i], mapped.planes[1 - i], mapped].map(({ work }) => work.length > 0);
      gate.open();
      assertEquals(waits, [true, false, true], `plane ${i}`);
    }
    for (const one of [mapped, beside, surface]) one[Symbol.dispose]();
  }),
);

Deno.test("image ports: where two kinds know each other's bytes, the edge is by bytes, which takes more than images", () => {
  const edges = portMappers([dmabuf, new DmaBufContext()]);
  assertEquals(edges.map(({ takesParts, ...edge }) => [edgeOf(edge), takesParts]), [["dmabuf→dmabuf", false]]);
});
