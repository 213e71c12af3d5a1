// The one way to submit work: what a command waits for, what it refuses, and what is recorded.

import { openFds } from "../gc.ts";
import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import type { Fence } from "../../src/core/device/fence.ts";
import { Line, type Use } from "../../src/core/device/line.ts";
import { AccessError, DisposedError, NativeCallError } from "../../src/core/errors.ts";
import type { Access } from "../../src/core/memory/access.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { Port } from "../../src/core/device/port.ts";
import { offerSemaphores } from "../../src/core/device/line_sync.ts";
import { host } from "../../src/host/mod.ts";
import { command, FakeDriver, FakeLane, FakeMaker, fakes, FakeWork, misuses } from "./fakes.ts";
import { ManualGate } from "../gate.ts";
import { withEmptyLedger } from "./ledger.ts";

/** So many lines of a device. */
const linesOf = (driver: FakeDriver, count: number) =>
  Array.from({ length: count }, (_, i) => driver.line(`line ${i}`));
const bytes = () => host.allocate({ shape: [64], dtype: "u8" });
const use = (tensor: Tensor, access: Access = "read-write", argument = "tensor"): Use => ({ tensor, access, argument });

/** A test of lines: what ran, and in which order; afterwards nothing is alive, and the core kept the contract. */
function lineTest(name: string, run: (order: string[]) => void | Promise<void>): void {
  Deno.test(
    name,
    withEmptyLedger(async () => {
      misuses.length = 0;
      await run([]);
      assertEquals(misuses, []);
    }),
  );
}

/** Submits a command that notes that it ran. */
function submit(
  [order, line, label]: readonly [string[], Line<FakeLane>, string],
  uses: readonly Use[],
  after: readonly Fence[] = [],
): number {
  return line.submit(uses, command(() => void order.push(label)), after);
}

const failing = (error: Error) =>
  command(() => {
    throw error;
  });

lineTest("readers on two lines run side by side, and a writer waits for both", (order) => {
  const [one, two, three] = linesOf(new FakeDriver(), 3);
  using tensor = bytes();
  submit([order, one, "first reader"], [use(tensor, "read")]);
  submit([order, two, "second reader"], [use(tensor, "read")]);
  submit([order, three, "writer"], [use(tensor, "write")]);
  assert(!three.lane.step());
  assert(two.lane.step(), "a reader waits for no other");
  assert(!three.lane.step(), "a writer waits for every reader");
  assert(one.lane.step());
  assert(three.lane.step());
  assertEquals(order, ["second reader", "first reader", "writer"]);
});

lineTest("a reader waits for the last writer, and not for the reader after it", (order) => {
  const [one, two] = linesOf(new FakeDriver(), 2);
  using tensor = bytes();
  submit([order, one, "writer"], [use(tensor, "write")]);
  submit([order, one, "first reader"], [use(tensor, "read")]);
  submit([order, two, "second reader"], [use(tensor, "read")]);
  one.lane.step();
  assert(two.lane.step());
  assertEquals(order, ["writer", "second reader"]);
  one.lane.run();
});

lineTest("what a line has waited for once is not waited for again", () => {
  const [one, two] = linesOf(new FakeDriver(), 2);
  using tensor = bytes();
  one.submit([use(tensor, "write")], command(() => {}));
  for (let i = 0; i < 2; i++) two.submit([use(tensor, "read")], command(() => {}));
  assertEquals(two.lane.waitsInFlight, [1, 0]);
  for (const { lane } of [one, two]) lane.run();
});

lineTest("a later mark of a line is waited for again", (order) => {
  const [one, two] = linesOf(new FakeDriver(), 2);
  using tensor = bytes();
  for (let i = 0; i < 2; i++) {
    submit([order, one, `write ${i}`], [use(tensor, "write")]);
    submit([order, two, `read ${i}`], [use(tensor, "read")]);
  }
  two.lane.run();
  assertEquals(order, []);
  two.lane.driveTo(2);
  assertEquals(order, ["write 0", "read 0", "write 1", "read 1"]);
});

lineTest("lines that read by turns record without a new entry each time", () => {
  const lines = linesOf(new FakeDriver(), 2);
  using tensor = bytes();
  for (let i = 0; i < 10; i++) lines[i % 2].submit([use(tensor, "read")], command(() => {}));
  assertEquals(tensor.work.map(({ mark }) => mark), [5, 5]);
  for (const { lane } of lines) lane.run();
});

lineTest("across drivers a timeline is imported once, and no host waits", (order) => {
  const [from, to] = [new FakeDriver("one", "timeline-fd"), new FakeDriver("other", "timeline-fd")];
  const [one, other] = [from.line(), to.line()];
  using tensor = bytes();
  for (let i = 0; i < 5; i++) {
    submit([order, one, `one ${i}`], [use(tensor)]);
    submit([order, other, `other ${i}`], [use(tensor)]);
  }
  assert(!other.lane.step());
  assertEquals([to.imports, from.imports, from.blocks, to.blocks], [1, 1, 0, 0]);
  other.lane.driveTo(5);
  assertEquals(order, [0, 1, 2, 3, 4].flatMap((i) => [`one ${i}`, `other ${i}`]));
  for (const { resource } of [one, other]) resource.dispose();
  assertEquals([from.releases, to.releases], [1, 1]);
});

