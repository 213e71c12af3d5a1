// What the other side of a ring may say that is wrong.

import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { ECONNRESET } from "../../ffi/libc/errors.ts";
import { host, NativeCallError } from "../../mod.ts";
import { connect, listen, MessageError } from "../../src/channel/mod.ts";
import { encoded, KINDS } from "../../src/channel/message.ts";
import { connectionOf, type Peer } from "../../src/channel/peer.ts";
import { encodedNotice, noticeOf, NOTICES } from "../../src/channel/ring/notice.ts";
import { ReceivedFds } from "../../src/channel/packet.ts";
import { outgoing } from "../../src/channel/transfer.ts";
import { warningsOf } from "../warnings.ts";
import { withNothingLeft } from "./help.ts";
import { create, freshPath, INFO, open, publish, until, valueOf } from "./ring_help.ts";

const NO_FDS = new ReceivedFds([]);

const published = (index: number, sequence: number) =>
  encodedNotice(NOTICES.published, { index, sequence, timestamp: undefined });
const released = (index: number, sequence: number) =>
  encodedNotice(NOTICES.released, { index, sequence, timestamp: undefined });
const wanted = (index: number, sequence: number) =>
  encodedNotice(NOTICES.wanted, { index, sequence, timestamp: undefined });

/** A notice of the first frame's first turn, with a body. */
function saying(body: string, kind: number = NOTICES.published): Uint8Array {
  return encodedNotice(kind, {
    ...{ index: 0, sequence: 1, timestamp: undefined },
    facts: new TextEncoder().encode(body),
  });
}

function withByte(bytes: Uint8Array, at: number, value: number): Uint8Array {
  return bytes.with(at, value);
}

const toWriter: readonly (readonly [what: string, notice: Uint8Array])[] = [
  ["a frame that it does not have", released(1, 1)],
  ["a frame that there is not", released(99, 1)],
  ["a turn that is over", released(0, 0)],
  ["a turn that is to come", released(0, 2)],
  ["a sequence beyond 2^53", withByte(released(0, 1), 15, 255)],
  ["a notice of the writer's", published(0, 1)],
  [
    "a wish beside a frame that it does not have",
    wanted(0, 9),
  ],
  ["a notice of no kind", withByte(released(0, 1), 0, 9)],
  ["a notice that is too short", released(0, 1).slice(0, 23)],
  ["a notice that is too long", new Uint8Array(25)],
  ["a frame, and says something of it", saying("{}", NOTICES.released)],
  ["a message in place of a notice", encoded(KINDS.ring, 0, { frames: 3, whenFull: "wait", notices: 3 })],
];
for (const [what, notice] of toWriter) {
  Deno.test(`ring: a reader that releases ${what} is turned away, and the others go on`, () =>
    withNothingLeft(async () => {
      using ring = create(freshPath());
      using steady = await open(ring.path);
      using enemy = connect(ring.path);
      await until(() => ring.readers === 2, "two readers");
      await publish(ring, 5);
      const [warning] = await warningsOf(async () => {
        await connectionOf(enemy).send(notice, []);
        await publish(ring, 6);
        await publish(ring, 7);
        for (let i = 5; i < 8; i++) {
          using frame = (await steady.next())!;
          assertEquals(valueOf(frame), i);
        }
        await publish(ring, 8); // all were held by the enemy
      });
      assertEquals([/turns a reader away/.test(warning), ring.readers], [true, 1]);
    }));
}

Deno.test('ring: with "wait", a reader that asks for one more frame is turned away', () =>
  withNothingLeft(async () => {
    using ring = create(freshPath());
    using enemy = connect(ring.path);
    await until(() => ring.readers === 1, "a reader");
    await publish(ring, 5);
    const [warning] = await warningsOf(async () => {
      await connectionOf(enemy).send(wanted(0, 1), []);
      await ring.flush({ signal: AbortSignal.timeout(30_000) }); // the enemy releases nothing
    });
    assertEquals([/expected kind 2, got 3/.test(warning), ring.readers], [true, 0]);
  }));

