// Who holds which frames of a ring, and what those hear who wait for a frame in vain.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { AccessError, DisposedError, host } from "../../mod.ts";
import { FrameRing } from "../../src/channel/mod.ts";
import { warningsOf } from "../warnings.ts";
import { withNothingLeft } from "./help.ts";
import { create, freshPath, type HostFrame, INFO, open, publish, until, valueOf } from "./ring_help.ts";

/** Ends what would wait for ever. */
const soon = () => ({ signal: AbortSignal.timeout(30_000) });

const sharable = () => host.allocateFrame(INFO, { sharable: true });

Deno.test('ring: with "drop-oldest", a reader may hold all frames but one, and none of them is dropped', () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath(), 4, "drop-oldest");
    await using reader = await open(ring.path);
    await ring.joined();
    const held: HostFrame[] = [];
    for (let i = 1; i <= 3; i++) {
      await publish(ring, i);
      held.push((await reader.next(soon()))!);
    }
    for (let i = 4; i <= 20; i++) await publish(ring, i); // in the frame that is left
    assertEquals(held.map(valueOf), [1, 2, 3]);
    held[1][Symbol.dispose]();
    held[1] = (await reader.next(soon()))!;
    assertEquals([held.map(valueOf), reader.missed], [[1, 20, 3], 16]);
    for (const frame of held) frame[Symbol.dispose]();
    await publish(ring, 21);
    using last = (await reader.next(soon()))!;
    assertEquals(valueOf(last), 21);
  }));

Deno.test('ring: with "drop-oldest", a reader that waits for its second frame gets the next one', () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath(), 3, "drop-oldest");
    await using reader = await open(ring.path);
    await ring.joined();
    await publish(ring, 1);
    using first = (await reader.next(soon()))!;
    const waiting = reader.next(soon());
    await new Promise((resolve) => setTimeout(resolve, 20));
    await publish(ring, 2);
    using second = (await waiting)!;
    assertEquals([valueOf(first), valueOf(second)], [1, 2]);
  }));

Deno.test('ring: with "drop-oldest", the writer never waits for readers, however many hold frames', () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath(), 3, "drop-oldest");
    const readers = await Promise.all([1, 2, 3].map(() => open(ring.path)));
    await until(() => ring.readers === 3, "three readers");
    await publish(ring, 1);
    using _a = (await readers[0].next(soon()))!;
    (await readers[1].next(soon()))![Symbol.dispose]();
    await publish(ring, 2);
    using _b = (await readers[1].next(soon()))!;
    (await readers[2].next(soon()))![Symbol.dispose]();
    for (let i = 3; i <= 9; i++) await publish(ring, i);
    readers[0][Symbol.dispose](); // its frame is free: the third may have one more
    using newest = (await readers[2].next(soon()))!;
    assert(valueOf(newest) >= 2);
    for (const reader of readers) reader[Symbol.dispose]();
  }));

Deno.test("ring: it takes its frames over: their views are revoked, and refused until the ring ends", () =>
  withNothingLeft(async () => {
    const frames = [sharable(), sharable()];
    const old = frames[0].planes[0].bytes();
    await using ring = FrameRing.create(freshPath(), { frames });
    assertEquals(old.length, 0);
    assertThrows(() => frames[0].planes[0].bytes(), AccessError, `ring at ${ring.path} has taken it over`);
    assertThrows(
      () => frames[1].planes[1].view({ access: "read" }),
      AccessError,
      `ring at ${ring.path} has taken it over`,
    );
    assertThrows(
      () => FrameRing.create(freshPath(), { frames }),
      AccessError,
      `ring at ${ring.path} has taken it over`,
    );
    const frame = await ring.next();
    assertEquals(frame.name, `frame 0 of ring at ${ring.path}`);
    frame[Symbol.dispose]();
  }));

