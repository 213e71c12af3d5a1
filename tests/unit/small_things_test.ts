import { assert, assertEquals, assertInstanceOf, assertStrictEquals, assertThrows } from "@std/assert";
import { aKind, optionsIn, shown, shownFields } from "../../src/core/argument.ts";
import { Checks } from "../../src/core/checks.ts";
import { cString } from "../../src/core/native/text.ts";
import { type Access, covers, reads, writes } from "../../src/core/memory/access.ts";
import { type DType, dtypeOf, sizeOf, TYPED_ARRAYS } from "../../src/core/layout/dtype.ts";
import * as errors from "../../src/core/errors.ts";
import { Ledger } from "../../src/core/life/ledger.ts";
import { Metadata } from "../../src/core/tensors/metadata.ts";
import { Route } from "../../src/core/graph/route.ts";
import { host } from "../../src/host/context.ts";
import { withEmptyLedger } from "./ledger.ts";

Deno.test("access: what covers what", () => {
  const all: Access[] = ["read", "write", "read-write"];
  const table = all.map((held) => all.filter((wanted) => covers(held, wanted)).join(" "));
  assertEquals(table, ["read", "write", "read write read-write"]);
  assertEquals([all.map(reads), all.map(writes)], [[true, false, true], [false, true, true]]);
});

Deno.test("dtype: the size is in the name, and a typed array has its own", () => {
  for (const [dtype, make] of Object.entries(TYPED_ARRAYS)) {
    assertEquals(sizeOf(dtype as DType) * 8, Number(dtype.slice(1)));
    assertEquals(dtypeOf(new make(new ArrayBuffer(8))), dtype as DType);
  }
  assertEquals(dtypeOf(new DataView(new ArrayBuffer(1))), undefined);
  assertEquals(dtypeOf(new Uint8ClampedArray(1)), undefined);
});

Deno.test(
  "dtype: f16 is seen as halves",
  withEmptyLedger(() => {
    using tensor = host.allocate({ shape: [2], dtype: "f16" });
    const view = tensor.view();
    assertInstanceOf(view, Float16Array);
    view[0] = 1.5;
    assertEquals([...tensor.bytes()], [0, 0x3e, 0, 0]);
  }),
);

Deno.test("options: own names that are none of theirs are refused, and what they inherit does not matter", () => {
  const names = { size: true };
  const given = Object.assign(Object.create({ inherited: 1 }), { size: 1 });
  assertStrictEquals(optionsIn(given, names), given);
  for (const name of ["Size", "constructor", "toString", "__proto__"]) {
    const options = JSON.parse(`{ "size": 1, "${name}": 2 }`);
    const error = assertThrows(() => optionsIn(options, names), errors.ArgumentError, `unknown property ${name}.`);
    assertEquals(error.hint, "Use size.");
  }
});

Deno.test("optionsIn() refuses an object of a class that has none of the names", () => {
  class Own {
    size = 1;
  }
  class Other {
    width = 1;
  }
  const names = { size: true, unit: true };
  for (const plain of [{}, Object.create(null), Object.create({ size: 1 }), new Own()]) {
    assertStrictEquals(optionsIn(plain, names), plain);
  }
  const made = [
    ...[AbortSignal.abort(), new Map(), Promise.resolve(), [], new Date(), new Other()],
    ...[new Uint8Array(1 << 24), new Proxy(new Map(), {})],
  ];
  for (const given of made) {
    const what = `options: expected { size, unit }, got ${aKind(given)}.`;
    assertThrows(() => optionsIn<object>(given, names), errors.ArgumentError, what);
  }
});

Deno.test("aKind() names the class of an object, whatever the program has put in place of its constructor", () => {
  class Own {
    static name = {};
  }
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const told: readonly (readonly [value: unknown, words: string])[] = [
    ...[[1, "a number"], [null, "null"], [() => 0, "a function"], [[], "an Array"], [{}, "an Object"]] as const,
    ...[[new Map(), "a Map"], [Object.create(null), "an object"], [new Own(), "an object"]] as const,
    ...[[proxy, "an object"], [{ constructor: 5 }, "an object"], [new (class {})(), "an object"]] as const,
  ];
  for (const [value, words] of told) assertEquals(aKind(value), words);
  assertEquals([shown(new Map()), shown(() => 0)], ["a Map", "a function"]);
});

Deno.test("shown: a value is shown on one line, and a long one is cut", () => {
  const long = "\u{1f600}".repeat(1 << 20);
  const bytes = new Uint8Array(1);
  const told: readonly (readonly [value: unknown, words: string])[] = [
    ["text", "text"],
    ["tab\t, two\nlines\0", "tab\t, two\\nlines\\u0000"],
    [undefined, "undefined"],
    [-1.5, "-1.5"],
    [-5n, "-5"],
    [2n ** 64n, "18446744073709551616"],
    [10n ** 1_000_000n, "a bigint beyond 128 bits"],
    [Symbol("s"), "Symbol(s)"],
    [() => 1, "a function"],
    [bytes, "a Uint8Array"],
    ["x".repeat(200), "x".repeat(200)],
    ["x".repeat(201), `${"x".repeat(200)}… (201 characters)`],
    [`x${long}`, `x${"\u{1f600}".repeat(99)}\ufffd… (2097153 characters)`],
  ];
  for (const [value, words] of told) assertEquals(shown(value), words);
  assert(shown(Symbol(long)).length < 300);
  assertEquals(shownFields({ a: 1, b: "x\n", c: undefined }), '{"a":1,"b":"x\\\\n"}');
  assert(shownFields({ long }).length < 300);
  const error = assertThrows(() => optionsIn({ [long]: 1, [`${long}x`]: 2 }, {}), errors.ArgumentError);
  assert(error.message.length < 400);
});

