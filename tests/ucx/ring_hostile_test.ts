// What the other side of a ring over UCX may say that is wrong: on the socket, and in notices.

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { NULL } from "../../ffi/address.ts";
import type { UCP } from "../../ffi/ucx/functions.ts";
import { host, NativeCallError } from "../../mod.ts";
import { MessageError } from "../../src/channel/mod.ts";
import { NO_FDS } from "../../src/channel/packet.ts";
import { encodedFacts } from "../../src/channel/ring/facts.ts";
import { encodedNotice, isEnd, noticeOf, NOTICES } from "../../src/channel/ring/notice.ts";
import { opened } from "../../src/ucx/context.ts";
import type { Conn } from "../../src/ucx/mod.ts";
import { assertKnown, helloIn, secretOf } from "../../src/ucx/ring/handshake.ts";
import { PLAIN } from "../../src/ucx/endpoint.ts";
import { ucp } from "../../src/ucx/library.ts";
import { UcxLink } from "../../src/ucx/ring/link.ts";
import { described, roomFor } from "../../src/ucx/ring/memory.ts";
import { Stream } from "../../src/ucx/ring/stream.ts";
import { undoAll } from "../../src/core/life/undo.ts";
import { warningsOf } from "../warnings.ts";
import { ucxTest } from "./help.ts";
import { create, freshPath, INFO, LARGE, open, openRings, publish, SECRET, unix, until, valueOf } from "./ring_help.ts";

/** All 20,000 take some ten seconds: SAMEPAGE_MESSAGES=20000. */
const COUNT = Number(Deno.env.get("SAMEPAGE_MESSAGES") ?? 400);

let state = 4_711;
const random = (most: number) => (state = Math.imul(state, 1_103_515_245) + 12_345 >>> 0) / 2 ** 32 * most | 0;

/** Some bytes changed, cut off, put in or doubled. */
function mutated(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  let copy = new Uint8Array(bytes);
  for (let i = 0; i <= random(3); i++) {
    const at = random(copy.length);
    const kind = random(8);
    if (kind === 0) copy = copy.slice(0, at);
    else if (kind === 1) copy = new Uint8Array([...copy.subarray(0, at), random(256), ...copy.subarray(at)]);
    else if (kind === 2) copy = new Uint8Array([...copy.subarray(0, at), ...copy.subarray(random(at + 1))]);
    else copy[at] = random(3) === 0 ? 48 + random(10) : random(256);
    if (copy.length === 0) return copy;
  }
  return copy;
}

/** Runs a reader of messages over mutated ones. Returns how many were refused. */
function refused(read: (bytes: Uint8Array<ArrayBuffer>) => void, bytes: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < COUNT; i++) {
    try {
      read(mutated(bytes));
    } catch (error) {
      if (!(error instanceof MessageError)) throw error;
      count++;
    }
  }
  return count;
}

Deno.test(`helloIn() refuses ${COUNT} mutated messages, or reads what is whole`, () => {
  const worker = new Uint8Array(50).fill(1).toBase64();
  const hello = new TextEncoder().encode(
    JSON.stringify({ worker, apart: false, timeout: 100, sends: "77", takes: "78", frames: "79", notices: 3 }),
  );
  assertEquals(helloIn(hello).tags, { sends: 77n, takes: 78n, frames: 79n });
  const count = refused((bytes) => {
    const { worker, isApart, tags: { sends, takes } } = helloIn(bytes);
    assert(worker.length > 0 && sends !== takes && worker[0] % 16 < 2 && typeof isApart === "boolean");
  }, hello);
  assert(count > COUNT / 2, `${count}`);
});

ucxTest(`roomFor() refuses ${COUNT} mutated descriptions of frames, or makes what they say`, () => {
  const context = opened({ TLS: "tcp", NET_DEVICES: "lo" });
  using _ = { [Symbol.dispose]: () => ucp().ucp_cleanup(context.handle) };
  using frame = host.allocateFrame(INFO, { rowAlign: 64 });
  const count = refused((bytes) => {
    const undo: (() => void)[] = [];
    try {
      const { frame, place: { byteLength } } = roomFor(context, bytes, { gpu: undefined, targets: [host] }, undo);
      using _ = frame;
      assert(byteLength >= 64 * 16, `${byteLength}`);
    } catch (error) {
      if (!(error instanceof NativeCallError)) throw error; // more memory than there is
    } finally {
      undoAll(undo, "a test");
    }
  }, described(frame, "frame"));
  assert(count > COUNT / 2, `${count}`);
});

Deno.test(`noticeOf() refuses ${COUNT} mutated notices, or reads what is whole`, () => {
  using frame = host.allocateFrame({ ...INFO, media: { duration: 40n } });
  frame.metadata.add("detections", { boxes: [1, 2, 3, 4], name: "cat" });
  const facts = encodedFacts(frame);
  const whole = encodedNotice(NOTICES.published, { index: 1, sequence: 2 ** 40 + 3, timestamp: 5n, facts });
  const read = noticeOf([NOTICES.published]);
  const count = refused((bytes) => {
    const { kind, index, sequence } = read(new DataView(bytes.buffer), bytes.length, NO_FDS);
    assert(kind === NOTICES.published && index < 2 ** 32 && Number.isSafeInteger(sequence), `${sequence}`);
  }, whole);
  assert(count > COUNT / 4, `${count}`);
});

