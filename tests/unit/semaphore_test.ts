// Semaphores of a program's own, between lines of two devices and a third that makes them.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { Semaphore, type SemaphoreType } from "../../src/core/device/semaphore.ts";
import { AccessError, ArgumentError, DisposedError, NativeCallError } from "../../src/core/errors.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { ManualGate } from "../gate.ts";
import { command, FakeDriver, FakeMaker, misuses } from "./fakes.ts";
import { collect } from "../gc.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

/** A maker with an end of life, and a line of each of two devices that import what it makes. */
function open(kind: SemaphoreType = "binary") {
  const semaphores = new FakeMaker();
  const exporter = { name: "the maker", resource: new Resource({ name: "the maker" }), semaphores };
  const [one, other] = ["one", "other"].map((name) =>
    new FakeDriver(name, kind === "binary" ? "binary-fd" : "shared timeline-fd").line(name)
  );
  return {
    ...{ exporter, one, other },
    [Symbol.dispose]() {
      for (const resource of [one.resource, other.resource, exporter.resource]) resource.dispose();
      assertEquals(semaphores.made, semaphores.released);
      for (const { imports, releases } of [one, other].map(({ driver }) => driver as FakeDriver)) {
        assertEquals(imports, releases);
      }
      assertEquals(misuses, []);
    },
  };
}

for (const kind of ["binary", "timeline"] as const) {
  Deno.test(
    `semaphore: two lines take turns by two ${kind} ones, and the host never waits`,
    withEmptyLedger(() => {
      using made = open(kind);
      const { exporter, one, other } = made;
      using there = Semaphore.create(exporter, { kind });
      using back = Semaphore.create(exporter, { kind });
      const order: string[] = [];
      for (let lap = 0; lap < 100; lap++) {
        one.submit([], command(() => void order.push("one")));
        there.in({ line: one }).signal();
        there.in({ line: other }).wait();
        other.submit([], command(() => void order.push("other")));
        back.in({ line: other }).signal();
        back.in({ line: one }).wait();
      }
      assertEquals(order, []);
      other.lane.driveTo(other.submitted);
      assertEquals(order, Array.from({ length: 200 }, (_, i) => i % 2 === 0 ? "one" : "other"));
      assertEquals([one, other].map(({ driver }) => (driver as FakeDriver).blocks), [0, 0]);
      assertEquals(there.value, kind === "binary" ? 1n : 100n);
    }),
  );
}

Deno.test(
  "semaphore: a wait without a signal, a second wait, and a second signal are refused",
  withEmptyLedger(() => {
    using made = open();
    const { exporter, one, other } = made;
    using semaphore = Semaphore.create(exporter);
    assertEquals(Deno.inspect(semaphore.in({ line: one })), `${Deno.inspect(semaphore)} in ${one.name}`);
    assertThrows(() => semaphore.in({ line: other }).wait(), AccessError, "a wait comes after its signal");
    semaphore.in({ line: one }).signal();
    assertThrows(() => semaphore.in({ line: one }).signal(), AccessError, "no wait has taken");
    semaphore.in({ line: other }).wait();
    assertThrows(() => semaphore.in({ line: other }).wait(), AccessError, "a wait comes after its signal");
    assertThrows(() => semaphore.in({ line: one }).signal(), AccessError, "may not be over");
    other.submit([], command(() => {}));
    assertThrows(() => semaphore.in({ line: one }).signal(), AccessError, "may not be over");
    other.block(other.submitted);
    semaphore.in({ line: one }).signal(); // now it is
    semaphore.in({ line: other }).wait();
  }),
);

