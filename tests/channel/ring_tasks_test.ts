// However many tasks wait for a ring or a server, what comes wakes one of them.

import { assert, assertEquals } from "@std/assert";
import { connect, listen } from "../../src/channel/mod.ts";
import { OpenSocket } from "../../src/channel/connection.ts";
import { Changes } from "../../src/channel/ring/changes.ts";
import { withNothingLeft } from "./help.ts";
import { create, freshPath, open, publish, valueOf } from "./ring_help.ts";

/** How often a method is called while an action runs. */
async function callsOf<K extends string>(
  prototype: Record<K, (...args: never[]) => unknown>,
  name: K,
  action: () => Promise<void>,
): Promise<number> {
  const method = prototype[name];
  let calls = 0;
  prototype[name] = function (this: unknown, ...args) {
    calls++;
    return Reflect.apply(method, this, args);
  };
  try {
    await action();
  } finally {
    prototype[name] = method;
  }
  return calls;
}

const TASKS = 200;

/** Runs so many tasks. */
const inTasks = async (task: (i: number) => Promise<void>) =>
  void await Promise.all(Array.from({ length: TASKS }, (_, i) => task(i)));

Deno.test("ring.next() is woken once for each frame, however many tasks wait", () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath());
    const order: number[] = [];
    const waits = await callsOf(Changes.prototype, "next", () =>
      inTasks(async (i) => {
        const frame = await ring.next();
        order.push(i);
        await Promise.resolve();
        await ring.publish(frame);
      }));
    assert(waits <= 2 * TASKS, `${waits} waits for ${TASKS} frames`);
    assertEquals(order, order.toSorted((a, b) => a - b), "first come, first served");
  }));

Deno.test("reader.next() is woken once for each frame, however many tasks wait", () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath());
    await using reader = await open(ring.path);
    await ring.joined();
    const values: number[] = [];
    const writing = async () => {
      for (let i = 0; i < TASKS; i++) await publish(ring, i % 251);
    };
    const waits = await callsOf(OpenSocket.prototype, "ready", async () => {
      const reading = inTasks(async () => {
        using frame = (await reader.next())!;
        values.push(valueOf(frame));
      });
      await Promise.all([reading, writing()]);
    });
    assertEquals(values, Array.from({ length: TASKS }, (_, i) => i % 251));
    assert(waits <= 4 * TASKS, `${waits} waits for ${TASKS} frames`); // the writer waits, too
  }));

Deno.test("server.accept() is woken once for each process, however many tasks wait", () =>
  withNothingLeft(async () => {
    using server = listen(freshPath());
    const waits = await callsOf(OpenSocket.prototype, "ready", async () => {
      const accepting = inTasks(async () => (await server.accept())[Symbol.dispose]());
      for (let i = 0; i < TASKS; i++) {
        using _client = connect(server.path);
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      await accepting;
    });
    assert(waits <= 2 * TASKS, `${waits} waits for ${TASKS} processes`);
  }));

Deno.test("ring.next() of tasks that wait ends with its signal, or with the ring, and others go on", () =>
  withNothingLeft(async () => {
    const ring = create(freshPath(), 2);
    const held = [await ring.next(), await ring.next()];
    const stop = new AbortController();
    const [first, aborted, third, last] = [undefined, stop.signal, undefined, undefined].map((signal) =>
      ring.next(signal === undefined ? {} : { signal }).then(() => "a frame", (error) => error.name)
    );
    stop.abort();
    assertEquals(await aborted, "AbortError");
    for (const frame of held) frame[Symbol.dispose]();
    assertEquals(await Promise.all([first, third]), ["a frame", "a frame"]);
    ring[Symbol.dispose]();
    assertEquals(await last, "DisposedError");
  }));