/** A connection on which something between changes what is read or written, one message in a few. */
function between(conn: Conn, way: "read" | "write"): Conn {
  return {
    close: () => conn.close(),
    async write(bytes) {
      if (way === "read" || random(2) === 0) return await conn.write(bytes);
      const changed = mutated(bytes);
      for (let at = 0; at < changed.length;) at += await conn.write(changed.subarray(at));
      return bytes.length;
    },
    async read(into) {
      const count = await conn.read(into);
      if (count === null || way === "write" || random(2) === 0) return count;
      const changed = mutated(into.subarray(0, count)).subarray(0, into.length);
      into.set(changed);
      return Math.max(changed.length, 1);
    },
  };
}

/** So many handshakes, each of its own: a quarter of a second for the slowest, which wait for more bytes. */
const HANDSHAKES = Math.min(COUNT, 2_000) / 10;

for (const way of ["read", "write"] as const) {
  ucxTest(`ring: ${HANDSHAKES} handshakes of which the reader's ${way}s are changed`, async () => {
    const { ucx, rings: plain } = openRings(["tcp"], { timeout: 300 });
    await using _ = ucx;
    const path = freshPath();
    const meeting = async (conn: Promise<Conn>) => between(await conn, way);
    await using ring = create(plain, path, 2);
    const hostile = ucx.rings({ connect: (address) => meeting(unix().connect(address)), timeout: 300 });
    const warnings = await warningsOf(async () => {
      for (let i = 0; i < HANDSHAKES; i++) {
        try {
          await using reader = await open(hostile, path);
          assertEquals(reader.sequence, 0);
        } catch (error) {
          // A key or an address that was changed may still be one to UCX; it is of no use.
          if (error instanceof MessageError || error instanceof NativeCallError) continue;
          throw error;
        }
      }
      await until(() => ring.readers === 0, "no reader");
    });
    for (const warning of warnings) assertMatch(warning, /turns a reader away/);
    await using good = await open(plain, path);
    await ring.joined();
    await publish(ring, 8);
    using frame = (await good.next())!;
    assertEquals(valueOf(frame), 8);
  });
}
/** Two ends of a connection within this process. */
function pair(): readonly [Conn, Conn] {
  const [there, back] = [new TransformStream<Uint8Array>(), new TransformStream<Uint8Array>()];
  const end = (from: ReadableStream<Uint8Array>, to: WritableStream<Uint8Array>): Conn => {
    const [reader, writer] = [from.getReader(), to.getWriter()];
    return {
      async read(into) {
        const { value } = await reader.read();
        if (value === undefined) return null;
        into.set(value);
        return value.length;
      },
      write: (bytes) => {
        writer.write(bytes.slice()).catch(() => {});
        return Promise.resolve(bytes.length);
      },
      close: () => {
        writer.close().catch(() => {});
        reader.cancel().catch(() => {});
      },
    };
  };
  return [end(there.readable, back.writable), end(back.readable, there.writable)];
}

Deno.test(`assertKnown() refuses ${COUNT} changed proofs`, async () => {
  const secret = secretOf(new TextEncoder().encode(SECRET));
  let refused = 0;
  for (let i = 0; i < COUNT; i++) {
    const [near, far] = pair();
    const [meant, sent]: number[][] = [[], []];
    const write = async (bytes: Uint8Array) => {
      const changed = random(2) === 0 ? bytes : mutated(bytes);
      meant.push(...bytes);
      sent.push(...changed);
      await near.write(changed);
      return bytes.length;
    };
    const [reader, writer] = [new Stream({ ...near, write }), new Stream(far)];
    const late = setTimeout(() => [reader, writer].forEach((stream) => stream.close()), 20); // it waits for more bytes
    const outcome = await Promise.allSettled([
      assertKnown(reader, secret, "reader").finally(() => reader.close()),
      assertKnown(writer, secret, "writer").finally(() => writer.close()),
    ]);
    clearTimeout(late);
    const failed = outcome.filter((one) => one.status === "rejected");
    for (const { reason } of failed) if (!(reason instanceof MessageError || isEnd(reason))) throw reason;
    if (outcome[1].status === "fulfilled") assertEquals(sent.slice(0, meant.length), meant);
    if (failed.length > 0) refused++;
  }
  assert(refused > COUNT / 2, `${refused}`);
});

Deno.test("assertKnown() refuses a proof that is sent back to who made it", async () => {
  const secret = secretOf(new TextEncoder().encode(SECRET));
  const [near, far] = pair();
  const mirror = (async () => {
    const bytes = new Uint8Array(65_536);
    for (let count; (count = await far.read(bytes)) !== null;) await far.write(bytes.subarray(0, count));
  })();
  const stream = new Stream(near);
  await assertRejects(() => assertKnown(stream, secret, "reader"), MessageError, "does not know the secret");
  stream.close();
  await mirror;
});

