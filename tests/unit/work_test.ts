// What is remembered of the work on one resource.

import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { Fence } from "../../src/core/device/fence.ts";
import type { Line } from "../../src/core/device/line.ts";
import { Work } from "../../src/core/device/work.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { command, FakeDriver, type FakeLane, FakeWork } from "./fakes.ts";

/** One more command of a line. */
const next = (line: Line<FakeLane>, run = () => {}) => line.submit([], command(run));
const marks = (work: Work, writes: boolean) => {
  const found: number[] = [];
  work.eachBefore(writes, (_line, mark) => found.push(mark));
  return found;
};

Deno.test("a reader has to wait for what wrote, a writer for all", () => {
  const [one, two] = [new FakeDriver().line(), new FakeDriver().line()];
  const work = new Work();
  work.record(one, next(one), true);
  work.record(one, next(one), false);
  work.record(two, next(two), false);
  assertEquals([marks(work, false), marks(work, true)], [[1], [1, 2]]);
  work.record(one, next(one), false); // comes first again, and is still the one that wrote
  assertEquals([marks(work, false), marks(work, true)], [[1], [3, 1]]);
  work.record(two, next(two), true);
  assertEquals([marks(work, false), marks(work, true)], [[2], [2]]);
});

Deno.test("recording asks no driver, though many lines have their work in flight", () => {
  const driver = new FakeDriver();
  const work = new Work();
  let asked = 0;
  const lines = Array.from({ length: 8 }, () => driver.line());
  for (const line of lines) {
    line.lane.asked = () => asked++;
    work.record(line, next(line), false);
  }
  assertEquals(asked, 0);
  assertEquals(work.fences.length, 8);
});

Deno.test("what is over is forgotten before it becomes too many", () => {
  const driver = new FakeDriver();
  const work = new Work();
  for (let i = 0; i < 1000; i++) {
    const line = driver.line();
    work.record(line, next(line), false);
    line.lane.run();
  }
  assert(work.others!.length <= 8);
  assertEquals([work.fences, work.used], [[], true]);
});

Deno.test("declared work that is over is forgotten before it becomes too much", () => {
  const driver = new FakeDriver();
  const work = new Work();
  for (let i = 0; i < 1000; i++) {
    const line = driver.line();
    work.add(new Fence(line, next(line)));
    line.lane.run();
  }
  assert(work.others!.length <= 8);
  assertEquals(work.fences, []);
});

Deno.test("declared work takes the place of no other work, and a line's newer mark takes that of its older one", () => {
  const [ours, declared] = [new FakeWork(), new FakeWork()];
  const resource = new Resource({ name: "the memory" });
  resource.usedBy(ours.fence);
  resource.usedBy(declared.fence);
  assertEquals(resource.work.fences.map(({ line }) => line), [ours.line, declared.line]);
  next(ours.line);
  resource.usedBy(ours.line.fence());
  resource.usedBy(ours.fence); // the older one, again
  declared.end();
  assertEquals(resource.work.fences.map(({ line, mark }) => [line === ours.line, mark]), [[true, 2]]);
  resource.dispose();
  assertEquals([resource.state, ours.lane.over], ["freed", 2]);
});

Deno.test("inherited work is waited for by readers too, because it is unknown what it did", () => {
  const [first, second] = [new FakeWork(), new FakeWork()];
  const resource = new Resource({ name: "a map" });
  resource.inherit([first.fence, second.fence]);
  assertEquals(marks(resource.work, false), [1, 1]);
  first.end();
  assertEquals(resource.busy, true);
  second.end();
  assertEquals(resource.busy, false);
});

Deno.test("a failure that a later mark does not cover is kept as that takes its place, and reported once", () => {
  const failure = new Error("the kernel failed");
  const fail = () => {
    throw failure;
  };
  const others = [
    ["recorded", (work: Work, line: Line) => work.record(line, line.submitted, false)],
    ["declared", (work: Work, line: Line) => work.add(line.fence())],
  ] as const;
  for (const [how, again] of others) {
    for (const behind of [false, true]) {
      const line = new FakeDriver().line();
      const work = new Work();
      work.record(line, next(line, fail), false);
      if (behind) work.record(new FakeWork().line, 1, false); // it is no longer the line that comes first
      line.lane.run();
      assert(line.isOver(1));
      next(line);
      again(work, line);
      line.lane.run();
      work.forget();
      assertEquals([work.takeFailures(), work.takeFailures()], [[failure], []], how);
    }
  }
});

Deno.test("what another driver's writer took the place of is asked later, and not before it is over", () => {
  const failure = new Error("the kernel failed");
  const [early, late] = [new FakeWork("device", failure, new FakeDriver("early")), new FakeDriver("late").line()];
  const work = new Work();
  work.record(early.line, 1, true);
  work.record(late, next(late), true);
  assertEquals([work.fences.length, work.takeFailures()], [1, []]);
  early.end();
  assertEquals(work.takeFailures(), [failure]);
  assertEquals(work.takeFailures(), []);
});

Deno.test("work that cannot be asked about goes on", () => {
  const flight = new FakeWork();
  flight.lane.brokenStatus = new Error("no host memory to ask with");
  const work = new Work();
  work.add(flight.fence);
  const found = work.next()!;
  assertStrictEquals(found.line, flight.line);
  flight.end();
  assertEquals([work.next(), work.takeFailures()], [undefined, []]);
});

Deno.test("a line can be given up, wherever it stands", () => {
  const lines = [0, 1, 2].map(() => new FakeDriver().line());
  for (const line of lines) {
    const work = new Work();
    for (const each of lines) work.add(new Fence(each, next(each)));
    assertEquals([work.abandon(line), work.abandon(line)], [true, false]);
    assertEquals(work.fences.map(({ line }) => line).includes(line), false);
    assertEquals(work.fences.length, 2);
  }
});