lineTest("a sync fd is imported for each wait, and released once the command that waits is over", (order) => {
  const [from, to] = [new FakeDriver("one", "sync-fd"), new FakeDriver("other", "sync-fd")];
  const [one, other] = [from.line(), to.line()];
  for (let i = 0; i < 3; i++) {
    submit([order, one, `one ${i}`], []);
    submit([order, other, `other ${i}`], [], [one.fence()]);
  }
  assert(!other.lane.step());
  assert(!other.isOver(1));
  assertEquals([to.imports, to.releases], [3, 0]);
  one.lane.run();
  other.lane.step();
  assert(other.isOver(1));
  assertEquals(to.releases, 1);
  other.lane.run();
  assert(other.isOver(3));
  assertEquals([from.blocks, to.releases], [0, 3]);
  for (let i = 0; i < 3; i++) assert(order.indexOf(`one ${i}`) < order.indexOf(`other ${i}`));
});

lineTest("a sync file of -1 has come already: nothing is imported, and nothing waits", (order) => {
  const [from, to] = [new FakeDriver("one", "sync-fd"), new FakeDriver("other", "sync-fd")];
  const [one, other] = [from.line(), to.line()];
  submit([order, one, "one"], []);
  Object.assign(from.lines.sync!, { export: () => (one.lane.run(), new Port("sync-fd", { fd: -1 })) });
  submit([order, other, "other"], [], [one.fence()]);
  other.lane.run();
  assertEquals([order, to.imports, from.blocks], [["one", "other"], 0, 0]);
});

for (const kind of ["timeline-fd", "binary-fd", "shared timeline-fd"] as const) {
  lineTest(`a line keeps no ${kind} of lines that have ended`, () => {
    const maker = new FakeMaker();
    using _open = { [Symbol.dispose]: offerSemaphores(maker) };
    const [from, to] = [new FakeDriver("one", kind), new FakeDriver("other", kind)];
    const stays = to.line();
    for (let i = 0; i < 10; i++) {
      using tensor = bytes();
      const ends = from.line();
      submit([[], ends, "its work"], [use(tensor)]);
      submit([[], stays, "behind it"], [use(tensor)]);
      submit([[], ends, "and behind that"], [use(tensor)]);
      ends.resource.dispose();
      assertEquals(from.imports, from.releases);
      assert(stays.isOver(stays.submitted));
      assert(to.imports - to.releases <= 1, `${to.imports} imported, ${to.releases} released`);
    }
    stays.resource.dispose();
    assertEquals([to.imports, maker.made], [to.releases, maker.released]);
  });
}

lineTest("a line that ends is kept for those of its driver whose commands wait for it, and no longer", () => {
  const stays = fakes.line("stays");
  const ended = Array.from({ length: 10 }, () => {
    using tensor = bytes();
    const ends = fakes.line("ends");
    submit([[], ends, "its work"], [use(tensor)]);
    submit([[], stays, "behind it"], [use(tensor)]);
    ends.resource.dispose();
    assert(!ends.lane.isGone);
    return ends.lane;
  });
  stays.fence().waitSync();
  assert(ended.every(({ isGone }) => isGone));
  const [one, other] = ["one", "other"].map((name) => fakes.line(name));
  one.submit([], command(() => {}));
  other.submit([], command(() => {}), [one.fence()]);
  other.resource.dispose(); // its waits are over, and it gives back what it keeps
  one.resource.dispose();
  assert(one.lane.isGone);
  stays.resource.dispose();
});

lineTest("a line that is ending ends behind the signals that others have it make", async () => {
  using _open = { [Symbol.dispose]: offerSemaphores(new FakeMaker()) };
  const [from, to] = [new FakeDriver("one", "binary-fd"), new FakeDriver("other", "binary-fd")];
  const [one, other] = [from.line(), to.line()];
  one.submit([], command(() => {}));
  const end = one.resource.disposeAsync();
  other.submit([], command(() => {}), [one.fence()]); // which has it signal
  assertEquals([one.submitted, one.resource.state], [2, "returning"]);
  one.lane.step();
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(one.resource.state, "returning");
  other.lane.driveTo(1);
  await end;
  other.resource.dispose();
});

lineTest("a maker that cannot release its own object leaves no imports of it", () => {
  const maker = new FakeMaker();
  using _open = { [Symbol.dispose]: offerSemaphores(maker) };
  const [from, to] = [new FakeDriver("one", "binary-fd"), new FakeDriver("other", "binary-fd")];
  const [one, other] = [from.line(), to.line()];
  one.submit([], command(() => {}));
  const { make } = maker;
  maker.make = (kind) => ({
    ...make.call(maker, kind),
    release() {
      throw new Error("its fd could not be closed");
    },
  });
  assertThrows(() => other.submit([], command(() => {}), [one.fence()]), Error, "could not be closed");
  assertEquals([from.imports, to.imports], [1, 1]);
  assertEquals([from.releases, to.releases], [1, 1]);
  for (const line of [one, other]) line.resource.dispose();
});

