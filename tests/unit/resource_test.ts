import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { AccessError, DisposedError, InteropError } from "../../src/core/errors.ts";
import { Grant } from "../../src/core/memory/grant.ts";
import { Resource, type ResourceInit } from "../../src/core/life/resource.ts";
import { unwind } from "../../src/core/life/undo.ts";
import { command, fakeAllocation, FakeDriver, fakes, FakeWork } from "./fakes.ts";
import { ManualGate } from "../gate.ts";
import { collect } from "../gc.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

/** A moment for whatever runs in the background. */
const moment = () => new Promise((resolve) => setTimeout(resolve, 5));

/** A resource with a grant on 8 bytes of its own, freed with it. */
function owning(init: Partial<ResourceInit> = {}) {
  const allocation = fakeAllocation(8);
  const grant = Grant.root(allocation, 0, 8, "read-write", "owner");
  const resource = new Resource({ name: "owner", grants: [grant], ...init, undo: [() => allocation.leave()] });
  return { allocation, grant, resource };
}

/** A resource that borrowed all that `from` has. */
function borrowing(from: { grant: Grant; resource: Resource }, init: Partial<ResourceInit> = {}) {
  const grant = from.grant.lend("read-write", 0, 8, "borrower");
  return { grant, resource: new Resource({ name: "borrower", grants: [grant], owners: [from.resource], ...init }) };
}

Deno.test("an undo list runs newest first, and to its end", () => {
  const ran: number[] = [];
  const failing = (n: number) => () => {
    ran.push(n);
    throw n;
  };
  assertEquals(unwind([failing(1), () => void ran.push(2), failing(3)]), [3, 1]);
  assertEquals(ran, [3, 2, 1]);
});

Deno.test("dispose: dependents first, newest first, each before its owner", () => {
  const order: string[] = [];
  const make = (name: string, ...owners: Resource[]) =>
    new Resource({ name, owners, undo: [() => void order.push(`${name}.1`), () => void order.push(`${name}.2`)] });
  const context = make("context");
  const photo = make("photo");
  make("older", photo);
  make("newer", photo, context);
  photo.dispose();
  photo.dispose();
  assertEquals(order, ["newer.2", "newer.1", "older.2", "older.1", "photo.2", "photo.1"]);
  context.dispose();
  assertEquals(order.slice(6), ["context.2", "context.1"]);
});

Deno.test("what was disposed with its owner says so", () => {
  const owner = new Resource({ name: "the photo" });
  const member = new Resource({ name: "the map", owners: [owner] });
  member.assertLive();
  owner.dispose();
  const { hint } = assertThrows(
    () => member.assertLive(),
    DisposedError,
    "the map was disposed with the photo. Keep the photo until the last use",
  );
  assertEquals(hint, "Keep the photo until the last use of all that depends on it.");
  assertThrows(() => owner.assertLive(), DisposedError, "the photo was disposed. Dispose it after its last use");
});

Deno.test("one failure is thrown as it is, several as one error with all of them", () => {
  const failure = new Error("one");
  const fails = (error: Error) => () => {
    throw error;
  };
  assertStrictEquals(assertThrows(() => new Resource({ name: "r", undo: [fails(failure)] }).dispose()), failure);
  const others = [new Error("two"), new Error("three"), new Error("four")];
  const owner = new Resource({ name: "the owner", undo: [fails(others[0])] });
  const member = new Resource({
    name: "the member",
    owners: [owner],
    undo: [fails(others[2])],
    giveBack: { line: fakes.line(), step: fails(others[1]) },
  });
  const error = assertThrows(
    () => owner.dispose(),
    InteropError,
    "3 failures while disposing the owner: three four two",
  );
  assertEquals(error.errors, [others[1], others[2], others[0]]);
  assertEquals([owner.state, member.state], ["freed", "freed"]);
  owner.dispose();
});

Deno.test("a dispose waits for the work, gives the bytes back after it, and waits for that as well", () => {
  const work = new FakeWork();
  const seen: string[] = [];
  const line = fakes.line();
  const resource = new Resource({
    name: "r",
    giveBack: {
      line,
      step(step) {
        if (step === 2) return undefined;
        seen.push(`step ${step}, ${work.over ? "over" : "in flight"}`);
        return command(() => void seen.push(`ran ${step}, ${work.over ? "over" : "in flight"}`));
      },
    },
    undo: [() => void seen.push(`released, ${line.lane.over} are over`)],
  });
  resource.usedBy(work.fence);
  assert(resource.busy);
  resource.dispose();
  assertEquals(seen, ["step 0, in flight", "ran 0, over", "step 1, over", "ran 1, over", "released, 2 are over"]);
});

