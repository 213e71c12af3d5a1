// A plane of a frame that has no end of life of its own yet: where it lies, who may use it, and what it becomes.

import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import type { MemoryTarget } from "../../src/core/contract.ts";
import { AccessError } from "../../src/core/errors.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { openPair } from "../../src/core/graph/offers.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { Resource } from "../../src/core/life/resource.ts";
import type { FdFacts } from "../../src/core/native/fd.ts";
import { ownResource, PlacedPlane } from "../../src/core/tensors/described.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import { tensorOver } from "../../src/core/tensors/over.ts";
import { ReusedFrame } from "../../src/core/tensors/reused.ts";
import { host, type HostTensor } from "../../src/host/mod.ts";
import { withEmptyLedger } from "./ledger.ts";

const info = imageInfo({ format: "NV12", width: 4, height: 2 });

/** A frame in the middle of a block, whose second plane lies before its first. */
function turnedAround(block: HostTensor): Frame<HostTensor> {
  const layouts = [
    layout({ shape: [2, 4], dtype: "u8", byteOffset: 24 }),
    layout({ shape: [1, 2, 2], dtype: "u8", byteOffset: 8 }),
  ];
  const grant = block.grant.lend("read-write", block.grant.start + 8, block.grant.start + 32, "a frame");
  const resource = new Resource({ name: "a frame", grants: [grant], owners: [block.resource] });
  const at = { handle: block.address, layouts, resource, info, parent: block };
  return tensorOver(host as unknown as MemoryTarget<HostTensor>, at) as Frame<HostTensor>;
}

/** Where planes and their range lie by the description, and where the tensors of the planes do. */
function assertPlaced(frame: Frame<HostTensor>): void {
  const { planes, range } = frame.described;
  for (const [i, plane] of planes.entries()) {
    const { address, grant, layout, byteLength } = frame.planes[i];
    assert(plane instanceof PlacedPlane);
    assertEquals([plane.address, plane.start, plane.end], [address, grant.start, grant.end], `plane ${i}`);
    assertEquals(grant.end - grant.start, byteLength);
    assertStrictEquals(plane.layout, layout);
    assertStrictEquals(plane.allocation, grant.allocation);
    assertEquals(BigInt(plane.start), address - grant.allocation.block.address!);
    assertEquals(range.address! + BigInt(plane.start - range.start), address, "one range has all planes");
  }
  assertEquals(range.start, Math.min(...planes.map(({ start }) => start)));
}

Deno.test(
  "PlacedPlane says where the tensor of its plane lies, and the range begins with the first byte of all",
  withEmptyLedger(() => {
    using block = host.allocate({ shape: [64], dtype: "u8" });
    using padded = host.allocateFrame(info, { rowAlign: 64 });
    using dense = host.allocateFrame(info);
    using turned = turnedAround(block);
    for (const frame of [padded, dense, turned]) assertPlaced(frame);
    assertEquals(turned.described.range.address, block.rawHandle + 8n);
  }),
);

Deno.test(
  "PlacedPlane.resource() has the bytes of its plane alone: the others can be lent beside it",
  withEmptyLedger(() => {
    using block = host.allocate({ shape: [64], dtype: "u8" });
    using frame = turnedAround(block);
    const [first, second] = frame.planes;
    using _lent = second.borrow("read-write");
    first.bytes().fill(3);
    assertThrows(() => second.view(), AccessError);
    assertThrows(() => frame.usable("read"), AccessError);
  }),
);

Deno.test(
  "PlacedPlane.isFree() refuses what the frame's access does not cover, and so does its plane",
  withEmptyLedger(() => {
    using frame = host.allocateFrame(info);
    for (const [access, other] of [["read", "write"], ["write", "read"]] as const) {
      using turn = new ReusedFrame(frame, "a turn").lend(access, () => {});
      for (const plane of turn.planes) {
        assertEquals([plane.access, plane.usable(access)], [access, []]);
        assertThrows(() => plane.usable(other), AccessError);
        assertThrows(() => plane.usable("read-write"), AccessError, `was lent for "${access}"`);
      }
    }
  }),
);

Deno.test(
  "ownResource() of a plane ends alone, and before its frame",
  withEmptyLedger(() => {
    const frame = host.allocateFrame(info);
    const [one, other] = frame.described.planes.map((plane) => ownResource(plane as PlacedPlane));
    const ended: string[] = [];
    for (const resource of [one, other, frame.resource]) resource.undo.push(() => ended.push(resource.name));
    one.dispose();
    assertEquals([one.state, other.state, frame.resource.state], ["freed", "live", "live"]);
    frame[Symbol.dispose]();
    assertEquals(ended, [
      "plane 0 of host frame NV12 4 × 2",
      "plane 1 of host frame NV12 4 × 2",
      "host frame NV12 4 × 2",
    ]);
  }),
);

Deno.test(
  "openPair() asks the fds of each plane: what they allow, and whether a mapping of them is the memory",
  withEmptyLedger(() => {
    using frame = host.allocateFrame(info);
    const [first, second] = frame.described.planes.map(({ layout, allocation, start }) => ({
      layout,
      allocation,
      start,
    }));
    const hidden = { reason: "its pages are elsewhere.", remedy: "Copy." };
    const pair = { out: { kind: "dma-buf" }, into: { kind: "dma-buf", fdAccess: "read-write" } } as const;
    const open = (one: FdFacts, other: FdFacts) =>
      openPair([pair], { planes: [{ ...first, fd: one }, { ...second, fd: other }] });
    const fine: FdFacts = { access: "read-write" };
    assertStrictEquals(open(fine, fine), pair);
    for (const wrong of [{ access: "read" }, { ...fine, hidden }] as const) {
      for (const refused of [open(wrong, fine), open(fine, wrong)]) assert("reason" in refused, wrong.access);
    }
  }),
);