for (const kind of ["binary", "timeline"] as const) {
  Deno.test(
    `semaphore: a ${kind} one is waited for whatever the line refuses behind the wait`,
    withEmptyLedger(() => {
      using made = open(kind);
      const { exporter, one, other } = made;
      using semaphore = Semaphore.create(exporter, { kind });
      const order: string[] = [];
      one.submit([], command(() => void order.push("work")));
      semaphore.in({ line: one }).signal();
      semaphore.in({ line: other }).wait();
      assertThrows(() => other.submit([], { fn: "fakeCommand", call: () => 5 }), NativeCallError);
      other.submit([], command(() => void order.push("behind")));
      other.lane.run();
      assertEquals(order, [], "the semaphore is not signalled");
      other.lane.driveTo(other.submitted);
      assertEquals(order, ["work", "behind"]);
    }),
  );
}

Deno.test(
  "semaphore: a signal behind an unsettled promise cannot be waited for yet: the wait might never end",
  withEmptyLedger(() => {
    using made = open();
    using gate = new ManualGate();
    const { exporter, one, other } = made;
    using semaphore = Semaphore.create(exporter);
    one.submit([], command(() => {}), [gate.fence]);
    semaphore.in({ line: one }).signal();
    assertThrows(() => semaphore.in({ line: other }).wait(), AccessError, "a promise that is not settled");
    gate.open();
    semaphore.in({ line: other }).wait();
    other.block(other.submitted);
  }),
);

Deno.test(
  "semaphore: a timeline's next signal comes behind the last one, or it would say that the last had come",
  withEmptyLedger(() => {
    using made = open("timeline");
    const { exporter, one, other } = made;
    using semaphore = Semaphore.create(exporter, { kind: "timeline" });
    const [first, second] = [semaphore.in({ line: one }), semaphore.in({ line: other })];
    first.signal();
    first.signal();
    assertThrows(() => second.signal(), AccessError, "the last signal, of one, may not be over");
    second.wait();
    second.signal(); // behind the wait
    other.block(other.submitted);
    first.signal(); // that one is over
    assertEquals(semaphore.value, 4n);
  }),
);

Deno.test(
  "semaphore: its end waits for the commands that use it, and takes no more",
  withEmptyLedger(() => {
    using made = open();
    const { exporter, one, other } = made;
    const semaphore = Semaphore.create(exporter);
    const [signaller, waiter] = [semaphore.in({ line: one }), semaphore.in({ line: other })];
    const order: string[] = [];
    one.submit([], command(() => void order.push("work")));
    signaller.signal();
    waiter.wait(); // nothing stands behind it yet
    semaphore[Symbol.dispose]();
    assertEquals(order, ["work"]);
    assertThrows(() => signaller.signal(), DisposedError);
    assertThrows(() => semaphore.in({ line: one }), DisposedError);
  }),
);

Deno.test(
  "semaphore: it ends with the first line that uses it, and with its maker",
  withEmptyLedger(() => {
    for (const which of ["one", "exporter"] as const) {
      using made = open();
      const semaphore = Semaphore.create(made.exporter);
      semaphore.in({ line: made.one }).signal();
      made[which].resource.dispose();
      assertThrows(() => semaphore.in({ line: made.other }), DisposedError);
    }
  }),
);

Deno.test(
  "semaphore: who makes none, and who imports none, is refused",
  withEmptyLedger(() => {
    using made = open();
    const { exporter, one } = made;
    const binaryOnly = { ...exporter, semaphores: Object.assign(new FakeMaker(), { kinds: ["binary-fd"] }) };
    assertThrows(
      () => Semaphore.create(binaryOnly, { kind: "timeline" }),
      ArgumentError,
      "makes no timeline semaphores",
    );
    assertThrows(() => Semaphore.create({} as never), ArgumentError, "a context that makes semaphores");
    assertThrows(() => Semaphore.create(exporter, { kind: "counting" as never }), ArgumentError, '"counting"');
    using semaphore = Semaphore.create(exporter, { kind: "timeline" });
    const error = assertThrows(() => semaphore.in({ line: one }), ArgumentError);
    assertStringIncludes(error.message, "one imports no timeline semaphores");
    assertThrows(() => semaphore.in({} as never), ArgumentError, "a context, a queue or a stream");
  }),
);

