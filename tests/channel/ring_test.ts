import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, host, ledger, NativeCallError } from "../../mod.ts";
import { FrameRing, MessageError } from "../../src/channel/mod.ts";
import type { RingReader, RingWriter, WhenFull } from "../../src/channel/mod.ts";
import { encoded, KINDS } from "../../src/channel/message.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { assertAlive } from "../alive.ts";
import { collect, Level, openFds } from "../gc.ts";
import { create, freshPath, type HostFrame, INFO, open, publish, until, valueOf } from "./ring_help.ts";

/** A test that leaves no fd open and nothing alive. */
function test(name: string, run: (path: string) => Promise<void>): void {
  Deno.test(`ring: ${name}`, async () => {
    await using _warm = create(freshPath());
    const [fds, alive] = [new Level(openFds), ledger.alive];
    await run(freshPath());
    await fds.assertBack("open fds");
    await assertAlive(alive, "after the rings");
  });
}

/** A ring with one reader, who reads by itself. */
async function joined(
  path: string,
  frames?: number,
  whenFull?: WhenFull,
): Promise<{ ring: RingWriter<HostFrame>; reader: RingReader<HostFrame>; close: () => void }> {
  const ring = create(path, frames, whenFull);
  const reader = await open(path);
  await until(() => ring.readers === 1, "a reader");
  const close = () => {
    reader[Symbol.dispose]();
    ring[Symbol.dispose]();
  };
  return { ring, reader, close };
}

/** Has a promise settled after a while? */
async function settles(promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(() => true, () => true);
  return await Promise.race([settled, new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 50))]);
}

test("frames come in order, each the writer's own memory", async (path) => {
  const { ring, reader, close } = await joined(path);
  for (let i = 1; i <= 20; i++) {
    const frame = await ring.next();
    const { address } = frame.planes[0];
    frame.planes.forEach((plane) => plane.bytes().fill(i));
    frame.metadata.set("timestamp", { pts: BigInt(i) * 1000n });
    assertEquals(await ring.publish(frame), i);
    using shown = (await reader.next())!;
    assertEquals([valueOf(shown), shown.metadata.get("source")?.sequence, reader.sequence], [i, i, i]);
    assertEquals([shown.metadata.get("timestamp")?.pts, shown.planes[0].address], [BigInt(i) * 1000n, address]);
    assertEquals([shown.access, shown.info.format], ["read", "NV12"]);
  }
  close();
});

test("frames that differ in their times are of one kind", async (path) => {
  const frames = [1n, 2n].map((pts) => host.allocateFrame({ ...INFO, media: { pts } }, { sharable: true }));
  await using ring = FrameRing.create(path, { frames });
  assertEquals(ring.readers, 0);
});

test("without readers, frames are free at once", async (path) => {
  await using ring = create(path, 2);
  for (let i = 0; i < 10; i++) await publish(ring, i);
  using reader = await open(path);
  await until(() => ring.readers === 1, "a reader");
  await publish(ring, 77);
  using shown = (await reader.next())!;
  assertEquals([valueOf(shown), reader.missed], [77, 0]);
});

test('"wait": the slowest reader sets the pace, and loses nothing', async (path) => {
  const { ring, reader, close } = await joined(path, 3);
  const quick = await open(path);
  await until(() => ring.readers === 2, "two readers");
  for (let i = 1; i <= 3; i++) await publish(ring, i);
  for (let i = 1; i <= 3; i++) (await quick.next())![Symbol.dispose]();
  const next = ring.next();
  assertEquals(await settles(next), false);
  const first = (await reader.next())!;
  assertEquals([valueOf(first), await settles(next)], [1, false]);
  first[Symbol.dispose]();
  (await next)[Symbol.dispose]();
  using second = (await reader.next())!;
  assertEquals([valueOf(second), reader.missed], [2, 0]);
  quick[Symbol.dispose]();
  close();
});

test('"drop-oldest": the writer goes on, and a slow reader learns how many it missed', async (path) => {
  const { ring, reader, close } = await joined(path, 3, "drop-oldest");
  for (let i = 1; i <= 10; i++) await publish(ring, i);
  const seen: number[] = [];
  for (let i = 0; i < 3; i++) {
    using shown = (await reader.next())!;
    seen.push(valueOf(shown));
  }
  // It was told of the first before the ring was full; the two newest are left.
  assertEquals([seen, reader.missed, reader.sequence], [[1, 9, 10], 7, 10]);
  close();
});