for (const kind of ["binary-fd", "shared timeline-fd"] as const) {
  lineTest(`a ${kind} whose signal was submitted, and could not be flushed, is not signalled twice`, () => {
    using _open = { [Symbol.dispose]: offerSemaphores(new FakeMaker()) };
    const [from, to] = [new FakeDriver("one", kind), new FakeDriver("other", kind)];
    const [one, other] = [from.line(), to.line()];
    const order: string[] = [];
    submit([order, one, "first"], []);
    one.lane.brokenFlush = true;
    assertThrows(() => submit([order, other, "never"], [], [one.fence()]), NativeCallError, "fakeSignal failed");
    one.lane.brokenFlush = false;
    submit([order, other, "second"], [], [one.fence()]);
    other.fence().waitSync();
    assertEquals(order, ["first", "second"]);
    for (const line of [one, other]) line.resource.dispose();
    assertEquals([from.imports, to.imports], [from.releases, to.releases]);
  });
}

lineTest("a binary-fd whose wait was for a refused command goes with the next one, and not with the line", () => {
  const maker = new FakeMaker();
  using _open = { [Symbol.dispose]: offerSemaphores(maker) };
  const [from, to] = [new FakeDriver("one", "binary-fd"), new FakeDriver("other", "binary-fd")];
  const [one, other] = [from.line(), to.line()];
  const order: string[] = [];
  for (let i = 0; i < 10; i++) {
    submit([order, one, `one ${i}`], []);
    const after = [one.fence()];
    assertThrows(() => other.submit([], { fn: "refused", call: () => 1 }, after), NativeCallError, "refused failed");
    submit([order, other, `other ${i}`], [], after);
    other.fence().waitSync();
    assert(order.indexOf(`one ${i}`) < order.indexOf(`other ${i}`));
  }
  one.fence().waitSync();
  const held = [from.imports - from.releases, to.imports - to.releases];
  assert(held.every((count) => count <= 2), `${held} semaphores are held`);
  for (const line of [one, other]) line.resource.dispose();
  assertEquals([from.imports, to.imports], [from.releases, to.releases]);
});

lineTest(
  "submit() has a binary-fd signalled anew only once its last wait is over",
  (order) => {
    const maker = new FakeMaker();
    using _open = { [Symbol.dispose]: offerSemaphores(maker) };
    const [from, to] = [new FakeDriver("one", "binary-fd"), new FakeDriver("other", "binary-fd")];
    const [one, other] = [from.line(), to.line()];
    const wait = (lap: number) => {
      submit([order, one, `one ${lap}`], []);
      submit([order, other, `other ${lap}`], [], [one.fence()]);
    };
    for (const lap of [1, 2, 3]) wait(lap);
    assertEquals(maker.made, 3, "each wait is in flight");
    one.lane.run(); // all three signals, before the first wait
    other.lane.run();
    assertEquals(order, [1, 2, 3].map((lap) => `one ${lap}`).concat([1, 2, 3].map((lap) => `other ${lap}`)));
    wait(4);
    assertEquals(maker.made, 3, "the waits are over");
    other.fence().waitSync();
    for (const line of [one, other]) line.resource.dispose();
    assertEquals([from.imports, to.imports, maker.made], [from.releases, to.releases, maker.released]);
  },
);

/** A command that the driver refuses. */
const REFUSED = { fn: "refused", call: () => 1 };

for (const kind of ["binary-fd", "timeline-fd"] as const) {
  lineTest(
    `what a line waits for by a ${kind} of a line that ended stays until it is over, whatever is refused`,
    () => {
      using _open = { [Symbol.dispose]: offerSemaphores(new FakeMaker()) };
      const [from, to] = [new FakeDriver("one", kind), new FakeDriver("other", kind)];
      const [one, other] = [from.line(), to.line()];
      one.submit([], command(() => {}));
      other.submit([], command(() => {}), [one.fence()]);
      one.resource.dispose();
      assertThrows(() => other.submit([], REFUSED), NativeCallError, "refused failed");
      assertEquals([other.lane.over, to.imports, to.releases], [0, 1, 0]);
      other.fence().waitSync();
      other.resource.dispose();
      assertEquals([to.imports, from.imports], [to.releases, from.releases]);
    },
  );
}

lineTest("what a refused command was to wait for may be waited for: it goes with the next one", () => {
  const [from, to] = [new FakeDriver("one", "timeline-fd"), new FakeDriver("other", "timeline-fd")];
  const [one, other] = [from.line(), to.line()];
  other.submit([], command(() => {}));
  one.submit([], command(() => {}));
  assertThrows(() => other.submit([], REFUSED, [one.fence()]), NativeCallError, "refused failed");
  one.resource.dispose();
  other.lane.run();
  assert(other.isOver(1));
  assertEquals([to.imports, to.releases], [1, 0]);
  other.submit([], command(() => {}));
  other.lane.run();
  assert(other.isOver(2));
  assertEquals(to.releases, 1);
  other.resource.dispose();
});

