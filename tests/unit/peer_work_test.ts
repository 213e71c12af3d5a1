// Who owns the same bytes waits for each other's work, and looks only at those who have some.

import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, type Frame, host, type HostTensor, imageInfo } from "../../mod.ts";
import { Work } from "../../src/core/device/work.ts";

const MANY = 200;

/** Work that goes on until it is ended. */
function work() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { fence: host.signal(promise), end: resolve };
}

/** Tensors over the same bytes. */
function peersOf(whole: HostTensor, count: number, to: DisposableStack): HostTensor[] {
  return Array.from({ length: count }, () => to.use(host.wrap(whole.handle, { shape: [64], dtype: "u8" })));
}

/** How often some work is looked at while an action runs. */
function looksOf(action: () => void): number {
  const { next } = Work.prototype;
  let looks = 0;
  Work.prototype.next = function () {
    looks++;
    return next.call(this);
  };
  try {
    action();
  } finally {
    Work.prototype.next = next;
  }
  return looks;
}

function assertWorkedOn(tensor: HostTensor): void {
  assertThrows(() => tensor.view(), AccessError, "work that has not finished");
}

Deno.test("view() does not look at owners of the same bytes that have no work", async () => {
  using whole = host.allocate({ shape: [64], dtype: "u8" });
  using all = new DisposableStack();
  const peers = peersOf(whole, MANY, all);
  assertEquals(looksOf(() => peers.forEach((peer) => peer.view())), 0);
  const { fence, end } = work();
  for (const peer of peers) peer.usedBy(fence);
  end();
  await fence.wait();
  peers[0].view(); // finds that all of it is over
  peers[0].view(); // and that no owner has any left
  assertEquals(looksOf(() => peers.forEach((peer) => peer.view())), 0);
});

Deno.test("view() finds the work of another owner, whether that began before or after there were two", async () => {
  for (const isFirst of [true, false]) {
    using whole = host.allocate({ shape: [64], dtype: "u8" });
    using all = new DisposableStack();
    const { fence, end } = work();
    if (isFirst) whole.usedBy(fence);
    const [peer, third] = peersOf(whole, 2, all);
    if (!isFirst) whole.usedBy(fence);
    for (let i = 0; i < 2; i++) for (const one of [whole, peer, third]) assertWorkedOn(one);
    end();
    await fence.wait();
    for (const one of [peer, third, whole]) assertEquals(one.view().length, 64);
    const again = work();
    third.usedBy(again.fence);
    assertWorkedOn(peer);
    again.end();
    await again.fence.wait();
    assertEquals(peer.view().length, 64);
  }
});

Deno.test("view() finds the work of an owner that was alone for a while", async () => {
  using whole = host.allocate({ shape: [64], dtype: "u8" });
  {
    using all = new DisposableStack();
    const [peer] = peersOf(whole, 1, all);
    const { fence, end } = work();
    whole.usedBy(fence);
    assertWorkedOn(peer);
    end();
    await fence.wait();
    peer.view();
    peer.view();
  }
  const { fence, end } = work();
  whole.usedBy(fence); // it has no peers
  using all = new DisposableStack();
  const [peer] = peersOf(whole, 1, all);
  assertWorkedOn(peer);
  end();
  await fence.wait();
  assertEquals(peer.view().length, 64);
});

Deno.test("view() finds the work on the plane of another owner's frame, where it shares bytes with it", async () => {
  using frame: Frame<HostTensor> = host.allocateFrame(imageInfo({ format: "NV12", width: 64, height: 64 }));
  const [luma, chroma] = frame.planes;
  using onLuma = host.wrap(luma.handle, { shape: [64], dtype: "u8" });
  using onChroma = host.wrap(chroma.address, { shape: [64], dtype: "u8" });
  const { fence, end } = work();
  chroma.usedBy(fence);
  assertWorkedOn(onChroma);
  assertEquals(onLuma.view().length, 64);
  end();
  await fence.wait();
  assertEquals(onChroma.view().length, 64);
});

Deno.test("work of an owner that has ended is no longer waited for", async () => {
  using whole = host.allocate({ shape: [64], dtype: "u8" });
  using all = new DisposableStack();
  const [peer, third] = peersOf(whole, 2, all);
  const { fence, end } = work();
  third.usedBy(fence);
  assertWorkedOn(peer);
  const ended = third[Symbol.asyncDispose]();
  end();
  await ended;
  const { roots, busy } = whole.grant.allocation;
  assertEquals([roots.size, busy.size], [2, 0]);
  assertEquals(peer.view().length, 64);
});
