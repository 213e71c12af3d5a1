// However fast the other side sends, the event loop turns: else no timer would ever run.

import { assert, assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor } from "../../mod.ts";
import { connect, FrameRing, listen } from "../../src/channel/mod.ts";
import { encoded, KINDS } from "../../src/channel/message.ts";
import { connectionOf } from "../../src/channel/peer.ts";
import { encodedNotice, NOTICES } from "../../src/channel/ring/notice.ts";
import { warningsOf } from "../warnings.ts";
import { withEnds, withNothingLeft } from "./help.ts";
import { create, freshPath, INFO, publish } from "./ring_help.ts";

/** How much there is before the first call. It fits into a socket, and into the list of who wants to connect. */
const MANY = 120;

/** The turns of the event loop that an action takes. */
async function turnsOf(action: () => Promise<void>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await action();
  isOver = true;
  return turns;
}

Deno.test("peer.receive() lets the event loop turn while messages are there", () =>
  withEnds(async ({ one, other }) => {
    using tensor = host.allocate({ shape: [8], dtype: "u8", sharable: true });
    for (let i = 0; i < MANY; i++) await one.send(tensor);
    const turns = await turnsOf(async () => {
      for (let i = 0; i < MANY; i++) (await other.receive())![Symbol.dispose]();
    });
    assert(turns > 0, `${MANY} messages in one turn`);
  }));

for (const isAllowed of [true, false]) {
  Deno.test(`server.accept() lets the event loop turn while processes connect that are ${isAllowed ? "" : "not "}allowed`, () =>
    withNothingLeft(async () => {
      let asked = 0;
      using server = listen(freshPath(), { allow: () => ++asked >= MANY || isAllowed });
      using clients = new DisposableStack();
      for (let i = 0; i < MANY; i++) clients.use(connect(server.path, { allow: () => true }));
      const accept = async () => {
        while (asked < MANY) (await server.accept())[Symbol.dispose]();
      };
      let turns = 0;
      const warnings = await warningsOf(async () => void (turns = await turnsOf(accept)));
      assert(turns > 0, `${MANY} processes in one turn`);
      assertEquals(warnings.length, isAllowed ? 0 : MANY - 1);
    }));
}

Deno.test("ring.next() lets the event loop turn while frames are free", () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath());
    const turns = await turnsOf(async () => {
      for (let i = 0; i < MANY; i++) await publish(ring, 1);
    });
    assert(turns > 0, `${MANY} frames in one turn`);
  }));

Deno.test("reader.next() lets the event loop turn while frames are there", () =>
  withNothingLeft(async () => {
    using server = listen(freshPath());
    const opening = FrameRing.open<Frame<HostTensor>>(server.path, { contexts: [host] });
    using peer = await server.accept();
    const connection = connectionOf(peer);
    await connection.send(encoded(KINDS.ring, 0, { frames: 2, whenFull: "wait", notices: 3 }), []);
    for (let i = 0; i < 2; i++) {
      using frame = host.allocateFrame(INFO, { sharable: true });
      await peer.send(frame);
    }
    using ring = await opening;
    for (let i = 0; i < MANY; i++) {
      await connection.send(
        encodedNotice(NOTICES.published, { index: i % 2, sequence: i + 1, timestamp: undefined }),
        [],
      );
    }
    const turns = await turnsOf(async () => {
      for (let i = 0; i < MANY; i++) (await ring.next())![Symbol.dispose]();
    });
    assert(turns > 0, `${MANY} frames in one turn`);
  }));
