import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import type { Fence } from "../../src/core/device/fence.ts";
import { AccessError } from "../../src/core/errors.ts";
import { host } from "../../src/host/mod.ts";
import { command, FakeDriver, FakeWork } from "./fakes.ts";

const moment = () => new Promise((resolve) => setTimeout(resolve, 5));

/** A device that counts the native waits in flight. */
function counted() {
  const counts = { calls: 0, inFlight: 0, most: 0 };
  const driver = new FakeDriver();
  const wait = driver.lines.waitElsewhere;
  driver.lines.waitElsewhere = async (lane, mark) => {
    counts.calls++;
    counts.most = Math.max(counts.most, ++counts.inFlight);
    await wait(lane, mark).finally(() => counts.inFlight--);
  };
  return { driver, counts };
}

Deno.test("a wait settles when the work is done", async () => {
  const work = new FakeWork();
  const waited = work.fence.wait();
  assertEquals(work.fence.reached(), false);
  setTimeout(() => work.end(), 5);
  await waited;
  assertEquals(work.fence.reached(), true);
});

Deno.test("a wait polls for one short while before it makes a native wait", async () => {
  const { driver, counts } = counted();
  const work = new FakeWork("device", undefined, driver);
  let polls = 0;
  const { poll } = driver.lines;
  driver.lines.poll = (lane, mark) => {
    polls++;
    return poll(lane, mark);
  };
  const { now } = performance;
  let time = now.call(performance);
  let waited;
  try {
    performance.now = () => time += 0.01; // of a short while, 0.05
    waited = work.fence.wait();
  } finally {
    performance.now = now;
  }
  assertEquals([polls > 3 && polls < 8, counts.calls], [true, 1], `${polls} polls`);
  work.end();
  await waited;
});

Deno.test("await and Promise.all() wait for fences, and reject with the work's failure", async () => {
  const [one, other] = [new FakeWork(), new FakeWork()];
  const both = Promise.all([one.fence, other.fence]);
  setTimeout(() => one.end(), 5);
  await one.fence;
  assertEquals([one.fence.reached(), other.fence.reached()], [true, false]);
  other.end();
  assertEquals(await both, [undefined, undefined]);
  const failed = new FakeWork("device", new Error("the kernel failed"));
  failed.end();
  assertStrictEquals(await assertRejects(async () => await failed.fence), failed.failure);
});

Deno.test("an async function that returns a fence waits for it, and so does host.signal() of a fence", async () => {
  const work = new FakeWork();
  const returned: Promise<void> = (async () => {
    await moment();
    return work.fence;
  })();
  const signal = host.signal(work.fence);
  setTimeout(() => work.end(), 15);
  await returned;
  assertEquals(work.fence.reached(), true);
  await signal;
});

Deno.test("lend() holds the bytes until the fence is reached that its function returns", async () => {
  using tensor = host.allocate({ shape: [4], dtype: "u8" });
  const work = new FakeWork();
  const lent = tensor.lend(() => work.fence);
  await moment();
  assertThrows(() => tensor.view(), AccessError);
  work.end();
  await lent;
  assertEquals(tensor.view().length, 4);
});

Deno.test("a fence stands for a mark of its line, and not for what comes later", () => {
  const line = new FakeDriver().line();
  const fences: Fence[] = [line.fence()];
  for (let i = 0; i < 3; i++) {
    line.submit([], command(() => {}));
    fences.push(line.fence());
  }
  line.lane.step();
  line.lane.step();
  assertEquals(fences.map((fence) => fence.reached()), [true, true, true, false]);
  line.lane.run();
});

Deno.test("work that failed rejects with its own failure, before and after", async () => {
  const work = new FakeWork("device", new Error("the kernel failed"));
  const early = assertRejects(() => work.fence.wait());
  work.end();
  assertStrictEquals(await early, work.failure);
  assertStrictEquals(await assertRejects(() => work.fence.wait()), work.failure);
});

Deno.test("work behind a gate makes no native wait before that opens", async () => {
  const { driver, counts } = counted();
  const work = new FakeWork("gated", undefined, driver);
  const waited = work.fence.wait();
  await moment();
  assertEquals(counts.most, 0);
  work.end();
  await waited;
});

Deno.test("a wait whose line ends meanwhile returns what became of the work", async () => {
  const driver = new FakeDriver();
  const line = driver.line();
  line.submit([], command(() => {}));
  driver.lines.waitElsewhere = () => { // it comes back early; the line is closed before it is asked again
    setTimeout(() => {
      line.lane.run();
      line.resource.dispose();
    });
    return Promise.resolve();
  };
  await line.fence().wait();
  assertEquals(line.resource.state, "freed");
});

Deno.test("few native waits are in flight at a time, and all that wait come to an end", async () => {
  const { driver, counts } = counted();
  const works = Array.from({ length: 50 }, () => new FakeWork("device", undefined, driver));
  const waited = Promise.all(works.map(({ fence }) => fence.wait()));
  await moment();
  assert(counts.most >= 1 && counts.most <= 4, `${counts.most} at a time`);
  for (const work of works.reverse()) work.end();
  await waited;
  assertEquals(counts.inFlight, 0);
});

Deno.test("a native wait that fails rejects, and lets others wait", async () => {
  const failure = new Error("no host memory to wait with");
  const { driver, counts } = counted();
  for (let i = 0; i < 10; i++) {
    const work = new FakeWork("device", undefined, driver);
    work.lane.brokenWait = failure;
    assertStrictEquals(await assertRejects(() => work.fence.wait()), failure);
  }
  const work = new FakeWork("device", undefined, driver);
  const waited = work.fence.wait();
  await moment();
  assertEquals(counts.calls, 11);
  work.end();
  await waited;
});

Deno.test("a signal stops the waiting, not the work", async () => {
  const { fence } = new FakeWork();
  const aborter = new AbortController();
  const reason = new Error("enough");
  const waited = assertRejects(() => fence.wait({ signal: aborter.signal }));
  aborter.abort(reason);
  assertStrictEquals(await waited, reason);
  assertStrictEquals(await assertRejects(() => fence.wait({ signal: aborter.signal })), reason);
  assertEquals(fence.reached(), false);
  fence.waitSync();
  await fence.wait({ signal: new AbortController().signal });
});

Deno.test("a failure after the signal is not an unhandled rejection", async () => {
  const work = new FakeWork("device", new Error("too late"));
  const aborter = new AbortController();
  const waited = assertRejects(() => work.fence.wait({ signal: aborter.signal }));
  aborter.abort();
  await waited;
  work.end();
  await moment();
});

Deno.test("console.log shows what a fence and its line are, and nothing of their insides", () => {
  const fence = host.signal(Promise.resolve());
  assertEquals(Deno.inspect(fence), "fence at mark 1 of a signal of the host");
  assertEquals(Deno.inspect({ line: fence.line, host }), "{ line: a signal of the host, host: host }");
});

Deno.test("a signal of the host is reached when its promise settles, and fails where that rejects", async () => {
  const failure = new Error("the file is gone");
  const good = host.signal(Promise.resolve());
  const bad = host.signal(Promise.reject(failure));
  assertEquals([good.reached(), bad.reached()], [false, false]);
  await good.wait();
  assertEquals(good.reached(), true);
  assertStrictEquals(await assertRejects(() => bad.wait()), failure);
  good.waitSync();
});
