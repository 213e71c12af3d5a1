// What a source of frames and a sink of another framework have in common: calls on other threads, in turn, with an end.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  type HostTensor,
  imageInfo,
  InteropError,
  NativeCallError,
} from "@samepage/interop";
import { Checks } from "../../src/core/checks.ts";
import { ratioIn, rescaled } from "../../src/core/layout/ratio.ts";
import { NativeCalls } from "../../src/core/life/native_calls.ts";
import { NativeObject } from "../../src/core/life/native_object.ts";
import { Resource } from "../../src/core/life/resource.ts";
import type { Undo } from "../../src/core/life/undo.ts";
import { CallbackWords } from "../../src/core/native/callbacks.ts";
import { NativeKeep, NativeLoans } from "../../src/core/tensors/native_loans.ts";
import { NativeSource } from "../../src/core/tensors/native_source.ts";
import { runModule } from "../process.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

/** Calls of a library that fails with codes below zero. `said` is what was called of it. */
function callsOf(said: string[], signal?: AbortSignal, undo: Undo = [() => void said.push("freed")]): NativeCalls {
  return new NativeCalls({
    ...{ name: "A sink", owner: new Resource({ name: "a context" }), undo, signal },
    error: (code, fn) => new NativeCallError(`${fn} failed`, { api: "test", fn, code, codeName: "E" }),
    stop: () => void said.push("stopped"),
    after: () => void said.push("reported"),
  });
}

/** What listens to a signal from now on. */
function listenersOf(signal: AbortSignal): ReadonlySet<unknown> {
  const listeners = new Set<unknown>();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
    listeners.add(given[1]);
    addEventListener.apply(signal, given);
  };
  signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
    listeners.delete(given[1]);
    removeEventListener.apply(signal, given);
  };
  return listeners;
}

Deno.test("NativeCalls.run() holds off the end until its call is over", async () => {
  const said: string[] = [];
  const calls = callsOf(said);
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = calls.run(() => promise);
  const ended = calls.resource.disposeAsync();
  assertEquals(said, ["stopped"]);
  resolve();
  await Promise.all([call, ended]);
  assertEquals(said, ["stopped", "reported", "freed"]);
  await assertRejects(() => calls.run(() => promise), DisposedError, "A sink was disposed.");
});

Deno.test("NativeCalls.assertPassed() throws the end's reason before a code's error, and that with its hint", async () => {
  const controller = new AbortController();
  const calls = callsOf([], controller.signal);
  calls.assertPassed(0, "push");
  assertThrows(() => calls.assertPassed(-5, "push"), NativeCallError, "push failed");
  const reason = new Error("enough");
  controller.abort(reason);
  assertEquals(assertThrows(() => calls.assertPassed(-5, "push")), reason);
  await calls.resource.disposeAsync();
});

Deno.test("NativeCalls: an aborted signal stops the call in flight and ends it; a signal that outlives it keeps nothing", async () => {
  const said: string[] = [];
  const controller = new AbortController();
  const calls = callsOf(said, controller.signal);
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = calls.inTurn(() => promise);
  controller.abort();
  assertEquals([said, calls.resource.isLive], [["stopped"], false]);
  resolve();
  await call;
  await calls.resource.disposeAsync();
  assertEquals(said, ["stopped", "reported", "freed"]);
  const [other, later] = [new AbortController(), [] as string[]];
  const listeners = listenersOf(other.signal);
  const ended = callsOf(later, other.signal);
  assertEquals(listeners.size, 1);
  await ended.resource.disposeAsync();
  assertEquals(listeners.size, 0);
  other.abort();
  assertEquals(later, ["stopped", "freed"]);
});

Deno.test("NativeCalls.inTurn() makes one call after the other, also after one that failed", async () => {
  const [said, calls] = [[] as string[], callsOf([])];
  const call = (name: string, fails = false) =>
    calls.inTurn(async () => {
      said.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 1));
      said.push(`${name} ends`);
      if (fails) throw new Error(name);
    });
  const results = await Promise.allSettled([call("a"), call("b", true), call("c")]);
  assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assertEquals(said, ["a", "b", "c"].flatMap((name) => [`${name} begins`, `${name} ends`]));
  await calls.resource.disposeAsync();
});

Deno.test("NativeCalls.orEnd() ends it where its call fails, and all is freed before that is thrown", async () => {
  const said: string[] = [];
  const calls = callsOf(said, undefined, [() => {
    said.push("freed");
    throw new Error("of the end");
  }]);
  const failing = () => calls.orEnd(() => Promise.reject(new Error("of the call")));
  const error = await assertRejects(() => calls.inTurn(failing), Error, "of the call");
  assertEquals((error as { errors?: unknown[] }).errors?.length, 2);
  assertEquals(said.at(-1), "freed");
  assertThrows(() => calls.assertGoing(), DisposedError, "A sink was ended by a failure.");
});