lineTest("a binary-fd that is given up while an earlier wait for it goes on is kept for that", () => {
  using _open = { [Symbol.dispose]: offerSemaphores(new FakeMaker()) };
  const [from, to] = [new FakeDriver("one", "binary-fd"), new FakeDriver("other", "binary-fd")];
  const [one, other] = [from.line(), to.line()];
  const order: string[] = [];
  submit([order, one, "one"], []);
  submit([order, other, "other"], [], [one.fence()]);
  submit([order, one, "one again"], [], [other.fence()]); // so that the first semaphore is free
  const held = to.imports;
  assertThrows(() => other.submit([], REFUSED, [one.fence()]), NativeCallError, "refused failed");
  assertEquals([to.imports, to.releases], [held, 0]);
  other.fence().waitSync();
  one.fence().waitSync();
  assertEquals(order, ["one", "other", "one again"]);
  for (const line of [one, other]) line.resource.dispose();
  assertEquals([from.imports, to.imports], [from.releases, to.releases]);
});

lineTest("a timeline outlives refused commands, and its signal the line that was to wait for it", () => {
  const maker = new FakeMaker();
  using _open = { [Symbol.dispose]: offerSemaphores(maker) };
  const kind = "shared timeline-fd";
  const [from, to] = [new FakeDriver("one", kind), new FakeDriver("other", kind)];
  const [one, other] = [from.line(), to.line()];
  for (let i = 0; i < 5; i++) {
    one.submit([], command(() => {}));
    assertThrows(() => other.submit([], REFUSED, [one.fence()]), NativeCallError, "refused failed");
  }
  assertEquals([maker.made, to.imports], [1, 1]);
  other.resource.dispose();
  assertEquals([from.releases, to.releases], [0, 1], "its signals are in flight");
  one.fence().waitSync();
  assertEquals(from.releases, 1);
  one.resource.dispose();
});

lineTest("an fd that no driver took is closed", () => {
  const [from, to] = [new FakeDriver("one", "sync-fd"), new FakeDriver("other", "sync-fd")];
  const [one, other] = [from.line(), to.line()];
  one.submit([], command(() => {}));
  const failure = new Error("no semaphore could be made");
  Object.assign(to.lines.sync!, {
    import() {
      throw failure;
    },
  });
  const fds = openFds();
  assertStrictEquals(assertThrows(() => other.submit([], command(() => {}), [one.fence()])), failure);
  assertEquals([other.submitted, openFds()], [0, fds]);
  one.lane.run();
});

lineTest("where two drivers share no kind of semaphore, the host waits", (order) => {
  const [from, to] = [new FakeDriver("one", "sync-fd"), new FakeDriver("other", "timeline-fd")];
  const [one, other] = [from.line(), to.line()];
  submit([order, one, "one"], []);
  submit([order, other, "other"], [], [one.fence()]);
  assertEquals([order, from.blocks, to.imports], [["one"], 1, 0]);
  other.lane.run();
});

lineTest("what made a fence fail is thrown by the command that was to run after it", (order) => {
  const failure = new Error("the kernel failed");
  for (const [from, to] of [[new FakeDriver(), new FakeDriver()], [new FakeDriver("one"), new FakeDriver("other")]]) {
    const [one, other] = [from.line(), to.line()];
    one.submit([], failing(failure));
    // The host waits here: it sees what went wrong.
    assertStrictEquals(assertThrows(() => submit([order, other, "never"], [], [one.fence()])), failure);
    assertStrictEquals(assertThrows(() => submit([order, other, "never"], [], [one.fence()])), failure);
    assertEquals([other.submitted, order], [0, []]);
  }
});

lineTest("a failure crosses to another line of the driver on the device", () => {
  const failure = new Error("the kernel failed");
  const [one, other] = linesOf(new FakeDriver(), 2);
  const tensor = bytes();
  one.submit([use(tensor)], failing(failure));
  other.submit([use(tensor)], command(() => {}));
  assertEquals(tensor.work.map(({ line }) => line), [other]);
  assertStrictEquals(assertThrows(() => tensor[Symbol.dispose]()), failure);
});

lineTest("a failure that was seen before another line used the bytes is reported all the same", () => {
  const failure = new Error("the kernel failed");
  const [one, other] = linesOf(new FakeDriver(), 2);
  const tensor = bytes();
  one.submit([use(tensor)], failing(failure));
  one.lane.run();
  assert(one.isOver(1));
  other.submit([use(tensor)], command(() => {}));
  assertStrictEquals(assertThrows(() => tensor[Symbol.dispose]()), failure);
});

lineTest("a failure behind which a line stood already is reported, though the line had failed before", () => {
  const failure = new Error("the kernel failed");
  const [one, other] = linesOf(new FakeDriver(), 2);
  const [tensor, another] = [bytes(), bytes()];
  one.submit([use(tensor), use(another)], failing(failure));
  other.submit([use(another)], command(() => {})); // waits for it, and fails
  other.lane.driveTo(1);
  assert(other.isOver(1));
  other.submit([use(tensor)], command(() => {})); // waits for nothing, and is done
  assertStrictEquals(assertThrows(() => tensor[Symbol.dispose]()), failure);
  assertStrictEquals(assertThrows(() => another[Symbol.dispose]()), failure);
});

lineTest("what another driver's line failed with is reported, though a semaphore said nothing of it", () => {
  for (const kind of ["timeline-fd", "sync-fd"] as const) {
    const failure = new Error("the kernel failed");
    const [one, other] = [new FakeDriver("one", kind).line(), new FakeDriver("other", kind).line()];
    const tensor = bytes();
    one.submit([use(tensor)], failing(failure));
    other.submit([use(tensor)], command(() => {}));
    assertEquals(tensor.work.map(({ line }) => line), [other]);
    assertStrictEquals(assertThrows(() => tensor[Symbol.dispose]()), failure);
    for (const { resource } of [one, other]) assertEquals(resource.state, "live");
  }
});