Deno.test("a step that may have submitted something although it failed is waited for", () => {
  for (const partial of [false, true]) {
    const line = fakes.line();
    const released: number[] = [];
    const call = { fn: "fakeUnmap", partial, call: () => 7 };
    const resource = new Resource({
      name: "r",
      giveBack: { line, step: () => call },
      undo: [() => void released.push(line.lane.over)],
    });
    assertThrows(() => resource.dispose(), Error, "fakeUnmap failed with 7");
    assertEquals(released, [partial ? 1 : 0]);
  }
});

Deno.test("the work of another driver is waited for before the bytes are given back", async () => {
  for (const how of ["dispose", "disposeAsync"] as const) {
    const failure = new Error("the other API's work failed");
    const work = new FakeWork("device", failure, new FakeDriver("other"));
    const own = new FakeWork();
    const seen: unknown[] = [];
    const resource = new Resource({
      name: "r",
      giveBack: {
        line: fakes.line(),
        step: (_, used) => void seen.push(work.over, resource.work.fences.map(({ line }) => line), used),
      },
    });
    resource.usedBy(own.fence);
    resource.usedBy(work.fence);
    setTimeout(() => work.end(), 5);
    setTimeout(() => own.end(), 20);
    if (how === "dispose") assertStrictEquals(assertThrows(() => resource.dispose()), failure);
    else assertStrictEquals(await assertRejects(() => resource.disposeAsync()), failure);
    assertEquals(seen, [true, [own.line], true]);
  }
});

Deno.test("a way back knows whether anything was ever done with the bytes, by dependents too", () => {
  for (const by of ["nobody", "itself", "a dependent"]) {
    const seen: boolean[] = [];
    const step = (_: unknown, used: boolean) => void seen.push(used);
    const resource = new Resource({ name: "r", giveBack: { line: fakes.line(), step } });
    const member = new Resource({ name: "m", owners: [resource] });
    const work = new FakeWork();
    if (by !== "nobody") (by === "itself" ? resource : member).usedBy(work.fence);
    work.end();
    member.dispose();
    resource.dispose();
    assertEquals(seen, [by !== "nobody"]);
  }
});

Deno.test("work that failed gives the memory back, then throws", async () => {
  for (const how of ["dispose", "disposeAsync"] as const) {
    const failure = new Error("the kernel failed");
    const released: string[] = [];
    const resource = new Resource({ name: "r", undo: [() => void released.push("released")] });
    const work = new FakeWork("device", failure);
    work.end();
    resource.usedBy(work.fence);
    assertEquals(resource.busy, false);
    if (how === "dispose") assertStrictEquals(assertThrows(() => resource.dispose()), failure);
    else assertStrictEquals(await assertRejects(() => resource.disposeAsync()), failure);
    assertEquals([resource.state, released], ["freed", ["released"]]);
  }
});

Deno.test("a blocking dispose of work behind a gate throws, and the end goes on", async () => {
  const work = new FakeWork("gated");
  const resource = new Resource({ name: "r" });
  resource.usedBy(work.fence);
  assertThrows(() => resource.dispose(), AccessError, "could never end");
  assertEquals(resource.state, "returning");
  work.end();
  await moment();
  assertEquals(resource.state, "freed");
});

Deno.test("what others wait for in vain is given up as the end begins, so that a blocking dispose of both ends", () => {
  const failure = new Error("the event could not be set");
  const work = new FakeWork("gated");
  const owner = new Resource({ name: "owner" });
  const gate = new Resource({
    name: "gate",
    owners: [owner],
    hooks: {
      giveUp: () => {
        work.end();
        throw failure;
      },
      lastWork: () => work.fence,
    },
  });
  const waiting = new Resource({ name: "waiting", owners: [owner] });
  waiting.usedBy(work.fence);
  assertStrictEquals(assertThrows(() => owner.dispose()), failure);
  assertEquals([gate.state, waiting.state, owner.state], ["freed", "freed", "freed"]);
});

Deno.test("bytes come back behind a gate, whichever driver's line stands behind it", async () => {
  for (const sync of ["timeline-fd", undefined] as const) {
    const gate = new ManualGate();
    const [used, back] = [new FakeDriver("one", sync).line(), new FakeDriver("other", sync).line()];
    used.submit([], command(() => {}), [gate.fence]);
    const step = (n: number) => n === 0 ? command(() => {}) : undefined;
    const resource = new Resource({ name: "r", giveBack: { line: back, step } });
    resource.disposeAfter(used.fence());
    await moment();
    assertEquals([resource.state, resource.onTheWayBack], ["closing", true]);
    gate.open();
    used.lane.run();
    await moment();
    back.lane.run();
    await resource.disposeAsync();
    assertEquals([back.lane.over, resource.state], [1, "freed"]);
  }
});