Deno.test("cString() refuses a text of which C would read a part, as does assertText() by the argument's name", () => {
  assertEquals([...cString("é")], [0xc3, 0xa9, 0]);
  for (const text of ["\0", "a\0b", "a\0"]) {
    assertThrows(() => cString(text), errors.ArgumentError, "a zero inside, where C would take it to end. Remove it.");
    const error = assertThrows(() => new Checks("test").assertText(text, "name"), errors.ArgumentError);
    assertEquals([error.api, error.argument], ["test", "name"]);
  }
});

Deno.test("errors: one failure is thrown as it is, several as one", () => {
  errors.throwAll([], "doing nothing");
  const [one, two] = [new Error("one."), "two."];
  assertStrictEquals(assertThrows(() => errors.throwAll([one], "x")), one);
  const error = assertThrows(() => errors.throwAll([one, two], "doing much"), errors.InteropError);
  assertEquals([error.message, error.errors], ["2 failures while doing much: one. two.", [one, two]]);
});

Deno.test("errors: every class has its name, extends InteropError, and shows its hint", () => {
  const fields = { api: "core", argument: "shape", hint: "Do better.", cause: "cause" };
  const made = [
    new errors.InteropError("No.", fields),
    new errors.LibraryNotFoundError("No.", [], fields),
    new errors.PermissionError("No.", "--allow-ffi", fields),
    new errors.NativeCallError("No.", fields),
    new errors.ArgumentError("No.", fields),
    new errors.LayoutError("No.", fields),
    new errors.AccessError("No.", fields),
    new errors.DisposedError("No.", fields),
    new errors.NoRouteError("No.", [], fields),
  ];
  for (const error of made) {
    assertInstanceOf(error, errors.InteropError);
    assertEquals(error.name, error.constructor.name);
    assertEquals([error.message, error.argument, error.cause], ["No. Do better.", "shape", "cause"]);
    assertEquals(Object.entries(error).filter(([, value]) => value === undefined), [], error.name);
    assertEquals(Deno.inspect(error).match(/undefined|errors/), null, error.name);
  }
  assertEquals("cause" in new errors.InteropError("No."), false);
});

Deno.test("ledger: counts by kind, and shows only what is alive", () => {
  const ledger = new Ledger();
  ledger.add("a");
  ledger.add("a");
  ledger.add("b");
  ledger.remove("b");
  ledger.quarantine(64);
  assertEquals([ledger.alive, ledger.quarantinedBytes], [{ a: 2 }, 64]);
});

Deno.test("metadata: dictionaries are added, changed, found and removed", () => {
  const metadata = new Metadata({ timestamp: { pts: 1n } });
  metadata.set("timestamp", { duration: 2n }).set("source", { sequence: 2 }).set("source", { stream: "door" });
  assertEquals(metadata.get("timestamp"), { pts: 1n, duration: 2n });
  assertEquals(metadata.get("source"), { sequence: 2, stream: "door" });
  metadata.set("timestamp", { pts: undefined }).set("timestamp", { duration: undefined });
  assertEquals([metadata.get("timestamp"), metadata.delete("timestamp")], [undefined, false]);
  const corners = { xMin: 0, yMin: 0, xMax: 1, yMax: 1 };
  for (const label of ["cat", "dog", "cat"]) metadata.add("detection", { ...corners, label });
  const [, dog] = metadata.all("detection");
  assertEquals([metadata.delete(dog), metadata.delete(dog)], [true, false]);
  metadata.set("detection", { id: 5 });
  assertEquals(metadata.all("detection").map(({ label, id }) => [label, id]), [["cat", 5], ["cat", undefined]]);
  assertEquals([...metadata.entries()].map(([name]) => name), ["source", "detection", "detection"]);
  assertEquals([metadata.delete("detection"), metadata.get("detection")], [true, undefined]);
  metadata.clear();
  assertEquals([...metadata.entries()], []);
});

Deno.test("metadata: what it holds is a copy that cannot be changed", () => {
  const given = { dims: [1, 2], data: Uint8Array.of(1) };
  const metadata = new Metadata({ inferenceResult: given });
  given.dims.push(3);
  given.data[0] = 9;
  const held = metadata.get("inferenceResult")!;
  assertEquals([held.dims, held.data], [[1, 2], Uint8Array.of(1)]);
  assertThrows(() => (held as { format: string }).format = "text", TypeError);
  assertThrows(() => (held.dims as number[]).push(1), TypeError);
});

Deno.test("route: a line a step, then a line a refusal", () => {
  const step = { edge: "a→b", transfer: "migrate", hostWait: true, bytesMoved: 8, evidence: "asked" } as const;
  const refusal = { edge: "b→c", reason: "too short.", remedy: "Make it longer." };
  const alias = { ...step, transfer: "alias", hostWait: false, bytesMoved: 0 } as const;
  const route = new Route([step, alias, { ...alias, hostWait: true, waitReason: "it does" }], [refusal]);
  assertEquals(route.bytesMoved, 8);
  assertEquals(Deno.inspect(route).split("\n"), [
    "a→b: migrate, 8 bytes moved, the host waits first (asked)",
    "a→b: alias (asked)",
    "a→b: alias, the host waits first: it does (asked)",
    "b→c: closed: too short. Make it longer.",
  ]);
  assert(new Route([], [refusal], false).toString().startsWith("no route\n"));
});