lineTest("a failure is reported once by the dispose, though the line has used the tensor since", () => {
  const failure = new Error("the kernel failed");
  const line = new FakeDriver().line();
  const tensor = bytes();
  line.submit([use(tensor)], failing(failure));
  assertStrictEquals(assertThrows(() => line.fence().waitSync()), failure);
  line.submit([use(tensor)], command(() => {}));
  line.fence().waitSync();
  assertStrictEquals(assertThrows(() => tensor[Symbol.dispose]()), failure);
  tensor[Symbol.dispose]();
});

lineTest("what was submitted before a failure was seen is not to be trusted; what came after is", () => {
  const failure = new Error("the kernel failed");
  const line = new FakeDriver().line();
  line.submit([], command(() => {}));
  line.submit([], failing(failure));
  line.submit([], command(() => {}));
  line.lane.run();
  assert(line.isOver(3));
  line.submit([], command(() => {}));
  line.lane.run();
  assertEquals([1, 2, 3, 4].map((mark) => line.failureAt(mark)?.error), [undefined, failure, failure, undefined]);
  assert(line.fence().reached());
});

lineTest("a device that is lost fails all that comes after", () => {
  const failure = new Error("the device is lost");
  const line = new FakeDriver().line();
  line.lane.losesDevice = true;
  const tensor = bytes();
  line.submit([use(tensor)], failing(failure));
  line.lane.run();
  assert(line.isOver(1));
  line.submit([use(tensor)], command(() => {}));
  assertStrictEquals(assertThrows(() => line.fence().waitSync()), failure);
  assertStrictEquals(assertThrows(() => tensor[Symbol.dispose]()), failure);
  assertStrictEquals(assertThrows(() => line.resource.dispose()), failure);
});

lineTest("a refused call records nothing, and takes its waits back", (order) => {
  const [one, two] = linesOf(new FakeDriver(), 2);
  using tensor = bytes();
  submit([order, one, "write"], [use(tensor)]);
  const refused = { fn: "fakeRefused", call: () => 7 };
  const error = assertThrows(() => two.submit([use(tensor)], refused), NativeCallError, "fakeRefused failed with 7");
  assertEquals([error.code, two.submitted, two.lane.waits.length], [7, 0, 0]);
  assertThrows(() => two.submitRaw(refused, [one.fence()]), NativeCallError);
  submit([order, two, "again"], [use(tensor)]);
  assertEquals(two.lane.waitsInFlight, [1]);
  two.lane.driveTo(1);
  assertEquals(order, ["write", "again"]);
});

lineTest("a refused call lets go of the sync fds that it imported", () => {
  const [from, to] = [new FakeDriver("one", "sync-fd"), new FakeDriver("other", "sync-fd")];
  const [one, other] = [from.line(), to.line()];
  one.submit([], command(() => {}));
  for (let i = 1; i <= 3; i++) {
    assertThrows(() => other.submit([], { fn: "fakeRefused", call: () => 7 }, [one.fence()]), NativeCallError);
    assertEquals([to.imports, to.releases], [i, i]);
  }
  one.lane.run();
});

lineTest("a call that failed with a part of it in flight is recorded all the same", () => {
  const line = new FakeDriver().line();
  using tensor = bytes();
  const half = (partial: boolean) => ({ fn: "fakeHalf", partial, call: () => 7 });
  assertThrows(() => line.submit([use(tensor)], half(false)), NativeCallError);
  assertEquals([line.submitted, tensor.work.length], [0, 0]);
  assertThrows(() => line.submit([use(tensor)], half(true)), NativeCallError);
  assertEquals([line.submitted, tensor.work.length], [1, 1]);
  assertThrows(() => line.submitRaw(half(true)), NativeCallError);
  assertEquals(line.submitted, 2);
  line.lane.run();
});

lineTest("a command is recorded before its driver gets it: what goes wrong there loses no work", () => {
  const failure = new Error("no marker could be made");
  const line = new FakeDriver().line();
  using tensor = bytes();
  line.lane.brokenSubmitted = failure;
  assertStrictEquals(assertThrows(() => line.submit([use(tensor)], command(() => {}))), failure);
  assertEquals([line.submitted, tensor.work.length], [1, 1]);
  line.lane.run();
});

lineTest("a tensor that was disposed is refused with the argument's name, and nothing is submitted", () => {
  const line = new FakeDriver().line();
  const tensor = bytes();
  tensor[Symbol.dispose]();
  const error = assertThrows(() => line.submit([use(tensor, "read", "src")], command(() => {})), DisposedError);
  assertEquals([error.argument, line.submitted], ["src", 0]);
});

lineTest("bytes that are lent are refused with the argument's name, and nothing is waited for", () => {
  const [one, two] = linesOf(new FakeDriver(), 2);
  using whole = bytes();
  using other = bytes();
  one.submit([use(other)], command(() => {}));
  using _lent = whole.borrow("read");
  const uses = [use(other, "read", "src"), use(whole, "write", "dst")];
  const error = assertThrows(() => two.submit(uses, command(() => {})), AccessError);
  assertEquals([error.argument, two.lane.waits.length], ["dst", 0]);
  two.submit([use(whole, "read")], command(() => {}));
  for (const { lane } of [one, two]) lane.run();
});

