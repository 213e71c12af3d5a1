// Tensors over the same bytes, made apart from each other: what one has in flight, the others wait for.

import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError } from "../../src/core/errors.ts";
import { region } from "../../src/core/layout/layout.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { findAllocation, join, leave } from "../../src/core/memory/peers.ts";
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
  "peers: one that ended is none any more, whichever of them ends first",
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
    const address = real.handle + 2n ** 46n; // nobody's
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