test('"drop-oldest": a frame that is being read is not filled again', async (path) => {
  const { ring, reader, close } = await joined(path, 2, "drop-oldest");
  await publish(ring, 1);
  using held = (await reader.next())!;
  for (let i = 2; i <= 9; i++) await publish(ring, i);
  assertEquals(valueOf(held), 1);
  held[Symbol.dispose]();
  using newest = (await reader.next())!;
  assertEquals(valueOf(newest), 9);
  close();
});

test("a loop releases each frame at its next turn, and the last by leaving", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  const writing = (async () => {
    for (let i = 1; i <= 20; i++) await publish(ring, i);
    await ring.flush();
  })();
  const seen: number[] = [];
  for await (const frame of reader) {
    seen.push(valueOf(frame));
    if (seen.length === 20) break;
  }
  await writing;
  assertEquals(seen, Array.from({ length: 20 }, (_, i) => i + 1));
  close();
});

test("the loop ends with its writer, after what was published", async (path) => {
  const { ring, reader, close } = await joined(path, 3);
  for (let i = 1; i <= 3; i++) await publish(ring, i);
  ring[Symbol.dispose]();
  const seen: number[] = [];
  for await (const frame of reader) seen.push(valueOf(frame));
  assertEquals([seen, await reader.next()], [[1, 2, 3], undefined]);
  close();
});

test("a frame that is given back is not published", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  for (let i = 0; i < 5; i++) {
    using frame = await ring.next();
    frame.planes[0].bytes().fill(99);
  }
  assertEquals(await publish(ring, 1), 1);
  using shown = (await reader.next())!;
  assertEquals(valueOf(shown), 1);
  close();
});

test("a stream of frames is a stream of readers' frames", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  const camera = ReadableStream.from([1, 2, 3, 4, 5]);
  const filling = new TransformStream<number, HostFrame>({
    async transform(value, controller) {
      const frame = await ring.next();
      for (const plane of frame.planes) plane.bytes().fill(value);
      controller.enqueue(frame);
    },
  });
  const piped = camera.pipeThrough(filling).pipeTo(ring.writable);
  const seen: number[] = [];
  for (let i = 0; i < 5; i++) {
    using frame = (await reader.next())!;
    seen.push(valueOf(frame));
  }
  await piped;
  assertEquals(seen, [1, 2, 3, 4, 5]);
  close();
});

test("readable is a stream of the reader's frames, and none of them waits in it", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  assert(reader.readable === reader.readable);
  const sum = new Promise<number>((resolve) => {
    let sum = 0;
    reader.readable.pipeTo(
      new WritableStream<HostFrame>({
        write(frame) {
          sum += valueOf(frame);
          frame[Symbol.dispose]();
        },
        close: () => resolve(sum),
      }),
    );
  });
  for (let value = 1; value <= 5; value++) await publish(ring, value);
  await ring.flush();
  ring[Symbol.dispose]();
  assertEquals(await sum, 15);
  close();
});

test("readable that is cancelled holds no frame, and leaves the ring as it is", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  const stream = reader.readable.getReader();
  const asked = stream.read();
  await stream.cancel();
  assertEquals((await asked).done, true);
  for (let value = 1; value <= 3; value++) {
    await publish(ring, value);
    using frame = (await reader.next())!;
    assertEquals(valueOf(frame), value);
  }
  close();
});

/** Ends what reads from a ring's stream, and waits for a frame, without cancelling the stream. */
const GIVING_UP: Record<string, (stream: ReadableStream<HostFrame>) => Promise<() => Promise<void>>> = {
  "pipeTo() that is aborted": async (stream) => {
    const abort = new AbortController();
    const options = { signal: abort.signal, preventCancel: true };
    const piped = stream.pipeTo(new WritableStream({ write: (frame) => frame[Symbol.dispose]() }), options);
    await new Promise((resolve) => setTimeout(resolve, 20));
    return async () => {
      abort.abort();
      await assertRejects(() => piped);
    };
  },
  "releaseLock()": async (stream) => {
    const reader = stream.getReader();
    const read = reader.read();
    await Promise.resolve();
    return async () => {
      reader.releaseLock();
      await assertRejects(() => read);
    };
  },
};