Deno.test('ring: with "drop-oldest", a reader that asks for one more frame again and again is turned away', () =>
  withNothingLeft(async () => {
    using ring = create(freshPath(), 4, "drop-oldest");
    using enemy = connect(ring.path);
    await until(() => ring.readers === 1, "a reader");
    await publish(ring, 5);
    const [warning] = await warningsOf(async () => {
      await connectionOf(enemy).send(wanted(0, 1), []);
      await publish(ring, 6); // it is told of this one
      await connectionOf(enemy).send(wanted(0, 1), []);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assertEquals(ring.readers, 1);
      await connectionOf(enemy).send(wanted(0, 1), []);
      await until(() => ring.readers === 0, "it is turned away");
    });
    assertMatch(warning, /asks for one more frame twice, before it got one/);
  }));

Deno.test("ring: fds that come with a notice are closed", () =>
  withNothingLeft(async () => {
    using ring = create(freshPath());
    using enemy = connect(ring.path);
    await until(() => ring.readers === 1, "a reader");
    await publish(ring, 5);
    using tensor = host.allocate({ shape: [8], dtype: "u8", sharable: true });
    const { fds, release } = outgoing({ mapped: tensor, access: "read" });
    await warningsOf(async () => {
      await connectionOf(enemy).send(released(0, 1), fds);
      for (let i = 0; i < 4; i++) await publish(ring, i);
    });
    assertEquals(ring.readers, 0);
    release.forEach((step) => step());
  }));

/** What a writer says, before and after it was joined. */
type Saying = (say: (bytes: Uint8Array) => Promise<void>, peer: Peer) => Promise<void>;

/** A ring's beginning, as it should be. */
const begin = async (peer: Peer, frames = 2) => {
  await connectionOf(peer).send(encoded(KINDS.ring, 0, { frames, whenFull: "wait", notices: 3 }), []);
  for (let i = 0; i < frames; i++) {
    using frame = host.allocateFrame(INFO, { sharable: true });
    await peer.send(frame);
  }
};

const toReader: readonly (readonly [what: string, says: Saying])[] = [
  ["no frames", (say) => say(encoded(KINDS.ring, 0, { frames: 0, whenFull: "wait", notices: 3 }))],
  ["too many frames", (say) => say(encoded(KINDS.ring, 0, { frames: 1025, whenFull: "wait", notices: 3 }))],
  ["notices of no version", (say) => say(encoded(KINDS.ring, 0, { frames: 2, whenFull: "wait" }))],
  ["notices of another version", (say) => say(encoded(KINDS.ring, 0, { frames: 2, whenFull: "wait", notices: 1 }))],
  ["half a frame", (say) => say(encoded(KINDS.ring, 0, { frames: 1.5, whenFull: "wait", notices: 3 }))],
  ["no way to wait", (say) => say(encoded(KINDS.ring, 0, { frames: 2 }))],
  ["another way to wait", (say) => say(encoded(KINDS.ring, 0, { frames: 2, whenFull: "drop", notices: 3 }))],
  ["no number of frames", (say) => say(encoded(KINDS.ring, 0, { whenFull: "wait" }))],
  ["more than it should", (say) => say(encoded(KINDS.ring, 0, { frames: 2, whenFull: "wait", notices: 3, more: 1 }))],
  ["a list", (say) => say(encoded(KINDS.ring, 0, [2]))],
  ["anything but a message", (say) => say(new Uint8Array(24))],
  ["a notice at once", (say) => say(published(0, 1))],
  ["a notice between its frames", async (say) => {
    await say(encoded(KINDS.ring, 0, { frames: 2, whenFull: "wait", notices: 3 }));
    await say(published(0, 1));
  }],
  ["memory to write", async (say, peer) => {
    await say(encoded(KINDS.ring, 0, { frames: 1, whenFull: "wait", notices: 3 }));
    using frame = host.allocateFrame(INFO, { sharable: true });
    await peer.send(frame, { access: "read-write" });
  }],
];
for (const [what, says] of toReader) {
  Deno.test(`ring: a writer that begins with ${what} is refused`, () =>
    withNothingLeft(async () => {
      using server = listen(freshPath());
      const opening = open(server.path);
      opening.catch(() => {});
      using peer = await server.accept();
      await says((bytes) => connectionOf(peer).send(bytes, []), peer);
      await assertRejects(() => opening, MessageError);
    }));
}

