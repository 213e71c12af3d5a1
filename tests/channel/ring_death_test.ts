// Sides of a ring that end in the middle of a frame take nothing with them.

import { assert, assertEquals } from "@std/assert";
import { ledger } from "../../mod.ts";
import { assertAlive } from "../alive.ts";
import { Child, create, freshPath, type HostFrame, open, publish, until, valueOf } from "./ring_help.ts";
import type { RingWriter } from "../../src/channel/mod.ts";

/** Reads for ever, and says which number it has seen. */
const READER = `
  const ring = await open(path);
  console.log("joined");
  for await (const frame of ring) console.log(valueOf(frame));
`;

/** Takes one frame, and keeps it. */
const HOLDER = `
  const ring = await open(path);
  console.log("joined");
  globalThis.frame = await ring.next();
  console.log(valueOf(globalThis.frame));
  await new Promise((resolve) => setTimeout(resolve, 60_000));
`;

/** Publishes so many frames, one after the other; each has to be free again. */
async function publishAll(ring: RingWriter<HostFrame>, count: number): Promise<void> {
  const signal = AbortSignal.timeout(30_000);
  for (let i = 0; i < count; i++) {
    const frame = await ring.next({ signal });
    for (const plane of frame.planes) plane.bytes().fill(i);
    await ring.publish(frame);
  }
  await ring.flush({ signal });
}

Deno.test("ring: another process sees each frame as it was published", async () => {
  const path = freshPath();
  await using ring = create(path);
  await using reader = new Child(path, READER);
  assertEquals(await reader.line(), "joined");
  for (let i = 1; i <= 50; i++) {
    await publish(ring, i);
    assertEquals(await reader.line(), `${i}`);
  }
});

Deno.test("ring: a reader that is killed while it reads gives its frame back", async () => {
  const path = freshPath();
  await using ring = create(path, 2);
  await using holder = new Child(path, HOLDER);
  assertEquals(await holder.line(), "joined");
  await publish(ring, 5);
  assertEquals(await holder.line(), "5");
  await publish(ring, 6); // unread
  await holder.kill();
  await publishAll(ring, 10);
  assertEquals(ring.readers, 0);
});

Deno.test("ring: flush() ends when a reader dies that was notified of one frame alone", async () => {
  const path = freshPath();
  await using ring = create(path, 4, "drop-oldest");
  await using holder = new Child(path, HOLDER);
  assertEquals(await holder.line(), "joined");
  await publish(ring, 5);
  assertEquals(await holder.line(), "5");
  await publish(ring, 6); // the writer keeps these back
  await publish(ring, 7);
  const flushed = ring.flush({ signal: AbortSignal.timeout(30_000) });
  await holder.kill();
  await flushed;
  assertEquals(ring.readers, 0);
});

Deno.test("ring: a writer that is killed while it fills a frame leaves what it had published", async () => {
  const path = freshPath();
  await using writer = new Child(
    path,
    `
      const ring = create(path, 4);
      console.log("listens");
      while (ring.readers === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      for (let i = 1; i <= 3; i++) await publish(ring, i);
      const frame = await ring.next();
      frame.planes[0].bytes().fill(99);
      console.log("half");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    `,
  );
  assertEquals(await writer.line(), "listens");
  {
    await using reader = await open(path);
    assertEquals(await writer.line(), "half");
    await writer.kill();
    const seen: number[] = [];
    for await (const frame of reader) seen.push(valueOf(frame));
    assertEquals(seen, [1, 2, 3]);
  }
  await using next = create(path); // in the place of the dead one's socket
  await using again = await open(path);
  await until(() => next.readers === 1, "a reader");
  await publish(next, 7);
  using frame = (await again.next())!;
  assertEquals(valueOf(frame), 7);
});

Deno.test("ring: readers that are killed while they join, wait or read", async () => {
  const path = freshPath();
  const alive = ledger.alive;
  {
    await using ring = create(path, 3);
    let over = false;
    let published = 0;
    const writing = (async () => {
      for (; !over; published++) {
        await publish(ring, published % 256);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    await using steady = new Child(path, READER);
    assertEquals(await steady.line(), "joined");
    // From the first connection on, each a little later.
    for (let delay = 0; delay < 10; delay++) {
      await using reader = new Child(
        path,
        delay % 2 === 0 ? READER : `
          import { connect } from "${new URL("../../src/channel/mod.ts", import.meta.url)}";
          const peers = Array.from({ length: 5 }, () => connect(path)); // they never read
          console.log("joined");
          await new Promise((resolve) => setTimeout(resolve, 60_000));
        `,
      );
      await reader.line();
      await new Promise((resolve) => setTimeout(resolve, delay));
      await reader.kill();
    }
    const before = published;
    await until(() => published > before + 20, "twenty more frames");
    await until(() => ring.readers === 1, "only the steady reader");
    over = true;
    await writing;
    await steady.kill();
    await publishAll(ring, 5);
  }
  await assertAlive(alive, "after the ring");
});

Deno.test("ring: a reader cannot write, whatever it tries", async () => {
  const path = freshPath();
  await using ring = create(path);
  await using reader = new Child(
    path,
    `
      import { host } from "${new URL("../../mod.ts", import.meta.url)}";
      const ring = await open(path);
      const frame = await ring.next();
      const links = [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => name).filter((name) => {
        try { return Deno.readLinkSync("/proc/self/fd/" + name).includes("memfd:samepage"); } catch { return false; }
      });
      let refused = 0;
      for (const fd of links) {
        try { host.attach(Number(fd), { shape: [64], dtype: "u8" }, { access: "read-write" }); } catch { refused++; }
        try { Deno.writeFileSync("/proc/self/fd/" + fd, new Uint8Array(64), { create: false }); } catch { refused++; }
        try { Deno.truncateSync("/proc/self/fd/" + fd, 0); } catch { refused++; }
      }
      console.log(links.length, refused);
      frame.planes[0].bytes()[0] = 99; // JavaScript cannot prevent it: the kernel ends the process
    `,
  );
  await until(() => ring.readers === 1, "a reader");
  await publish(ring, 3);
  assertEquals(await reader.line(), "3 9");
  assert(await reader.end() !== 0);
  await publishAll(ring, 5);
});