for (const [how, begin] of Object.entries(GIVING_UP)) {
  for (const again of [false, true]) {
    const what = again ? ", also in a stream that is locked again" : "";
    test(`readable.cancel() disposes the frame of a read given up by ${how}${what}`, async (path) => {
      const { ring, reader, close } = await joined(path, 2);
      const giveUp = await begin(reader.readable);
      await giveUp();
      const other = again ? reader.readable.getReader() : undefined;
      await publish(ring, 1);
      await until(() => reader.sequence === 1, "the frame");
      await new Promise((resolve) => setTimeout(resolve, 5));
      await (other ?? reader.readable).cancel();
      const frames = [await ring.next(), ring.next()] as const;
      assert(await settles(frames[1]), "the writer gets both");
      close();
    });
  }
}

test("readable gives the frame of a read that was given up to the next", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  await (await GIVING_UP["releaseLock()"](reader.readable))();
  await publish(ring, 1);
  await until(() => reader.sequence === 1, "the frame");
  await publish(ring, 2);
  const stream = reader.readable.getReader();
  for (const expected of [1, 2]) {
    const { value } = await stream.read();
    assertEquals(valueOf(value!), expected);
    value![Symbol.dispose]();
  }
  const last = stream.read();
  close();
  assertEquals((await last).done, true);
});

test("readable.cancel() leaves a frame alone that was read, and not yet disposed", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  await (await GIVING_UP["releaseLock()"](reader.readable))();
  await publish(ring, 7);
  await until(() => reader.sequence === 1, "the frame");
  const stream = reader.readable.getReader();
  const { value } = await stream.read();
  await stream.cancel();
  assertEquals(valueOf(value!), 7);
  value![Symbol.dispose]();
  close();
});

test("next() and readable.cancel() leave the ring as it is for a reason that equals nothing, NaN", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  const abort = new AbortController();
  const asked = reader.next({ signal: abort.signal });
  abort.abort(NaN);
  assert(Number.isNaN(await asked.catch((error) => error)));
  const stream = reader.readable.getReader();
  const read = stream.read();
  await stream.cancel(NaN);
  assertEquals((await read).done, true);
  await publish(ring, 3);
  using frame = (await reader.next())!;
  assertEquals(valueOf(frame), 3);
  close();
});

test("tensors go round as well", async (path) => {
  const frames = [1, 2].map(() => host.allocate({ shape: [100], dtype: "f32", sharable: true }));
  await using ring = FrameRing.create(path, { frames });
  await using reader = await FrameRing.open<typeof frames[0]>(path, { contexts: [host] });
  await until(() => ring.readers === 1, "a reader");
  const tensor = await ring.next();
  tensor.view().fill(0.5);
  await ring.publish(tensor);
  using shown = (await reader.next())!;
  assertEquals(shown.view()[99], 0.5);
});

test("what is wrong is refused", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  const frame = await ring.next();
  await ring.publish(frame);
  await assertRejects(() => ring.publish(frame), ArgumentError, "was published before");
  using other = host.allocateFrame(INFO);
  await assertRejects(() => ring.publish(other), ArgumentError, "expected one of ring.next()");
  await assertRejects(() => open(`${path}.none`), NativeCallError, "ENOENT");
  using shown = (await reader.next())!;
  assertThrows(() => shown.planes[0].view({ access: "write" }), AccessError);
  close();
  await assertRejects(() => ring.next(), DisposedError);
  await assertRejects(() => reader.next(), DisposedError);
});

test("FrameRing.create() refuses frames of another size, or without an fd, and other values", (path) => {
  const sharable = () => host.allocateFrame(INFO, { sharable: true });
  using one = sharable();
  using plain = host.allocateFrame(INFO);
  using tensor = host.allocate({ shape: [8], dtype: "u8" });
  for (const frames of [[], [one], [one, one], [one, plain], [one, tensor], [one, 1]]) {
    assertThrows(() => FrameRing.create(path, { frames: frames as HostFrame[] }), ArgumentError);
  }
  return Promise.resolve();
});

