import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { ArgumentError, ledger } from "../../mod.ts";
import { Python, PythonError, type PythonObject } from "../../src/python/mod.ts";
import { test } from "./help.ts";

const echo = (value: unknown) => Python.open().run("value", { value: value as never });

test("run() returns each plain value as it was given", [], () => {
  const deep = Array.from({ length: 50 }).reduce((inner) => [inner], 1);
  const values = [
    ...[null, true, false, 0, -7, 2 ** 53 - 1, 0.5, -0, Infinity, 2n ** 53n, -(2n ** 63n), 2n ** 200n, -(2n ** 70n)],
    ...[
      "",
      "a\0b",
      "é€😀",
      [],
      [1, [2, "x"]],
      {},
      { a: 1, b: { __proto__x: null } },
      new Uint8Array([1, 0, 255]),
      deep,
    ],
  ];
  for (const value of values) assertEquals(echo(value), value);
  assertEquals(Number.isNaN(echo(NaN)), true);
  assertEquals(echo(undefined), null);
  assertEquals(echo(2n), 2);
});

test("run() reads what Python alone has as what it stands for", [], () => {
  const python = Python.open();
  assertEquals(python.run("(1, 2), float('nan') != 0"), [[1, 2], true]);
  assertEquals(python.run("import enum, collections; enum.IntEnum('E', 'A').A, collections.OrderedDict(a=1)"), [1, {
    a: 1,
  }]);
  using keyed = python.run<PythonObject>("{1: 2}");
  assertEquals(String(keyed), "Python object of class dict");
});

test("run() refuses what Python has no value for, and leaves nothing", [], () => {
  const circle: unknown[] = [];
  circle.push(circle);
  for (
    const value of [circle, () => {}, Symbol("x"), new Float32Array(2), new Date(), "\ud800", [1, { a: new Map() }]]
  ) {
    assertThrows(() => echo(value), ArgumentError, "value");
  }
  assertThrows(() => Python.open().run("a = []; a.append(a); a"), ArgumentError, "nested too deeply");
  assertEquals(ledger.alive, {});
});

test("run() throws a PythonError with the class and the last lines of the traceback", [], () => {
  const python = Python.open();
  const error = assertThrows(() => python.run("def f():\n    return {}['key']\nf()"), PythonError);
  assertEquals([error.type, error.api, error.message], ["KeyError", "python", "run: KeyError: 'key'."]);
  assertMatch(error.traceback, /File "<run>", line 2, in f\n {4}return \{\}\['key'\]/);
  assertEquals(
    assertThrows(() => python.run("import json; json.loads('{')"), PythonError).type,
    "json.decoder.JSONDecodeError",
  );
  assertEquals(assertThrows(() => python.run("import sys; sys.exit(3)"), PythonError).type, "SystemExit");
  const mute = "class E(Exception):\n    def __str__(self): raise ValueError()\nraise E()";
  assertEquals(assertThrows(() => python.run(mute), PythonError).message, "run: E: it says nothing.");
});

test("run() keeps names that were assigned, and forgets its values", [], () => {
  const python = Python.open();
  python.run("kept = given + 1; given = 5", { given: 1 });
  assertEquals(python.run("kept"), 2);
  assertThrows(() => python.run("given"), PythonError, "NameError");
  python.run("mine = 1");
  python.run("pass", { mine: 2 });
  assertEquals(python.run("mine"), 1);
});

test("call() and get() reach methods, functions and attributes", [], () => {
  using math = Python.open().import("math");
  assertEquals([math.call("gcd", 12, 18), math.get("inf"), math.call("fsum", [0.5, 1])], [6, Infinity, 1.5]);
  assertThrows(() => math.call("no_such"), PythonError, "AttributeError");
  assertThrows(() => math.get("no_such"), PythonError, "AttributeError");
  assertThrows(() => Python.open().import("no.such"), PythonError, "ModuleNotFoundError");
});

test("runAsync() lets the event loop and other calls go on", [], async () => {
  const python = Python.open();
  let turns = 0;
  const timer = setInterval(() => turns++, 5);
  for (let seconds = 0.2; turns <= 5 && seconds < 20; seconds *= 2) { // longer, where the machine has no time for turns
    const sleeping = python.runAsync(`import time; time.sleep(${seconds}); 1`);
    assertEquals(python.run("1 + 1"), 2);
    assertEquals(await sleeping, 1);
  }
  clearInterval(timer);
  assert(turns > 5, `${turns} turns`);
  using time = python.import("time");
  assertEquals(await Promise.all([time.callAsync("sleep", 0.05), time.callAsync("sleep", 0.05)]), [null, null]);
  const error = await assertRejects(() => python.runAsync("1 / 0"), PythonError);
  assertMatch(error.traceback, /1 \/ 0/);
});

test("Python's own threads run between two calls, and not only during them", [], async () => {
  const python = Python.open();
  python.run(`
import threading, time
ticks, going = 0, True
def tick():
    global ticks
    while going:
        ticks += 1
        time.sleep(0.001)
threading.Thread(target=tick, daemon=True).start()`);
  let ticks = 0;
  for (let pause = 200; ticks <= 20 && pause < 20_000; pause *= 2) { // too few calls for as many ticks
    await new Promise((resolve) => setTimeout(resolve, pause));
    ticks = python.run<number>("ticks");
  }
  python.run("going = False");
  assert(ticks > 20, `${ticks} ticks`);
});

test("a PythonObject holds one reference, and lets it go once", [], () => {
  const python = Python.open();
  using list = python.run<PythonObject>("import sys; kept = object(); kept");
  const count = () => python.run("sys.getrefcount(kept)");
  const before = count();
  {
    using more = python.run<PythonObject>("kept");
    assertEquals(count(), before as number + 1);
    more[Symbol.dispose]();
    more[Symbol.dispose]();
  }
  assertEquals(count(), before);
  assertEquals(list.address > 0n, true);
});

test("failed and good calls leave no references and no memory", [], async () => {
  const python = Python.open();
  python.run("import sys, tracemalloc; kept = object()");
  using kept = python.run<PythonObject>("kept");
  const round = async (i: number) => {
    const value = [kept, { a: kept }, "text", 2n ** 80n, new Uint8Array(64)];
    const [first, { a }] = python.run<[PythonObject, { a: PythonObject }]>("value", { value });
    for (const made of [first, a, ...python.run<PythonObject[]>("[kept, kept]")]) made[Symbol.dispose]();
    assertThrows(() => python.run("value.no", { value: kept }), PythonError);
    assertThrows(() => python.run("1", { value: [kept, Symbol()] as never }), ArgumentError);
    if (i % 50 === 0) await python.runAsync("str(value)", { value: kept });
  };
  const rounds = Number(Deno.env.get("SAMEPAGE_TEST_ROUNDS") ?? 300);
  for (let i = 0; i < 60; i++) await round(i);
  const before = python.run<number>("tracemalloc.start(); sys.getrefcount(kept)");
  const size = python.run<number>("tracemalloc.get_traced_memory()[0]");
  for (let i = 0; i < rounds; i++) await round(i);
  assertEquals(python.run("sys.getrefcount(kept)"), before);
  const grown = python.run<number>("tracemalloc.get_traced_memory()[0]") - size;
  python.run("tracemalloc.stop()");
  assert(grown < 20_000, `${grown} bytes more after ${rounds} rounds`);
});