Deno.test("disposeAsync does not block, and every caller waits for the end", async () => {
  const work = new FakeWork("gated");
  const resource = new Resource({ name: "r" });
  resource.usedBy(work.fence);
  const [first, second] = [resource.disposeAsync(), resource.disposeAsync()];
  await moment();
  assertEquals(resource.state, "returning");
  work.end();
  await Promise.all([first, second]);
  assertEquals(resource.state, "freed");
});

Deno.test(
  "after disposeAfter the bytes are returning at once, and another API can have them",
  withEmptyLedger(async () => {
    const owner = owning();
    const borrower = borrowing(owner);
    const work = new FakeWork("gated");
    borrower.resource.disposeAfter(work.fence);
    assertEquals([borrower.resource.state, borrower.grant.state], ["returning", "returning"]);
    assertEquals(owner.grant.conflicts("read-write"), [borrower.grant]);
    assertThrows(() => borrower.resource.disposeAfter(work.fence), DisposedError);
    work.end();
    await moment();
    assertEquals([borrower.resource.state, owner.grant.state], ["freed", "live"]);
    owner.resource.dispose();
  }),
);

Deno.test("disposeAfter asks the device hardly more than once, and comes back", async () => {
  const line = new FakeDriver().line("asked");
  let asked = 0;
  line.lane.asked = () => void asked++;
  const ends = Array.from({ length: 50 }, () => {
    const { resource } = owning();
    line.submit([], command(() => {}));
    const before = asked;
    resource.disposeAfter(line.fence());
    assert(asked - before <= 4, `disposeAfter polled ${asked - before} times`);
    return resource;
  });
  line.lane.run();
  while (ends.some(({ state }) => state !== "freed")) await moment();
  line.resource.dispose();
});

Deno.test(
  "a failure after disposeAfter is kept once, on all bytes that it concerns",
  withEmptyLedger(async () => {
    const [one, other] = [owning(), owning()];
    const failure = new Error("the unmap failed");
    const grants = [one.grant.lend("read", 0, 8, "plane 0"), other.grant.lend("read", 0, 8, "plane 1")];
    const frame = new Resource({ name: "frame", grants, owners: [one.resource, other.resource] });
    const work = new FakeWork("device", failure);
    frame.disposeAfter(work.fence);
    work.end();
    await moment();
    assertStrictEquals(assertThrows(() => other.resource.dispose()), failure);
    one.resource.dispose();
  }),
);

Deno.test(
  "disposeAfter() has a failure that two parts share thrown once, by the first owner that asks",
  withEmptyLedger(async () => {
    const [one, other] = [owning(), owning()];
    const failure = new Error("the unmap failed");
    const frame = new Resource({ name: "frame", owners: [one.resource, other.resource] });
    const work = new FakeWork("device", failure);
    for (const { grant } of [one, other]) {
      const plane = new Resource({ name: "plane", grants: [grant.lend("read", 0, 8, "plane")], owners: [frame] });
      plane.usedBy(work.fence);
    }
    frame.disposeAfter(work.fence);
    work.end();
    await moment();
    assertStrictEquals(assertThrows(() => other.resource.dispose()), failure);
    one.resource.dispose();
  }),
);

Deno.test(
  "disposeAfter() keeps a failure for bytes that have an owner, and does not warn for those that have none",
  withEmptyLedger(async () => {
    const one = owning();
    const failure = new Error("the unmap failed");
    const borrower = borrowing(one);
    const scratch = owning({ owners: [borrower.resource] }); // it ends with the borrower, and its bytes with it
    const work = new FakeWork("device", failure);
    scratch.resource.usedBy(work.fence);
    const warnings = await warningsOf(async () => {
      borrower.resource.disposeAfter(work.fence);
      work.end();
      await moment();
    });
    assertEquals(warnings, []);
    assertStrictEquals(assertThrows(() => one.resource.dispose()), failure);
  }),
);

Deno.test(
  "a failure that nobody is left to be told of is warned of",
  withEmptyLedger(async () => {
    const { resource } = owning();
    const work = new FakeWork("device", new Error("too late"));
    const warnings = await warningsOf(async () => {
      resource.disposeAfter(work.fence);
      work.end();
      await moment();
    });
    assertEquals(resource.state, "freed");
    assertEquals(warnings.length, 1);
    assert(warnings[0].includes("too late"));
  }),
);