test("a wait ends with its signal, and only the wait", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  const signal = () => AbortSignal.timeout(5);
  assertEquals((await assertRejects(() => reader.next({ signal: signal() }), DOMException)).name, "TimeoutError");
  await publish(ring, 1);
  await publish(ring, 2);
  assertEquals((await assertRejects(() => ring.next({ signal: signal() }), DOMException)).name, "TimeoutError");
  assertEquals((await assertRejects(() => ring.flush({ signal: signal() }), DOMException)).name, "TimeoutError");
  using shown = (await reader.next())!;
  assertEquals(valueOf(shown), 1);
  close();
});

test("a wait ends when its ring is disposed", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  await publish(ring, 1);
  await publish(ring, 2);
  const waits = [assertRejects(() => ring.next(), DisposedError), ring.flush()];
  ring[Symbol.dispose]();
  await Promise.all(waits);
  for (let i = 0; i < 2; i++) (await reader.next())![Symbol.dispose]();
  assertEquals(await reader.next(), undefined);
  close();
});

for (const whenFull of ["wait", "drop-oldest"] as const) {
  test(`end() lets readers have what is published, and keep it: ${whenFull}`, async (path) => {
    const ring = create(path, 4, whenFull);
    await using reader = await open(path);
    await ring.joined();
    for (let value = 1; value <= 3; value++) await publish(ring, value);
    const ended = ring.end();
    const kept: HostFrame[] = [];
    for (let frame; (frame = await reader.next()) !== undefined;) kept.push(frame); // none is released before the end
    await ended;
    assertEquals(kept.map(valueOf), [1, 2, 3]);
    for (const frame of kept) frame[Symbol.dispose]();
    assertEquals(await reader.next(), undefined);
  });
}

test("end() waits for a publish that is under way, and its signal ends only the wait", async (path) => {
  const ring = create(path, 3, "drop-oldest");
  await using reader = await open(path);
  await ring.joined();
  await publish(ring, 1);
  await publish(ring, 2); // the reader hears of it once it has released the first
  const error = await assertRejects(() => ring.end({ signal: AbortSignal.timeout(5) }), DOMException);
  assertEquals(error.name, "TimeoutError");
  const third = ring.publish(await ring.next());
  const ended = ring.end();
  const seen: number[] = [];
  for await (const frame of reader) seen.push(valueOf(frame));
  await Promise.all([third, ended]);
  assertEquals(seen, [1, 2, 0]);
  await assertRejects(() => ring.next(), DisposedError);
  await ring.end();
});

test("a hundred readers come and go while the writer writes", async (path) => {
  await using ring = create(path, 4);
  let over = false;
  const writing = (async () => {
    for (let i = 0; !over; i++) {
      await publish(ring, i % 256);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  })();
  for (let round = 0; round < 10; round++) {
    await Promise.all(Array.from({ length: 10 }, async (_, i) => {
      using reader = await open(path);
      let last = -1;
      for (let n = 0; n < i; n++) {
        using frame = (await reader.next())!;
        valueOf(frame);
        assert(reader.sequence > last);
        last = reader.sequence;
      }
    }));
  }
  over = true;
  await writing;
  await until(() => ring.readers === 0, "no reader");
});

test("a channel is not a ring, nor a ring a channel", async (path) => {
  const { connect, listen } = await import("../../src/channel/mod.ts");
  await using ring = create(path);
  using peer = connect(path, { contexts: [host] });
  await assertRejects(() => peer.receive(), MessageError, "kind");
  using server = listen(`${path}.channel`);
  const opening = open(`${path}.channel`);
  using other = await server.accept();
  using tensor = host.allocate({ shape: [8], dtype: "u8", sharable: true });
  await other.send(tensor);
  await assertRejects(() => opening, MessageError, "kind");
  assert(ring.readers <= 1);
});

test("a frame is published once, whatever is done with it before its turn comes", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  const [first, second] = [await ring.next(), await ring.next()];
  for (const [i, frame] of [first, second].entries()) for (const plane of frame.planes) plane.bytes().fill(i + 1);
  const published = [ring.publish(first), ring.publish(second)];
  await assertRejects(() => ring.publish(second), ArgumentError, "was published before");
  second[Symbol.dispose]();
  assertEquals(await Promise.all(published), [1, 2]);
  using one = (await reader.next())!;
  using other = (await reader.next())!;
  assertEquals([valueOf(one), valueOf(other)], [1, 2]);
  const next = ring.next();
  assertEquals(await settles(next), false, "both are being read");
  close();
  await assertRejects(() => next, DisposedError);
});