Deno.test("ring: frames that a ring could not take stay their owner's", () =>
  withNothingLeft(async () => {
    using one = sharable();
    using other = host.allocateFrame(INFO);
    assertThrows(() => FrameRing.create(freshPath(), { frames: [one, other] }), Error, "frames[1]");
    one.planes[0].bytes().fill(1);
    await using _ring = create(freshPath());
    assertThrows(() => FrameRing.create(_ring.path, { frames: [one, one] }), Error, "frames[1]: it is frames[0] again");
    const ended = sharable();
    ended[Symbol.dispose]();
    const error = assertThrows(() => FrameRing.create(freshPath(), { frames: [one, ended] }), DisposedError);
    assertEquals([error.argument, error.message.startsWith("frames[1]: ")], ["frames[1]", true]);
    one.planes[0].bytes().fill(2);
  }));

for (const whenFull of ["wait", "drop-oldest"] as const) {
  Deno.test(`ring: more tasks than frames fill them by turns ("${whenFull}")`, () =>
    withNothingLeft(async () => {
      await using ring = create(freshPath(), 2, whenFull);
      const { signal } = soon();
      const published = await Promise.all(Array.from({ length: 7 }, async () => {
        const frame = await ring.next({ signal });
        await new Promise((resolve) => setTimeout(resolve)); // others ask meanwhile
        return await ring.publish(frame);
      }));
      assertEquals(published.toSorted((a, b) => a - b), [1, 2, 3, 4, 5, 6, 7]);
      const held = [await ring.next(), await ring.next()];
      const waiting = [ring.next({ signal }), ring.next({ signal })];
      for (const frame of held) frame[Symbol.dispose](); // given back unread
      for (const frame of await Promise.all(waiting)) frame[Symbol.dispose]();
    }));
}

Deno.test("ring: a program that waits too long for frames of its own gets one warning, on either side", () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath(), 2);
    const held = [await ring.next(), await ring.next()];
    await using other = create(freshPath(), 2, "drop-oldest");
    await using reader = await open(other.path);
    await other.joined();
    await publish(other, 1);
    held.push((await reader.next())!);
    const warnings = await warningsOf(async () => {
      const signal = AbortSignal.timeout(10_500);
      await Promise.all([ring, reader].map((side) => assertRejects(() => side.next({ signal }), DOMException)));
    });
    assertEquals(warnings.length, 2);
    assert(warnings.some((warning) => warning.includes("this program has had all 2 frames")), warnings.join());
    assert(warnings.some((warning) => warning.includes("this program has had 1 of its 2 frames")), warnings.join());
    for (const frame of held) frame[Symbol.dispose]();
  }));

for (const [whenFull, most] of [["wait", 3], ["drop-oldest", 2]] as const) {
  Deno.test(`ring: a reader that holds all frames it may ("${whenFull}") waits until it has disposed one`, () =>
    withNothingLeft(async () => {
      await using ring = create(freshPath(), 3, whenFull);
      await using reader = await open(ring.path);
      await ring.joined();
      const held: HostFrame[] = [];
      for (let i = 0; i < most; i++) {
        await publish(ring, i);
        held.push((await reader.next())!);
      }
      for (const value of [8, 9]) {
        const next = reader.next();
        const waits = new Promise<string>((resolve) => setTimeout(resolve, 20, "waits"));
        assertEquals(await Promise.race([next, waits]), "waits");
        held.shift()![Symbol.dispose]();
        await publish(ring, value);
        held.push((await next)!);
        assertEquals(held.map(valueOf).at(-1), value);
      }
      for (const frame of held) frame[Symbol.dispose]();
    }));
}

Deno.test("ring: a reader for which the writer waits too long is named, once", () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath(), 2);
    await using reader = await open(ring.path);
    await ring.joined();
    await publish(ring, 1);
    await publish(ring, 2);
    const warnings = await warningsOf(async () => {
      await assertRejects(() => ring.next({ signal: AbortSignal.timeout(10_500) }), DOMException);
    });
    assertEquals(warnings.length, 1);
    assert(warnings[0].includes(`process ${Deno.pid} has not released`), warnings[0]);
    for (let i = 0; i < 2; i++) (await reader.next())![Symbol.dispose]();
  }));