Deno.test("NativeCalls.end() ends it with its turn, and says how", async () => {
  const calls = callsOf([]);
  await calls.inTurn(async () => await calls.end("closed"));
  assertThrows(() => calls.assertGoing(), DisposedError, "A sink was closed. Use it before that, or a new one.");
});

Deno.test("a call in flight keeps an object from being ended by the garbage collector", async () => {
  const text = `
    import { NativeCalls } from "./src/core/life/native_calls.ts";
    import { Resource } from "./src/core/life/resource.ts";
    import { finalizers } from "./src/core/life/finalizers.ts";
    const calls = new NativeCalls({ name: "A sink", owner: new Resource({ name: "context" }), undo: [], error: () => {} });
    const call = (() => {
      const facade = {};
      finalizers.register(facade, calls.resource, facade);
      return calls.run(async () => {
        for (let i = 0; i < 20; i++) {
          gc();
          await new Promise((resolve) => setTimeout(resolve, 5));
          calls.assertGoing();
        }
      });
    })();
    await call;
    console.log("went on");
    await new Promise((resolve) => setTimeout(resolve, 10));
    console.log(calls.resource.isLive);
  `;
  const { stdout, stderr } = await runModule(text);
  assertEquals(stdout, "went on\nfalse\n");
  assertEquals(stderr.includes("A sink was never disposed"), true);
});

class Numbers extends NativeObject {
  readonly resource = new Resource({ name: "Numbers" });
  readonly said: string[] = [];
  #next = 0;
  readonly #source = new NativeSource<number, string>({
    ...{ source: this, again: ["test", "Count again."] },
    begin: () => Promise.resolve(this.said.push("begin")),
    next: () => {
      this.said.push(`make ${this.#next}`);
      return this.#next === 3 ? Promise.reject(new Error("no more")) : Promise.resolve(this.#next++);
    },
    give: (made, count) => `${made} as ${count}`,
  });

  [Symbol.asyncIterator]() {
    return this.#source.each();
  }
}

Deno.test("a NativeSource makes one ahead, and ends with the loop", async () => {
  const numbers = new Numbers();
  for await (const number of numbers) {
    numbers.said.push(number);
    if (number.startsWith("1")) break;
  }
  assertEquals(numbers.said, ["begin", "make 0", "make 1", "0 as 0", "make 2", "1 as 1"]);
  assertThrows(() => numbers.usable(), DisposedError);
  assertThrows(() => numbers[Symbol.asyncIterator](), InteropError, "Numbers: its frames were taken by another loop.");
});

for (const how of ["return", "throw"] as const) {
  Deno.test(`a NativeSource ends by ${how}() before its first frame`, async () => {
    const [numbers, why] = [new Numbers(), new Error("enough")];
    const frames = numbers[Symbol.asyncIterator]();
    if (how === "return") assertEquals(await frames.return(), { done: true, value: undefined });
    else assertEquals(await assertRejects(() => frames.throw(why)), why);
    assertEquals(numbers.said, []);
    assertThrows(() => numbers.usable(), DisposedError);
    assertEquals(await frames.next(), { done: true, value: undefined });
  });
}

Deno.test("a NativeSource's failure comes in its order", async () => {
  const [numbers, given] = [new Numbers(), [] as string[]];
  const loop = async () => {
    for await (const number of numbers) given.push(number);
  };
  await assertRejects(loop, Error, "no more");
  assertEquals(given, ["0 as 0", "1 as 1", "2 as 2"]);
});

const GRAY = imageInfo({ format: "GRAY8", width: 64, height: 4 });

/** Calls the function of C as the library's thread would. */
function call(callback: bigint, data: bigint): void {
  const type = { parameters: ["u64"], result: "void" } as const;
  new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof type>(callback)!, type).call(data);
}

/** A sink that keeps frames, and what lets the oldest go. */
function sinkOf() {
  const [loans, given] = [new NativeLoans("A library"), [] as (() => void)[]];
  const keep = new NativeKeep("Close the sink.");
  const lend = (frame: Frame<HostTensor>, refer?: (undo: Undo) => void) =>
    keep.lend(frame, refer, (access) =>
      loans.lend(frame, access, ([{ callback, data }]) => {
        given.push(() => call(callback, data));
        return data;
      }));
  return { keep, lend, letGo: () => given.shift()!() };
}