Deno.test("ring: a writer that ends after one frame of two is known as one that has ended", () =>
  withNothingLeft(async () => {
    using server = listen(freshPath());
    const opening = open(server.path);
    opening.catch(() => {});
    {
      using peer = await server.accept();
      await connectionOf(peer).send(encoded(KINDS.ring, 0, { frames: 2, whenFull: "wait", notices: 3 }), []);
      using frame = host.allocateFrame(INFO, { sharable: true });
      await peer.send(frame);
    }
    const { code } = await assertRejects(() => opening, NativeCallError);
    assertEquals(code, ECONNRESET);
  }));

const notices: readonly (readonly [what: string, bytes: readonly Uint8Array[]])[] = [
  ["a frame that there is not", [published(2, 1)]],
  ["a frame that is being read", [published(0, 1), published(0, 2)]],
  ["an old turn", [published(0, 5), published(1, 5)]],
  ["turn 0", [published(0, 0)]],
  ["a release", [released(0, 1)]],
  ["too little", [published(0, 1).slice(0, 20)]],
  ["no JSON", [saying("{")]],
  ["JSON with white space", [saying('{ "metadata":[]}')]],
  ["a list", [saying("[]")]],
  ["what it does not know", [saying('{"more":1}')]],
  ["a prototype", [saying('{"__proto__":{"media":{}}}')]],
  ["metadata that is not a list", [saying('{"metadata":{}}')]],
  ["a detection without corners", [saying('{"metadata":[{"name":"detection","fields":{}}]}')]],
  ["a corner that is a string", [
    saying('{"metadata":[{"name":"detection","fields":{"xMin":"0","yMin":0,"xMax":1,"yMax":1}}]}'),
  ]],
  ["too many dictionaries", [saying(`{"metadata":[${Array(1025).fill('{"name":"a","fields":{}}')}]}`)]],
  ["a fact that there is not", [saying('{"media":{"more":1}}')]],
  ["a time that is not an int", [saying('{"media":{"pts":5}}')]],
  ["a time of 65 bits", [saying('{"media":{"pts":{"int":"9223372036854775808"}}}')]],
  ["a time base of one number", [saying('{"media":{"timeBase":[1]}}')]],
  ["the prototype of its facts", [saying('{"media":{"__proto__":1}}')]],
  ["64 KiB and a byte", [saying(`"${"x".repeat(64 * 1024 - 1)}"`)]],
];
for (const [what, bytes] of notices) {
  Deno.test(`ring: a writer that publishes ${what} is refused`, () =>
    withNothingLeft(async () => {
      using server = listen(freshPath());
      const opening = open(server.path);
      using peer = await server.accept();
      await begin(peer);
      using ring = await opening;
      for (const notice of bytes) await connectionOf(peer).send(notice, []);
      const held = [];
      for (let i = 1; i < bytes.length; i++) held.push(await ring.next());
      await assertRejects(() => ring.next(), MessageError);
      assertEquals(ring.resource.isLive, false);
    }));
}

Deno.test("ring: a notice with any byte changed is a notice, or a MessageError", () => {
  const detection = { name: "detection", fields: { xMin: 0, yMin: 0.5, xMax: 1, yMax: 1, label: "cat" } };
  const whole = saying(JSON.stringify({
    media: { pts: { int: "40" }, timeBase: [1, 25], keyFrame: true },
    metadata: [detection, { name: "mine", fields: { list: [[{ number: "-0" }]], bytes: { bytes: "AAEC" } } }],
  }));
  const look = noticeOf([NOTICES.published]);
  const outcomes = { taken: 0, refused: 0 };
  for (let at = 0; at < whole.length; at++) {
    for (const value of [0, 0x22, 0x2d, 0x30, 0x39, 0x5b, 0x7d, 0xff]) {
      const bytes = Uint8Array.from(withByte(whole, at, value));
      try {
        look(new DataView(bytes.buffer), bytes.length, NO_FDS);
        outcomes.taken++;
      } catch (error) {
        if (!(error instanceof MessageError)) throw error;
        outcomes.refused++;
      }
    }
    const short = Uint8Array.from(whole.subarray(0, at));
    if (at !== 24) assertThrows(() => look(new DataView(short.buffer), at, NO_FDS), MessageError);
  }
  assertEquals([outcomes.taken > 100, outcomes.refused > 1000], [true, true]);
});