lineTest("a line whose end has begun takes no command, but gives bytes back until it is freed", () => {
  const line = new FakeDriver().line();
  const hold = line.resource.hold();
  line.resource.dispose();
  assertThrows(() => line.submit([], command(() => {})), DisposedError, "a line of fake was disposed");
  line.submitRaw(command(() => {})).waitSync();
  hold();
  line.resource.dispose();
  return line.resource.disposeAsync().then(() => {
    assertThrows(() => line.submitRaw(command(() => {})), DisposedError);
  });
});

lineTest("views go before a command that may not run beside them; a reader leaves readers alone", () => {
  const line = new FakeDriver().line();
  using tensor = bytes();
  using peer = host.wrap(tensor.handle, { shape: [64], dtype: "u8" });
  const reading = peer.view({ access: "read" });
  line.submit([use(tensor, "read")], command(() => {}));
  assertEquals(reading.length, 64);
  line.submit([use(tensor, "write")], command(() => {}));
  assertEquals(reading.length, 0);
  line.lane.run();
});

lineTest("the work of peers is waited for, and that of what a tensor is a part of", () => {
  const [one, two, three] = linesOf(new FakeDriver(), 3);
  using tensor = bytes();
  using peer = host.wrap(tensor.handle, { shape: [64], dtype: "u8" });
  one.submit([use(peer)], command(() => {}));
  two.submit([use(tensor, "read")], command(() => {}));
  assertEquals(two.lane.waitsInFlight, [1]);
  using part = peer.borrow("read-write");
  three.submit([use(part)], command(() => {}));
  assertEquals(three.lane.waitsInFlight, [2]);
  for (const { lane } of [one, two, three]) lane.run();
});

lineTest("a command behind a gate runs once that opens; a blocking wait for it is refused", async (order) => {
  const gate = new ManualGate();
  const line = new FakeDriver().line();
  const tensor = bytes();
  submit([order, line, "gated"], [use(tensor)], [gate.fence]);
  submit([order, line, "behind it"], [use(tensor)]);
  assertThrows(() => line.fence().waitSync(), AccessError, "could never end");
  assertThrows(() => line.assertUnblocked("a read"), AccessError, "a read could never end");
  assertThrows(() => tensor[Symbol.dispose](), AccessError, "could never end");
  assertEquals(line.fence().reached(), false);
  line.lane.run();
  assertEquals(order, []);
  gate.open();
  line.lane.run();
  await tensor[Symbol.asyncDispose]();
  assertEquals(order, ["gated", "behind it"]);
});

lineTest("what was submitted before the gate can be waited for", () => {
  const gate = new ManualGate();
  const line = new FakeDriver().line();
  line.submit([], command(() => {}));
  const before = line.fence();
  line.submit([], command(() => {}), [gate.fence]);
  before.waitSync();
  assertEquals(line.mayFailEarly, true);
  gate.open();
  line.fence().waitSync();
  assertEquals(line.mayFailEarly, false);
});

lineTest("a gate holds up the lines beside its own, and not what is over on them", () => {
  const gate = new ManualGate();
  const beside = new Set<WeakRef<Line>>();
  const driver = new FakeDriver();
  const [one, two] = ["one", "two"].map((name) => {
    const line = new Line<FakeLane>({ driver, name, beside, open: (events) => new FakeLane(events) });
    beside.add(new WeakRef(line as Line));
    return line;
  });
  one.submit([], command(() => {}));
  one.lane.run();
  two.submit([], command(() => {}), [gate.fence]);
  one.fence().waitSync();
  one.submit([], command(() => {}));
  assertThrows(() => one.fence().waitSync(), AccessError, "could never end");
  gate.open();
  for (const line of [one, two]) line.fence().waitSync();
});

lineTest("a line that waits on the device for gated work is gated too", () => {
  const gate = new ManualGate();
  const [one, two] = linesOf(new FakeDriver(), 2);
  using tensor = bytes();
  one.submit([use(tensor)], command(() => {}), [gate.fence]);
  two.submit([use(tensor)], command(() => {}));
  assertThrows(() => two.fence().waitSync(), AccessError, "could never end");
  gate.open();
  two.fence().waitSync();
});

lineTest("lines that wait for each other by turns stand behind a gate once", () => {
  const gate = new ManualGate();
  const lines = linesOf(new FakeDriver(), 2);
  using tensor = bytes();
  lines[0].submit([use(tensor)], command(() => {}), [gate.fence]);
  for (let i = 1; i < 100; i++) lines[i % 2].submit([use(tensor)], command(() => {}));
  assertEquals(lines.map((line) => line.gatesAt(Infinity)?.length), [1, 1]);
  gate.open();
  lines[1].fence().waitSync();
});

