import { assertEquals, assertStrictEquals } from "@std/assert";
import type { Fence } from "../../src/core/life/fence.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { Work } from "../../src/core/life/work.ts";
import { FakeFence, FakeWork } from "./fakes.ts";

/** Many enough for those that are over to be looked for. */
const MANY = 256;

/** A line that many claim. */
const line = {};

/** A fence that counts how often it is asked anything, in a line that it is told. */
class AskedFence extends FakeFence {
  static asked = 0;
  override readonly line: object;

  constructor(work: FakeWork, line: object = {}) {
    super(work);
    this.line = line;
  }

  override get over(): boolean {
    AskedFence.asked++;
    return super.over;
  }

  override reached(): boolean {
    AskedFence.asked++;
    return super.reached();
  }

  override supersedes(): boolean {
    AskedFence.asked++;
    return true;
  }

  override retain(): AskedFence {
    return new AskedFence(this.work, this.line);
  }
}

/** One of ours: it takes the place of those before it that are ours too. */
class OurFence extends FakeFence {
  override readonly line: object;

  constructor(work: FakeWork, line: object) {
    super(work);
    this.line = line;
  }

  override supersedes(earlier: FakeFence): boolean {
    return earlier instanceof OurFence;
  }

  override retain(): OurFence {
    return new OurFence(this.work, this.line);
  }
}

Deno.test("what is recorded asks no declared fence, however many there are", () => {
  for (const [about, lineOf] of [["one line", () => line], ["a line each", () => ({})]] as const) {
    const work = new Work();
    const [flight, ours] = [new FakeWork(), new FakeWork()];
    for (let i = 0; i < 2 * MANY; i++) work.addUnordered(new AskedFence(flight, lineOf()));
    AskedFence.asked = 0;
    for (const other of [line, {}]) work.record(new OurFence(ours, other));
    assertEquals(AskedFence.asked, 0, about);
    work.beside(undefined, []);
    assertEquals(AskedFence.asked > 0, true, `${about}, by whoever submits`);
    for (const each of [flight, ours]) each.end();
    work.sweep();
    assertEquals([work.next() !== undefined, FakeFence.alive, FakeFence.misused], [false, 0, 0], about);
  }
});

Deno.test("a declared fence takes nobody's place, whatever it says", () => {
  const [ours, declared] = [new FakeWork(), new FakeWork()];
  const resource = new Resource({ name: "the memory" });
  const own = new OurFence(ours, line);
  resource.record(own);
  {
    using liar = new AskedFence(declared, line);
    resource.usedBy(liar);
  }
  assertEquals(resource.work.length, 2);
  assertStrictEquals(resource.work[0], own);
  declared.end();
  assertEquals([resource.busy, resource.work.length], [true, 1]);
  resource.record(new OurFence(ours, line)); // ours does
  assertEquals(resource.work.length, 1);
  ours.end();
  resource.dispose();
  assertEquals([resource.state, FakeFence.alive, FakeFence.misused], ["freed", 0, 0]);
});

Deno.test("a declared fence keeps nobody from waiting for what is ours in the line that it claims", () => {
  const [ours, declared] = [new FakeWork(), new FakeWork()];
  const work = new Work();
  const own = new OurFence(ours, line);
  work.record(own);
  work.addUnordered(new AskedFence(declared, line));
  const waits: unknown[] = [];
  work.beside({}, waits as FakeFence[]);
  assertEquals(waits.includes(own), true);
  for (const each of [ours, declared]) each.end();
  work.sweep();
  assertEquals([FakeFence.alive, FakeFence.misused], [0, 0]);
});

Deno.test("inherited work is waited for whole: an older fence may follow a newer one of its line", () => {
  const [older, newer] = [new FakeWork(), new FakeWork()];
  const resource = new Resource({ name: "a map" });
  const [first, second] = [new OurFence(newer, line), new OurFence(older, line)];
  const gathered: Fence[] = [first, second];
  resource.inherit(gathered);
  assertEquals(gathered, []);
  const waits: Fence[] = [];
  resource.workBeside({}, waits);
  assertEquals(new Set(waits), new Set<Fence>([first, second]));
  older.end();
  assertEquals(resource.busy, true);
  newer.end();
  resource.dispose();
  assertEquals([resource.state, FakeFence.alive, FakeFence.misused], ["freed", 0, 0]);
});

Deno.test("a declared fence holds back who stands in the line that it claims, and one of ours does not", () => {
  const flight = new FakeWork();
  for (const others of [false, true]) {
    const work = new Work();
    const declared = new AskedFence(flight, line);
    work.addUnordered(declared);
    if (others) work.record(new OurFence(flight, line));
    const waits: FakeFence[] = [];
    work.beside(line, waits as Fence[]);
    assertEquals(waits, [declared]);
    for (const fence of [...work.fences]) work.forget(fence);
  }
  assertEquals([FakeFence.alive, FakeFence.misused], [0, 0]);
});

Deno.test("what is recorded lets go of no declared fence, even of our own kind", () => {
  const flight = new FakeWork();
  const work = new Work();
  let letGo = 0;
  /** A program's own class of such fences. */
  class Derived extends OurFence {
    override [Symbol.dispose](): void {
      letGo++;
      super[Symbol.dispose]();
    }
  }
  work.addUnordered(new Derived(flight, line));
  work.record(new OurFence(flight, line));
  assertEquals([letGo, work.fences.length], [0, 2]);
  flight.end();
  work.sweep();
  assertEquals([letGo, FakeFence.alive, FakeFence.misused], [1, 0, 0]);
});