Deno.test("a lend in flight: dispose returns at once, the end comes when it is over", async () => {
  const owner = new Resource({ name: "owner" });
  const member = new Resource({ name: "member", owners: [owner] });
  const [first, second] = [member.hold(), member.hold()];
  owner.dispose();
  assertEquals([owner.state, member.state], ["closing", "closing"]);
  first();
  await moment();
  assertEquals([owner.state, member.state], ["closing", "closing"]);
  second();
  await moment();
  assertEquals([owner.state, member.state], ["freed", "freed"]);
});

Deno.test("ending a hold twice does not end another's", () => {
  const resource = new Resource({ name: "r" });
  const first = resource.hold();
  const second = resource.hold();
  first();
  first();
  resource.dispose();
  assertEquals(resource.state, "closing");
  second();
});

Deno.test("an intermediate ends after what came of it, with the same dispose", () => {
  const order: string[] = [];
  const make = (name: string, ...owners: Resource[]) =>
    new Resource({ name, owners, undo: [() => void order.push(name)] });
  const graph = make("graph");
  const source = make("source");
  const first = make("first step", source, graph);
  const second = make("second step", first, graph);
  const last = make("last step", second, graph);
  second.own(first);
  last.own(second);
  last.dispose();
  assertEquals(order, ["last step", "second step", "first step"]);
  graph.dispose();
  source.dispose();
  assertEquals(order.slice(3), ["graph", "source"]);
});

Deno.test("an intermediate that is disposed first takes along what came of it, and no failure is lost", () => {
  const failure = new Error("release");
  const fails = () => {
    throw failure;
  };
  for (const which of [0, 1, 2]) {
    const source = new Resource({ name: "source" });
    const step = new Resource({ name: "step", owners: [source], undo: [fails] });
    const last = new Resource({ name: "last", owners: [step] });
    last.own(step);
    assertStrictEquals(assertThrows(() => [source, step, last][which].dispose()), failure);
    source.dispose();
    assertEquals([source.state, step.state, last.state], ["freed", "freed", "freed"]);
  }
});

Deno.test("dispose blocks until the end, also where disposeAsync has begun it, of this or of an owner", async () => {
  for (const begun of ["itself", "its owner"]) {
    const order: string[] = [];
    const work = new FakeWork();
    const owner = new Resource({ name: "owner" });
    const resource = new Resource({ name: "r", owners: [owner], undo: [() => void order.push("freed")] });
    resource.usedBy(work.fence);
    const awaited = (begun === "itself" ? resource : owner).disposeAsync().then(() => void order.push("awaited"));
    assertEquals(resource.state, "returning", begun);
    resource.dispose(); // waits for the work, as a blocking wait of a device does
    order.push("disposed");
    await awaited;
    assertEquals(order, ["freed", "disposed", "awaited"], begun);
    owner.dispose();
  }
});

Deno.test("a blocking dispose throws what fails of an end that disposeAsync began, and only one of them does", async () => {
  const failure = new Error("the kernel failed");
  const resource = new Resource({ name: "r" });
  resource.usedBy(new FakeWork("device", failure).fence);
  const awaited = resource.disposeAsync();
  assertStrictEquals(assertThrows(() => resource.dispose()), failure);
  await awaited;
});

Deno.test("an end that was left to the background is not waited for by dispose, but by disposeAsync", async () => {
  const [work, gated] = [new FakeWork(), new FakeWork("gated")];
  const resources = [0, 1, 2].map((i) => new Resource({ name: `r${i}` }));
  const [later, forgotten, refused] = resources;
  {
    later.disposeAfter(work.fence);
  }
  for (const each of [forgotten, refused]) each.usedBy(gated.fence);
  await warningsOf(() => forgotten.finalize());
  assertThrows(() => refused.dispose(), AccessError); // it goes on in the background
  for (const each of resources) each.dispose();
  assertEquals(resources.map(({ state }) => state), ["returning", "returning", "returning"]);
  gated.end();
  work.end();
  await Promise.all(resources.map((each) => each.disposeAsync()));
  assertEquals(resources.map(({ state }) => state), ["freed", "freed", "freed"]);
});