lineTest("another driver is not made to wait for gated work: no semaphore would ever say that it failed", () => {
  const gate = new ManualGate();
  const [from, to] = [new FakeDriver("one", "timeline-fd"), new FakeDriver("other", "timeline-fd")];
  const [one, other] = [from.line(), to.line()];
  one.submit([], command(() => {}), [gate.fence]);
  assertThrows(() => other.submit([], command(() => {}), [one.fence()]), AccessError, "could never end");
  assertEquals([other.submitted, to.imports], [0, 0]);
  gate.open();
  other.submit([], command(() => {}), [one.fence()]);
  other.lane.driveTo(1);
});

lineTest("a gate that fails fails the work behind it", () => {
  const gate = new ManualGate();
  const failure = new Error("the file is gone");
  const line = new FakeDriver().line();
  line.submit([], command(() => {}), [gate.fence]);
  gate.fail(failure);
  assertStrictEquals(assertThrows(() => line.fence().waitSync()), failure);
});

lineTest(
  "a failure behind a gate that failed has the gate's error as its cause, and one in front of it does not",
  () => {
    const gate = new ManualGate();
    const boom = new Error("boom");
    const line = new FakeDriver().line();
    line.lane.reported = {
      error: new NativeCallError("The work failed.", { fn: "fakeCommand", code: -1, hint: "Look." }),
    };
    line.submit([], failing(new NativeCallError("The first failed.")));
    const own = assertThrows(() => line.fence().waitSync(), NativeCallError, "The first failed.");
    const gated = line.waitFor([gate.fence]);
    line.submit([], command(() => {}));
    const behind = line.fence();
    gate.fail(boom);
    for (const fence of [gated, behind]) {
      const error = assertThrows(() => fence.waitSync(), NativeCallError);
      assertEquals(error.message, "The work failed. It waited for something that failed: boom");
      assertEquals([error.fn, error.code, error.cause], ["fakeCommand", -1, boom]);
    }
    assertEquals(own.cause, undefined);
    line.submit([], failing(new NativeCallError("The last failed.")));
    assertEquals(assertThrows(() => line.fence().waitSync(), NativeCallError).cause, undefined);
  },
);

lineTest(
  "a writer that fails with its gate has waited for nobody: later work and the dispose wait for them",
  (order) => {
    const gate = new ManualGate();
    const [reader, writer] = linesOf(new FakeDriver(), 2);
    const tensor = bytes();
    const name = (label: string) => command(() => void order.push(label));
    reader.submit([use(tensor, "read")], name("read"));
    writer.submit([use(tensor)], name("gated"), [gate.fence]);
    gate.fail(new Error("no"));
    assert(writer.lane.step(), "it fails at once");
    writer.submit([use(tensor)], name("write"));
    assert(!writer.lane.step());
    reader.lane.step();
    writer.lane.run();
    assertEquals(order, ["read", "write"]);
    assertThrows(() => tensor[Symbol.dispose](), Error, "no");
  },
);

for (const failsLate of [false, true]) {
  const when = failsLate ? "once what came before is over" : "at once";
  lineTest(
    `Fence.wait() ends behind a command that fails with its gate ${when}, and no failure goes uncaught`,
    async () => {
      const driver = new FakeDriver();
      const lines = linesOf(driver, 3);
      for (const { lane } of lines) lane.failsLate = failsLate;
      const [one, two, third] = lines;
      const run = () => {
        while (lines.some(({ lane }) => lane.step()));
      };
      const [first, second] = [new ManualGate(), new ManualGate()];
      const tensor = bytes();
      one.submit([use(tensor)], command(() => {}), [first.fence]);
      two.submit([use(tensor)], command(() => {}), [second.fence]); // behind both
      one.submit([use(tensor)], command(() => {})); // behind that
      second.fail(new Error("no"));
      run();
      third.submit([use(tensor)], command(() => {}));
      const last = third.fence();
      assert(!last.reached());
      const waited = last.wait().then(() => undefined, (error) => error.message);
      first.open();
      run();
      assertEquals(await waited, "no");
      await assertRejects(() => tensor[Symbol.asyncDispose](), Error, "no");
      await assertRejects(() => one.fence().wait(), Error, "no");
      one.submit([], command(() => {}));
      run();
      await one.fence().wait(); // what comes after is to be trusted
    },
  );
}

lineTest("the dispose of a tensor waits for a reader, though a writer behind it has failed with its gate", (order) => {
  const gate = new ManualGate();
  const [reader, writer] = linesOf(new FakeDriver(), 2);
  const tensor = bytes();
  reader.submit([use(tensor, "read")], command(() => void order.push("read")));
  writer.submit([use(tensor)], command(() => {}), [gate.fence]);
  gate.fail(new Error("no"));
  writer.lane.step();
  assertThrows(() => tensor[Symbol.dispose](), Error, "no");
  assertEquals(order, ["read"]);
});

lineTest("a blocking call behind a gate is refused, and its waits are taken back", () => {
  const gate = new ManualGate();
  const [one, two] = linesOf(new FakeDriver(), 2);
  using tensor = bytes();
  one.submit([use(tensor)], command(() => {}), [gate.fence]);
  const blocking = command(() => {}, { blocks: true });
  assertThrows(() => one.submit([], blocking), AccessError, "could never end");
  assertThrows(() => two.submit([use(tensor)], blocking), AccessError, "could never end");
  assertThrows(() => two.submitRaw(blocking, [one.fence()]), AccessError, "could never end");
  assertEquals([two.submitted, two.lane.waits.length, two.mayFailEarly], [0, 0, false]);
  two.submit([], blocking); // stands behind no gate: nothing was submitted that does
  gate.open();
  for (const { lane } of [one, two]) lane.run();
});