test("a frame whose memory the program itself uses is not lost", async (path) => {
  const frames = [1, 2].map(() => host.allocate({ shape: [64], dtype: "u8", sharable: true }));
  const fd = frames[0].exportFd();
  using peer = host.attach(fd, { shape: [64], dtype: "u8" });
  closeFd(fd);
  await using ring = FrameRing.create(path, { frames });
  const own = peer.borrow("read-write");
  await assertRejects(() => ring.next(), AccessError);
  own[Symbol.dispose]();
  using _one = await ring.next();
  using _other = await ring.next({ signal: AbortSignal.timeout(30_000) });
});

test("frames that share bytes are refused", (path) => {
  using whole = host.allocate({ shape: [8192], dtype: "u8", sharable: true });
  const fd = whole.exportFd();
  using first = host.attach(fd, { shape: [4096], dtype: "u8" });
  using second = host.attach(fd, { shape: [4096], dtype: "u8", byteOffset: 4095 });
  using apart = host.attach(fd, { shape: [4096], dtype: "u8", byteOffset: 4096 });
  closeFd(fd);
  assertThrows(() => FrameRing.create(path, { frames: [first, second] }), ArgumentError, "share bytes");
  FrameRing.create(path, { frames: [first, apart] })[Symbol.dispose]();
  return Promise.resolve();
});

test("a timestamp that no notice can hold is refused, and its frame can still be published", async (path) => {
  const { ring, reader, close } = await joined(path, 2);
  const frame = await ring.next();
  for (const timestamp of [2n ** 63n, -(2n ** 63n), 5 as unknown as bigint]) {
    await assertRejects(() => ring.publish(frame, { timestamp }), ArgumentError, "expected a bigint");
  }
  frame.metadata.set("timestamp", { pts: -(2n ** 63n) });
  await assertRejects(() => ring.publish(frame), ArgumentError, "expected a bigint");
  await ring.publish(frame, { timestamp: 1n - 2n ** 63n });
  using shown = (await reader.next())!;
  assertEquals(shown.metadata.get("timestamp")?.pts, 1n - 2n ** 63n);
  close();
});

test("a frame keeps its reader from being collected, though nothing else holds that", async (path) => {
  await using ring = create(path, 2);
  const [plane, weakly] = await (async () => {
    const reader = await open(path);
    await ring.joined();
    await publish(ring, 7);
    return [(await reader.next())!.planes[0], new WeakRef(reader)];
  })();
  await collect();
  await collect();
  assertEquals([plane.bytes()[0], ring.readers], [7, 1]);
  weakly.deref()![Symbol.dispose]();
});

test("a ring that ends while a reader is let in sends that no fd", async (path) => {
  const frames = [1, 2].map(() => host.allocateFrame(INFO, { sharable: true }));
  const others: Deno.FsFile[] = [];
  const allow = () => {
    ring[Symbol.dispose]();
    for (let i = 0; i < 8; i++) others.push(Deno.openSync("/dev/null"));
    return true;
  };
  const ring: RingWriter<HostFrame> = FrameRing.create(path, { frames, allow });
  await assertRejects(() => open(path), NativeCallError, "ECONNRESET");
  for (const other of others) other.close();
});

test("a writer that lies is not listened to again, and leaves nothing behind", async (path) => {
  const { listen } = await import("../../src/channel/mod.ts");
  const { connectionOf } = await import("../../src/channel/peer.ts");
  using server = listen(path);
  using tensor = host.allocate({ shape: [8], dtype: "u8", sharable: true });
  const header = encoded(KINDS.ring, 0, { frames: 1, whenFull: "wait", notices: 3 });
  {
    const opening = open(path);
    using peer = await server.accept();
    await connectionOf(peer).send(header, []);
    await peer.send(tensor, { access: "read-write" });
    await assertRejects(() => opening, MessageError, "access");
  }
  const opening = open(path);
  using peer = await server.accept();
  await connectionOf(peer).send(header, []);
  await peer.send(tensor);
  using reader = await opening;
  await connectionOf(peer).send(new Uint8Array(0), []);
  await assertRejects(() => reader.next(), MessageError, "empty");
  await assertRejects(() => reader.next(), DisposedError);
});
