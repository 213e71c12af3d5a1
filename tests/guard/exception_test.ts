/** What becomes of C++ exceptions: each is a typed error, and nothing is left of it. */
import { assertFlat } from "../gc.ts";
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { NativeCallError } from "../../src/core/errors.ts";
import { lazyLibrary } from "../../src/core/native/library.ts";
import type { ErrorOf, Thrown } from "../../src/guard/exception.ts";
import { guarded, guardOf } from "../../src/guard/guard.ts";
import { guardTest, THROWING, type Throwing, throwing } from "./cxx.ts";

async function open(errorOf?: ErrorOf): Promise<Throwing> {
  const spec = { api: "throwing", candidates: [await throwing()], symbols: THROWING, hint: "" };
  const functions = lazyLibrary<Throwing>({ ...spec, link: guarded(errorOf) })();
  assertEquals(guardOf("throwing"), { guarded: true });
  return functions;
}

const SAID: readonly (readonly [how: number, type: string, what?: string])[] = [
  [1, "int"],
  [2, "std::runtime_error", "it broke"],
  [3, "test::Plain"],
  [4, "test::Second", "second"],
  [5, "test::Virtual", "virtual"],
  [6, "(anonymous namespace)::Hidden", "hidden"],
  [7, "(anonymous namespace)::Private"],
  [8, "char const*"],
  [9, "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"],
  [10, "std::bad_alloc", "std::bad_alloc"],
  [11, "test::Silent", ""],
  [12, "std::runtime_error", "grüß, \ufffd"],
  [13, "std::runtime_error", "x".repeat(65536)],
  [14, "test::Second", "second"],
  [15, "std::_Nested_exception<std::runtime_error>", "outer"],
  [16, "decltype(nullptr)"],
  [17, `${"test::Wrap<".repeat(64)}int${"> ".repeat(64).trimEnd()}`],
];

for (const [how, type, what] of SAID) {
  guardTest(`an exception of type ${type.slice(0, 60)} is a NativeCallError that says so`, async () => {
    const lib = await open();
    for (let i = 0; i < 3; i++) {
      const error = assertThrows(() => lib.throwAs(how), NativeCallError);
      assertEquals([error.api, error.fn, error.codeName], ["throwing", "throwAs", type]);
      assertEquals(error.message, what ? `throwAs threw ${type}: ${what}` : `throwAs threw ${type}.`);
      assertEquals([lib.countAlive(), lib.throwAs(0), lib.nested(how)], [0, 0, 3]);
    }
  });
}

guardTest("every object on the way of an exception is destroyed", async () => {
  const lib = await open();
  lib.takeDestroyed();
  for (const depth of [0, 1, 20, 1000]) {
    assertThrows(() => lib.throwFrom(depth), NativeCallError, "from below");
    assertEquals(lib.takeDestroyed(), depth + 1);
  }
});

guardTest("a function of another result throws too, and returns what it should before and after", async () => {
  const lib = await open();
  assertEquals(lib.throwDouble(2.5), 2.5);
  assertThrows(() => lib.throwDouble(-1), NativeCallError, "std::domain_error: negative");
  assertEquals(lib.throwDouble(Infinity), Infinity);
});

guardTest("an API makes errors of its own, of the object while it is there", async () => {
  class OwnError extends NativeCallError {}
  const seen: Thrown[] = [];
  const codes: number[] = [];
  const lib = await open((thrown) => {
    seen.push(thrown);
    // test::Second is Mixin (16 bytes), std::runtime_error (16), then the code. In test::Plain and int the code is first.
    const offset = thrown.type === "test::Second" ? 32 : 0;
    codes.push(new Deno.UnsafePointerView(Deno.UnsafePointer.create(thrown.object)!).getInt32(offset));
    return new OwnError(`own: ${thrown.type}`, { api: thrown.api, fn: thrown.fn });
  });
  for (const how of [4, 14, 3, 1]) assertThrows(() => lib.throwAs(how), OwnError, "own: ");
  assertEquals(codes, [9, 10, 7, 42]);
  assertEquals(seen.map(({ type, what }) => [type, what]), [
    ["test::Second", "second"],
    ["test::Second", "second"],
    ["test::Plain", undefined],
    ["int", undefined],
  ]);
  assertEquals(lib.countAlive(), 0);
});

guardTest("an exception is over, though reading it throws, or calls what throws", async () => {
  const failure = new Error("while reading");
  const lib = await open(() => {
    throw failure;
  });
  for (const how of [3, 4]) assertStrictEquals(thrownBy(() => lib.throwAs(how)), failure);
  assertEquals(lib.countAlive(), 0);
  let depth = 0;
  const nesting: Throwing = await open(({ type }) => {
    if (depth++ < 3) thrownBy(() => nesting.throwAs(3));
    return new Error(type);
  });
  assertThrows(() => nesting.throwAs(4), Error, "test::Second");
  assertEquals([depth, nesting.countAlive()], [4, 0]);
});

guardTest("100,000 exceptions leave nothing behind", async () => {
  const lib = await open();
  const throwMany = (count: number, how: (i: number) => number) => {
    let caught = 0;
    for (let i = 0; i < count; i++) {
      try {
        lib.throwAs(how(i));
      } catch {
        caught++;
      }
    }
    assertEquals(caught, count);
  };
  const rounds = (factor: number) => {
    throwMany(100 * factor, (i) => 2 + i % 4); // at 200 bytes each, 100,000 would be 20 MB
    throwMany(factor, () => 13); // at 100,000 bytes each, 1,000 would be 100 MB
    throwMany(30 * factor, () => 17); // at 800 bytes for the name of each, 30,000 would be 24 MB
  };
  rounds(200);
  await assertFlat(16 * 1024 * 1024, () => rounds(1000));
  assertEquals(lib.countAlive(), 0);
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