lineTest(
  "a reaction of the program's own may block on the work behind its promise, if it is the later one",
  async () => {
    const line = new FakeDriver().line();
    const { promise, resolve } = Promise.withResolvers<void>();
    const blocked: unknown[] = [];
    const wait = () => {
      try {
        line.fence().waitSync();
        blocked.push("done");
      } catch (error) {
        blocked.push(error instanceof AccessError);
      }
    };
    const early = promise.then(wait);
    line.submit([], command(() => {}), [host.signal(promise)]);
    const late = promise.then(wait);
    resolve();
    await Promise.all([early, late]);
    assertEquals(blocked, [true, "done"]);
  },
);

lineTest("the end of a line abandons its gates: what waits for it comes to an end", async () => {
  const gate = new ManualGate();
  const [line, other] = linesOf(new FakeDriver(), 2);
  const tensor = bytes();
  line.submit([use(tensor)], command(() => {}), [gate.fence]);
  other.submit([], command(() => {}), [line.fence()]);
  const waited = assertRejects(() => other.fence().wait(), Error, "fake has ended");
  assertThrows(() => line.resource.dispose(), Error, "fake has ended");
  other.lane.run();
  await waited;
  assertThrows(() => other.fence().waitSync(), Error, "fake has ended");
  assertThrows(() => tensor[Symbol.dispose](), Error, "fake has ended");
  assertEquals(gate.settled, false);
});

lineTest("a line that was given up is asked nothing more: its lane is closed", async () => {
  const work = new FakeWork();
  const { fence, line } = work;
  work.lane.brokenWait = new Error("the device is gone");
  line.resource.work.add(fence);
  const { now } = performance;
  let passed = 0;
  performance.now = () => now.call(performance) + (passed += 1000);
  const { warn } = console;
  console.warn = () => {};
  try {
    assertThrows(() => line.resource.dispose(), Error, "the device is gone");
  } finally {
    performance.now = now;
    console.warn = warn;
  }
  assertThrows(() => fence.reached(), DisposedError);
  assertThrows(() => fence.waitSync(), DisposedError);
  await assertRejects(() => fence.wait(), DisposedError);
});

lineTest("an opaque call stands between two markers: one carries its waits, the other is its mark", () => {
  const [one, two] = linesOf(new FakeDriver(), 2);
  using tensor = bytes();
  one.submit([use(tensor)], command(() => {}));
  const opaque = { fn: "library::blur", opaque: { finish() {} }, call: () => 0 };
  assertEquals(two.submit([use(tensor)], opaque), 2);
  assertEquals([two.lane.waitsInFlight, tensor.work.map(({ mark }) => mark)], [[1, 0], [2]]);
  assertEquals(two.submit([use(tensor)], opaque), 3); // nothing to wait for: no marker in front
  for (const { lane } of [one, two]) lane.run();
});

lineTest("an opaque call that fails is recorded all the same: it may have submitted anything", () => {
  const failure = new Error("the library threw");
  const line = new FakeDriver().line();
  using tensor = bytes();
  const opaque = {
    ...{ fn: "library::blur", opaque: { finish() {} } },
    call(): number {
      throw failure;
    },
  };
  assertStrictEquals(assertThrows(() => line.submit([use(tensor)], opaque)), failure);
  assertEquals([line.submitted, tensor.work.length], [1, 1]);
  line.lane.run();
});

lineTest("where the marker behind an opaque call fails, the host sees its commands done", () => {
  const driver = new FakeDriver();
  const line = driver.line();
  using tensor = bytes();
  let finished = 0;
  driver.marker = () => ({ fn: "fakeMarker", call: () => 7 });
  const opaque = { fn: "library::blur", opaque: { finish: () => void finished++ }, call: () => 0 };
  assertThrows(() => line.submit([use(tensor)], opaque), NativeCallError, "fakeMarker failed with 7");
  assertEquals([finished, line.submitted, tensor.work.length], [1, 0, 0]);
});

lineTest("submit() waits for work on what was lent on by a part that is on its way back", (order) => {
  const [one, two] = linesOf(new FakeDriver(), 2);
  const [over, tensor] = [new FakeWork(), bytes()];
  const part = tensor.borrow("read-write");
  submit([order, one, "lent on"], [use(part.borrow("read-write"))]);
  over.end();
  part.disposeAfter(over.fence);
  assertEquals(part.resource.state, "closing"); // the work is its dependent's, and not its own
  submit([order, two, "owner"], [use(tensor)]);
  two.lane.run();
  assertEquals(order, ["lent on", "owner"]);
  tensor[Symbol.dispose]();
});

Deno.test("waitFor() has the host wait where a driver marks no point of its line", () => {
  let ran = false;
  const driver = new FakeDriver();
  Object.assign(driver, { marker: undefined });
  const [other, line] = [new FakeDriver().line(), driver.line()];
  const fence = line.waitFor([other.submitRaw(command(() => void (ran = true)))]);
  assertEquals([ran, fence.line, fence.mark], [true, line, 0]);
});
