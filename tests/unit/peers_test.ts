// Tensors over the same bytes, made apart from each other: what one has in flight, the others wait for.

import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError } from "../../src/core/errors.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { region } from "../../src/core/layout/layout.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { findAllocation, findPlace, join, leave, registerByHandle } from "../../src/core/memory/peers.ts";
import { host, type HostTensor } from "../../src/host/mod.ts";
import { FakeWork } from "./fakes.ts";
import { withEmptyLedger } from "./ledger.ts";

function peersOf(byteLength: number): [HostTensor<"u8">, HostTensor<"u8">] {
  const tensor = host.allocate({ shape: [byteLength], dtype: "u8" });
  return [tensor, host.wrap(tensor.handle, { shape: [byteLength], dtype: "u8" })];
}

Deno.test(
  "peers: work on one is in flight on the other, and on its parts",
  withEmptyLedger(() => {
    const [one, other] = peersOf(100);
    using _one = one, _other = other;
    const work = new FakeWork();
    one.usedBy(work.fence);
    assertEquals(other.work.length, 1);
    assertThrows(() => other.view(), AccessError, "has not finished");
    {
      using part = other.slice(region(other.layout, [10], [10]));
      assertThrows(() => part.view(), AccessError);
    }
    work.end();
    assertEquals(other.view().length, 100);
    assertEquals(other.work.length, 0);
  }),
);

Deno.test(
  "peers: other bytes of the same block are other bytes",
  withEmptyLedger(() => {
    using whole = host.allocate({ shape: [100], dtype: "u8" });
    using left = host.wrap(whole.handle, { shape: [50], dtype: "u8" });
    using right = host.wrap(whole.handle + 50n, { shape: [50], dtype: "u8" });
    const work = new FakeWork();
    left.usedBy(work.fence);
    assertEquals([right.work.length, left.work.length, whole.work.length], [0, 1, 1]);
    right.view().fill(1);
    assertThrows(() => whole.view(), AccessError);
    work.end();
  }),
);

Deno.test(
  "Grant.busyPeers has the owners with work in flight alone, however many there are",
  withEmptyLedger(() => {
    using whole = host.allocate({ shape: [4096], dtype: "u8" });
    const early = new FakeWork();
    whole.usedBy(early.fence); // before it has a peer
    using closing = new DisposableStack();
    const parts = Array.from(
      { length: 100 },
      (_, i) => closing.use(host.wrap(whole.handle + BigInt(i * 40), { shape: [40], dtype: "u8" })),
    );
    const seen = () => [...whole.grant.allocation.busy].length;
    assertEquals([whole.grant.busyPeers, parts[7].grant.busyPeers, seen()], [[], [whole.grant], 1]);
    const works = [3, 7].map((i) => {
      const work = new FakeWork();
      parts[i].usedBy(work.fence);
      return work;
    });
    assertEquals(whole.grant.busyPeers, [parts[3].grant, parts[7].grant]);
    assertThrows(() => whole.view(), AccessError, "has not finished");
    for (const work of [early, ...works]) work.end();
    assertEquals(whole.view().length, 4096);
    assertEquals(parts.map((part) => part.view().length), parts.map(() => 40));
    assertEquals([whole.grant.busyPeers, seen()], [[], 0]); // what is over leaves where somebody looks
    const again = new FakeWork();
    parts[3].usedBy(again.fence);
    assertEquals([whole.grant.busyPeers, whole.work.length], [[parts[3].grant], 1]);
    again.end();
  }),
);

Deno.test(
  "Grant.busyPeers has the planes of a frame, whose work began before the frame had a peer",
  withEmptyLedger(() => {
    using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 16, height: 16 }));
    const [luma, chroma] = frame.planes;
    const work = new FakeWork();
    chroma.usedBy(work.fence);
    using above = host.wrap(luma.address, { shape: [256], dtype: "u8" });
    using below = host.wrap(chroma.address, { shape: [128], dtype: "u8" });
    assertEquals([above.work.length, below.work.length], [0, 1]);
    work.end();
    assertEquals([above.view().length, below.view().length], [256, 128]);
  }),
);

Deno.test(
  "peers: one that ended is not a peer, whichever of them ends first",
  withEmptyLedger(() => {
    for (const first of [0, 1]) {
      const peers = peersOf(100);
      const { allocation } = peers[0].grant;
      assertEquals(allocation.roots.size, 2);
      peers[first][Symbol.dispose]();
      assertEquals([...allocation.roots], [peers[1 - first].grant]);
      assertEquals(peers[1 - first].view().length, 100);
      peers[1 - first][Symbol.dispose]();
      assertEquals([...allocation.roots], []);
    }
  }),
);

Deno.test(
  "peers: memory whose address the CPU may not use is found, and refused to host.wrap",
  withEmptyLedger(() => {
    using real = host.allocate({ shape: [4096], dtype: "u8" });
    const address = real.handle + 2n ** 46n; // not in use
    const closed = { reason: "it is far away.", remedy: "Go there." };
    const allocation = new Allocation({ kind: "fake.far", address, byteLength: 64, closed, free() {} });
    join(allocation);
    assertEquals(findAllocation(address + 63n, 1), allocation);
    const error = assertThrows(() => host.wrap(address, { shape: [64], dtype: "u8" }), ArgumentError);
    assertEquals([error.message, error.hint], ["memory: it is far away. Go there.", "Go there."]);
    leave(allocation);
    assertEquals(findAllocation(address, 64), undefined);
  }),
);

Deno.test("registerByHandle() notes an allocation once by a handle, however often an fd of it leaves", () => {
  let ends = 0;
  class Counted extends Allocation {
    override beforeFree(end: Parameters<Allocation["beforeFree"]>[0]): void {
      ends++;
      super.beforeFree(end);
    }
  }
  const [one, other] = [1, 2].map(() => new Counted({ kind: "test.block", byteLength: 64, free() {} }));
  for (let i = 0; i < 3; i++) registerByHandle("fd", 9n, one);
  assertEquals(ends, 1);
  registerByHandle("fd", 9n, other);
  registerByHandle("other fd", 9n, one);
  assertEquals(ends, 3);
  one.free();
  assertEquals([findPlace("fd", 9n)?.allocation === other, findPlace("other fd", 9n)], [true, undefined]);
  other.free();
  assertEquals(findPlace("fd", 9n), undefined);
});