const notice = (kind: number, index: number, sequence: number) =>
  encodedNotice(kind, { index, sequence, timestamp: undefined });

/** Has all links of this process send something else, for as long as `use` runs. */
async function sending(
  change: (bytes: Uint8Array) => Uint8Array | undefined,
  use: () => Promise<void>,
): Promise<void> {
  const { sendNow } = UcxLink.prototype;
  UcxLink.prototype.sendNow = function (bytes, published) {
    return sendNow.call(this, change(bytes) ?? bytes, published);
  };
  try {
    await use();
  } finally {
    UcxLink.prototype.sendNow = sendNow;
  }
}

for (
  const [what, bytes] of [
    ["a frame that it does not have", notice(NOTICES.released, 1, 1)],
    ["a frame that there is not", notice(NOTICES.released, 99, 1)],
    ["another turn", notice(NOTICES.released, 0, 2)],
    ["a frame twice in one message", [...notice(NOTICES.released, 0, 1), ...notice(NOTICES.released, 0, 1)]],
    ["a frame and a half", [...notice(NOTICES.released, 0, 1), ...notice(NOTICES.released, 1, 2).slice(12)]],
    ["another kind", notice(9, 0, 1)],
    ["a frame that is published", notice(NOTICES.published, 0, 1)],
    ["too few bytes", new Uint8Array(5)],
    ["no bytes", new Uint8Array()],
    ["too many bytes", new Uint8Array(100_000)],
  ] as const
) {
  ucxTest(`ring: a reader that releases ${what} is turned away, and its frames are back`, async () => {
    const { ucx, rings } = openRings(["tcp"]);
    await using _ = ucx;
    const path = freshPath();
    await using ring = create(rings, path, 2);
    const warnings = await warningsOf(async () => {
      await using reader = await open(rings, path);
      await ring.joined();
      await publish(ring, 1);
      await sending(() => Uint8Array.from(bytes), async () => (await reader.next())![Symbol.dispose]());
      for (let i = 2; i <= 4; i++) await publish(ring, i);
      await until(() => ring.readers === 0, "no reader");
    });
    assertMatch(warnings.join(), /turns a reader away/);
  });

  if (what === "a frame that is published") continue;
  ucxTest(`ring: a writer that says ${what} is an error, and the end`, async () => {
    const { ucx, rings } = openRings(["tcp"]);
    await using _ = ucx;
    const path = freshPath();
    await using ring = create(rings, path, 2);
    await using reader = await open(rings, path);
    await ring.joined();
    await sending(() => Uint8Array.from(bytes), async () => void await publish(ring, 1));
    await assertRejects(() => reader.next(), MessageError);
    assertEquals(reader.resource.isLive, false);
    await until(() => ring.readers === 0, "no reader");
  });
}

/** Sends each frame that is a message of its own with so many bytes more or fewer, or does not send it. */
async function resized(change: bigint | undefined, use: () => Promise<void>): Promise<void> {
  const calls = ucp() as { ucp_tag_send_nbx: UCP["ucp_tag_send_nbx"] };
  const { ucp_tag_send_nbx } = calls;
  calls.ucp_tag_send_nbx = (endpoint, at, count, tag, param) => {
    if (count < 100_000n) return ucp_tag_send_nbx(endpoint, at, count, tag, param);
    return change === undefined ? NULL : ucp_tag_send_nbx(endpoint, at, count + change, tag, PLAIN);
  };
  try {
    await use();
  } finally {
    calls.ucp_tag_send_nbx = ucp_tag_send_nbx;
  }
}

for (
  const [what, change, error] of [
    ["too short", -1n, MessageError],
    ["too long", 1n, MessageError],
    ["announced, and never comes", undefined, NativeCallError],
  ] as const
) {
  ucxTest(`ring: a frame that is ${what} is an error, and the end`, async () => {
    // A busy machine may stop this process for as long as three quarters of that: then the writer may be the first to give up.
    const { ucx, rings } = openRings(["tcp"], { timeout: 2_000 });
    await using _ = ucx;
    const path = freshPath();
    await using ring = create(rings, path, 2, "wait", LARGE);
    await using reader = await open(rings, path);
    await ring.joined();
    await resized(change, async () => {
      await publish(ring, 1);
      await assertRejects(() => reader.next(), error);
    });
    assertEquals(reader.resource.isLive, false);
    await until(() => ring.readers === 0, "no reader");
  });
}

ucxTest("ring: a notice of a small frame without the frame is an error, and the end", async () => {
  const { ucx, rings } = openRings(["tcp"]);
  await using _ = ucx;
  const path = freshPath();
  await using ring = create(rings, path, 2);
  await using reader = await open(rings, path);
  await ring.joined();
  const { sendNow } = UcxLink.prototype;
  UcxLink.prototype.sendNow = function (bytes) {
    return sendNow.call(this, bytes);
  };
  try {
    await publish(ring, 1);
  } finally {
    UcxLink.prototype.sendNow = sendNow;
  }
  await assertRejects(() => reader.next(), MessageError, "there is no frame in its 24 bytes");
  await until(() => ring.readers === 0, "no reader");
});
