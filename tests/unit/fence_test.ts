import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { FakeFence, FakeWork } from "./fakes.ts";

/** A fence that counts the native waits in flight, over all of its kind. */
class CountedFence extends FakeFence {
  static inFlight = 0;
  static most = 0;

  override retain(): CountedFence {
    return new CountedFence(this.work);
  }

  protected override async waitNonblocking(): Promise<void> {
    CountedFence.most = Math.max(CountedFence.most, ++CountedFence.inFlight);
    await super.waitNonblocking().finally(() => CountedFence.inFlight--);
  }
}

Deno.test("a wait settles when the work is done, and holds the fence meanwhile", async () => {
  const work = new FakeWork();
  const fence = new FakeFence(work);
  const waited = fence.wait();
  fence[Symbol.dispose]();
  setTimeout(() => work.end(), 5);
  await waited;
  assertEquals([FakeFence.alive, FakeFence.misused], [0, 0]);
});

Deno.test("work that failed rejects with its own failure, before and after", async () => {
  const work = new FakeWork("device", new Error("the kernel failed"));
  using fence = new FakeFence(work);
  const early = assertRejects(() => fence.wait());
  work.end();
  assertStrictEquals(await early, work.failure);
  assertStrictEquals(await assertRejects(() => fence.wait()), work.failure);
});

Deno.test("work behind an event of this isolate makes no native wait before the event is set", async () => {
  const work = new FakeWork("event");
  using fence = new CountedFence(work);
  const waited = fence.wait();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(CountedFence.inFlight, 0);
  work.end();
  await waited;
});

Deno.test("few native waits are in flight at a time, and all that wait come to an end", async () => {
  const works = Array.from({ length: 50 }, () => new FakeWork());
  const fences = works.map((work) => new CountedFence(work));
  const waited = Promise.all(fences.map((fence) => fence.wait()));
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert(CountedFence.most >= 1 && CountedFence.most <= 4, `${CountedFence.most} at a time`);
  for (const work of works.reverse()) work.end();
  await waited;
  for (const fence of fences) fence[Symbol.dispose]();
  assertEquals([CountedFence.inFlight, FakeFence.alive], [0, 0]);
});

Deno.test("a signal stops the waiting, not the work", async () => {
  const work = new FakeWork();
  const fence = new FakeFence(work);
  const aborter = new AbortController();
  const reason = new Error("enough");
  const waited = assertRejects(() => fence.wait({ signal: aborter.signal }));
  aborter.abort(reason);
  assertStrictEquals(await waited, reason);
  assertStrictEquals(await assertRejects(() => fence.wait({ signal: aborter.signal })), reason);
  assertEquals(work.over, false);
  work.end();
  await fence.wait({ signal: new AbortController().signal });
  fence[Symbol.dispose]();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals([FakeFence.alive, FakeFence.misused], [0, 0]);
});

Deno.test("a failure after the signal is nobody's unhandled rejection", async () => {
  const work = new FakeWork("device", new Error("too late"));
  using fence = new FakeFence(work);
  const aborter = new AbortController();
  const waited = assertRejects(() => fence.wait({ signal: aborter.signal }));
  aborter.abort();
  await waited;
  work.end();
  await new Promise((resolve) => setTimeout(resolve, 5));
});

Deno.test("a fence is no promise", () => {
  using fence = new FakeFence(new FakeWork());
  assertEquals("then" in fence, false);
});