Deno.test("a native wait that fails is thrown, after the work was seen out", async () => {
  for (const how of ["dispose", "disposeAsync"] as const) {
    const failure = new Error("no host memory to wait with");
    const work = new FakeWork();
    work.lane.brokenWait = failure;
    const resource = new Resource({ name: "r" });
    resource.usedBy(work.fence);
    if (how === "dispose") {
      // The device ends it while the host polls.
      let polls = 0;
      work.lane.asked = () => {
        if (++polls > 3) work.end();
      };
      assertStrictEquals(assertThrows(() => resource.dispose()), failure);
    } else {
      // Nothing blocks the event loop meanwhile: or this timer would never come.
      setTimeout(() => work.end(), 20);
      assertStrictEquals(await assertRejects(() => resource.disposeAsync()), failure);
    }
    assertEquals(resource.state, "freed");
  }
});

Deno.test("work whose status cannot be asked for is not over: its memory stays until it is", async () => {
  const failure = new Error("no host memory to ask with");
  const work = new FakeWork();
  work.lane.brokenWait = work.lane.brokenStatus = failure;
  const released: boolean[] = [];
  const resource = new Resource({ name: "r", undo: [() => void released.push(work.over)] });
  resource.usedBy(work.fence);
  assert(resource.busy);
  setTimeout(() => work.end(), 20);
  assertStrictEquals(await assertRejects(() => resource.disposeAsync()), failure);
  assertEquals([released], [[true]]);
});

Deno.test("two that wait for the same failing work: one of them throws", async () => {
  const work = new FakeWork("device", new Error("failed"));
  const resource = new Resource({ name: "r" });
  resource.usedBy(work.fence);
  const both = [resource.disposeAsync(), resource.disposeAsync()];
  await moment();
  work.end();
  const settled = await Promise.allSettled(both);
  assertEquals(settled.filter(({ status }) => status === "rejected").length, 1);
  assertEquals(resource.state, "freed");
});

Deno.test("a finalizer warns, and ends it in the background", async () => {
  const work = new FakeWork("gated");
  const resource = new Resource({ name: "the tensor" });
  resource.usedBy(work.fence);
  const warnings = await warningsOf(() => {
    resource.finalize();
    resource.finalize();
  });
  assertEquals(warnings.length, 1);
  assert(warnings[0].includes("the tensor was never disposed"));
  assertEquals(resource.state, "returning");
  work.end();
  await moment();
  assertEquals(resource.state, "freed");
});

Deno.test("an owner keeps nothing of what has ended", async () => {
  const owner = new Resource({ name: "owner" });
  const dead = (() =>
    Array.from({ length: 100 }, (_, i) => {
      const member = new Resource({ name: "member", owners: [owner] });
      const last = new Resource({ name: "last", owners: [member, owner] });
      last.own(member);
      if (i % 2 === 0) member.dispose();
      else last.dispose();
      return [new WeakRef(member), new WeakRef(last)];
    }).flat())();
  await collect();
  assertEquals(dead.filter((ref) => ref.deref() !== undefined).length, 0);
  owner.dispose();
});

Deno.test("a hundred thousand dependents, and a chain of a thousand, end", () => {
  const owner = new Resource({ name: "owner" });
  for (let i = 0; i < 100_000; i++) new Resource({ name: "member", owners: [owner] });
  const before = performance.now();
  owner.dispose();
  assert(performance.now() - before < 20_000);
  const first = new Resource({ name: "first" });
  let last = first;
  for (let i = 0; i < 1000; i++) last = new Resource({ name: `link ${i}`, owners: [last] });
  first.dispose();
  assertEquals(last.state, "freed");
});

Deno.test(
  "work that neither ends nor can be waited for: only the memory that it uses is kept for good",
  withEmptyLedger(async () => {
    const { now } = performance;
    for (const how of ["dispose", "disposeAsync"] as const) {
      const failure = new Error("the device is gone");
      const context = new Resource({ name: "context" });
      const [used, unused] = [owning({ owners: [context] }), owning({ owners: [context] })];
      const work = new FakeWork();
      work.lane.brokenWait = failure;
      used.resource.usedBy(work.fence);
      const warnings = await warningsOf(async () => {
        let passed = 0;
        performance.now = () => now.call(performance) + (passed += 1000);
        try {
          if (how === "dispose") assertStrictEquals(assertThrows(() => context.dispose()), failure);
          else assertStrictEquals(await assertRejects(() => context.disposeAsync()), failure);
        } finally {
          performance.now = now;
        }
      });
      assertEquals(context.state, "freed");
      assertEquals([used.allocation.escaped, unused.allocation.escaped], [true, false]);
      assertEquals(warnings.length, 1);
      work.end();
    }
  }, { quarantined: 16 }),
);