for (const kind of ["binary", "timeline"] as const) {
  Deno.test(
    `semaphore: a ${kind} signal that was submitted, and could not be flushed, counts`,
    withEmptyLedger(() => {
      using made = open(kind);
      const { exporter, one, other } = made;
      using semaphore = Semaphore.create(exporter, { kind });
      one.lane.brokenFlush = true;
      assertThrows(() => semaphore.in({ line: one }).signal(), NativeCallError, "fakeSignal failed");
      one.lane.brokenFlush = false;
      if (kind === "binary") assertThrows(() => semaphore.in({ line: one }).signal(), AccessError, "no wait has taken");
      semaphore.in({ line: other }).wait();
      other.block(other.submitted);
      assertEquals(semaphore.value, 1n);
    }),
  );
}

Deno.test(
  "semaphore: a wait beside another line's, which may not be over, is refused: it could take that one's signal",
  withEmptyLedger(() => {
    using made = open();
    const { exporter, one, other } = made;
    using semaphore = Semaphore.create(exporter);
    semaphore.in({ line: one }).signal();
    semaphore.in({ line: other }).wait();
    semaphore.in({ line: other }).signal(); // behind its own wait
    assertThrows(() => semaphore.in({ line: one }).wait(), AccessError, "could take it");
    other.block(other.submitted);
    semaphore.in({ line: one }).wait();
    one.block(one.submitted);
  }),
);

Deno.test(
  "semaphore: one whose wait failed is used no more: nobody knows whether the driver has made it",
  withEmptyLedger(() => {
    using made = open();
    const { exporter, one, other } = made;
    using semaphore = Semaphore.create(exporter);
    const failure = new Error("the wait could not be made");
    const { waiting } = other.driver.lines.sync!;
    Object.assign(other.driver.lines.sync!, {
      waiting() {
        throw failure;
      },
    });
    semaphore.in({ line: one }).signal();
    assertThrows(() => semaphore.in({ line: other }).wait(), Error, failure.message);
    Object.assign(other.driver.lines.sync!, { waiting });
    for (const line of [one, other]) {
      assertThrows(() => semaphore.in({ line }).signal(), AccessError, "may not be over");
    }
    one.block(one.submitted);
  }),
);

Deno.test(
  "semaphore: a wait for a signal that has failed throws what failed",
  withEmptyLedger(() => {
    using made = open("timeline");
    const { exporter, one, other } = made;
    const semaphore = Semaphore.create(exporter, { kind: "timeline" });
    const failure = new Error("the work failed");
    one.submit(
      [],
      command(() => {
        throw failure;
      }),
    );
    semaphore.in({ line: one }).signal();
    assertThrows(() => one.fence().waitSync(), Error, failure.message);
    assertThrows(() => semaphore.in({ line: other }).wait(), Error, failure.message);
    assertEquals(other.submitted, 0);
    one.submit([], command(() => {}));
    one.fence().waitSync();
    assertThrows(() => semaphore[Symbol.dispose](), Error, failure.message);
  }),
);

Deno.test(
  "semaphore: one that is forgotten ends with a warning, after the commands that use it",
  withEmptyLedger(async () => {
    using made = open();
    const { exporter, one, other } = made;
    (() => {
      const semaphore = Semaphore.create(exporter);
      semaphore.in({ line: one }).signal();
      semaphore.in({ line: other }).wait();
    })();
    const warnings = await warningsOf(() => collect());
    assertEquals(warnings, [
      "samepage: binary semaphore of the maker was never disposed; it is now, by the garbage collector. Use `using` or dispose it. SAMEPAGE_TRACE_FORGOTTEN=1 says where it was made.",
    ]);
    assertEquals(exporter.semaphores.released, 0);
    other.block(other.submitted);
    await collect(1);
    assertEquals(exporter.semaphores.released, 1);
  }),
);