Deno.test(
  "NativeKeep.lend() lets bytes be read and not written, until the last reference is back",
  withEmptyLedger(async () => {
    const { keep, lend, letGo } = sinkOf();
    using frame = host.allocateFrame(GRAY);
    lend(frame);
    assertEquals(keep.count, 1);
    using _read = frame.planes[0].slice(frame.planes[0].layout, { access: "read" });
    const error = assertThrows(() => frame.assertUsable("read-write"), AccessError);
    assertEquals(error.hint, "Close the sink.");
    const ended = frame[Symbol.asyncDispose]();
    assertEquals(await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20, "kept"))]), "kept");
    letGo();
    await ended; // no call comes
    assertEquals(keep.count, 0);
  }),
);

Deno.test(
  "NativeKeep.lend() does not hold up the end of memory that the library has a reference to",
  withEmptyLedger(async () => {
    const { keep, lend, letGo } = sinkOf();
    const said: string[] = [];
    {
      await using frame = host.allocateFrame(GRAY);
      lend(frame, (undo) => undo.push(() => void said.push("unreferenced")));
    }
    assertEquals([keep.count, said], [1, []]);
    letGo();
    assertEquals([keep.count, said], [0, ["unreferenced"]]);
  }),
);

Deno.test(
  "NativeKeep.lend() lends nothing where no object is made",
  withEmptyLedger(() => {
    const { keep } = sinkOf();
    using frame = host.allocateFrame(GRAY);
    const fail = () => {
      throw new Error("no memory");
    };
    assertThrows(() => keep.lend(frame, undefined, fail), Error, "no memory");
    frame.assertUsable("read-write");
    assertEquals(keep.count, 0);
  }),
);

Deno.test(
  "an end that a sink holds up for seconds says what to do, once",
  withEmptyLedger(async () => {
    const { lend, letGo } = sinkOf();
    const frame = host.allocateFrame(GRAY);
    lend(frame);
    const warnings = await warningsOf(async () => {
      const ended = frame[Symbol.asyncDispose]();
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      letGo();
      await ended;
    });
    assertEquals(warnings, [`samepage: the end of ${frame.name} has been waiting for seconds. Close the sink.`]);
  }),
);

Deno.test("frames that a sink keeps let the process exit, unless it awaits their end", async () => {
  const program = (end: string) =>
    runModule(
      `
      import { host, imageInfo } from "@samepage/interop";
      import { NativeKeep, NativeLoans } from "./src/core/tensors/native_loans.ts";
      const [loans, keep] = [new NativeLoans("A library"), new NativeKeep("Close the sink.")];
      const frame = host.allocateFrame(imageInfo({ format: "GRAY8", width: 64, height: 4 }));
      const { callback, data } = keep.lend(frame, undefined, (access) =>
        loans.lend(frame, access, ([block]) => block));
      const type = { parameters: ["u64"], result: "void" };
      const post = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create(callback), type);
      ${end}
      const said = () => console.log(keep.count, frame.resource.state);`,
    );
  // As a thread of the library's would let go, which keeps no process alive; after the warning that this takes long.
  const awaited =
    "Deno.unrefTimer(setTimeout(() => post.call(data), 2_500)); frame[Symbol.asyncDispose]().then(() => said());";
  const [dropped, kept] = await Promise.all([
    program("frame[Symbol.dispose](), queueMicrotask(() => said());"),
    program(awaited),
  ]);
  assertEquals([dropped.late, dropped.stdout, dropped.stderr], [false, "1 closing\n", ""]);
  assertEquals([kept.code, kept.stdout], [0, "0 freed\n"], kept.stderr);
});

Deno.test("CallbackWords are zeros that their undo gives back", () => {
  for (let i = 0; i < 2; i++) {
    const undo: Undo = [];
    const words = new CallbackWords(3, undo);
    assertEquals([...words.all], [0n, 0n, 0n]);
    assertEquals(words.addressOf(2) - words.addressOf(0), 16n);
    words.place(1)[0] = 7n;
    assertEquals(words.all[1], 7n);
    undo.pop()!();
  }
});

Deno.test("rescaled() rounds to the nearest, away from zero", () => {
  const times = [[3n, [1, 2], [1, 1]], [-3n, [1, 2], [1, 1]], [1n, [1, 3], [1, 1]], [9000n, [1, 90000], [
    1,
    25,
  ]]] as const;
  assertEquals(times.map(([time, from, to]) => rescaled(time, from, to)), [2n, -2n, 0n, 3n]);
});

Deno.test("ratioIn() takes an integer or two, from 1 on", () => {
  const checks = new Checks("test");
  assertEquals([ratioIn(checks, 25, "rate", ""), ratioIn(checks, [30000, 1001], "rate", "")], [[25, 1], [30000, 1001]]);
  for (const given of [0, 1.5, [1], [1, 0], "25", [1, 2, 3]]) {
    assertThrows(
      () => ratioIn(checks, given as number, "rate", "Write 1."),
      ArgumentError,
      "rate: expected an integer",
    );
  }
});
