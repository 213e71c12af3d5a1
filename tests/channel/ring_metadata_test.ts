// What is known of a ring's frames besides their bytes: metadata and times, of each turn alone.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { ArgumentError, type Frame, host } from "../../mod.ts";
import { connect, FrameRing, type RingWriter } from "../../src/channel/mod.ts";
import { connectionOf } from "../../src/channel/peer.ts";
import { withNothingLeft } from "./help.ts";
import { create, freshPath, type HostFrame, INFO, open, until } from "./ring_help.ts";

const test = (name: string, run: () => Promise<void>) => Deno.test(`ring: ${name}`, () => withNothingLeft(run));

const entriesOf = ({ metadata }: Frame) => [...metadata.entries()];

/** Publishes a frame of such a turn; returns what it was. */
async function detected(ring: RingWriter<HostFrame>, turn: number) {
  const frame = await ring.next({ media: { pts: BigInt(turn), timeBase: [1, 25], keyFrame: turn === 1 } });
  const { metadata } = frame;
  for (let id = 0; id < turn; id++) {
    metadata.add("detection", { xMin: id / 8, yMin: 0.25, xMax: (id + 1) / 8, yMax: 0.5, id, label: `turn ${turn}` });
    metadata.add("classification", { objectId: id, label: "cat", confidence: 0.1 + id });
    metadata.add("inferenceResult", { objectId: id, data: Uint8Array.of(turn, id), dims: [-0, 2] });
  }
  metadata.set("timestamp", { pts: BigInt(turn) * 40n, dts: 7n, duration: 40n });
  metadata.set("source", { stream: "front door", sequence: 100 + turn });
  metadata.add("mine", { list: [["a"], [true, 5n]] });
  const was = { entries: entriesOf(frame), regions: frame.regions, media: frame.info.media };
  await ring.publish(frame);
  return was;
}

test("next() gives the metadata, the regions and the times of the frame that was published", async () => {
  await using ring = create(freshPath());
  using left = await open(ring.path);
  using right = await open(ring.path);
  await until(() => ring.readers === 2, "two readers");
  for (let turn = 1; turn <= 7; turn++) {
    const was = await detected(ring, turn);
    assertEquals([was.regions.length, was.media?.pts], [turn, BigInt(turn)]);
    for (const reader of [left, right]) {
      using shown = (await reader.next())!;
      assertEquals({ entries: entriesOf(shown), regions: shown.regions, media: shown.info.media }, was);
      assertEquals([reader.sequence, shown.info.format], [turn, "NV12"]);
      shown.metadata.add("detection", { xMin: 0, yMin: 0, xMax: 1, yMax: 1 }); // of this reader alone
    }
  }
});

test("frames that are held at a time have metadata of their own", async () => {
  await using ring = create(freshPath());
  using reader = await open(ring.path);
  await ring.joined();
  const was = [await detected(ring, 1), await detected(ring, 2), await detected(ring, 3)];
  using first = (await reader.next())!;
  using second = (await reader.next())!;
  using third = (await reader.next())!;
  assertEquals([first, second, third].map(entriesOf), was.map(({ entries }) => entries));
  assertEquals([first, second, third].map(({ info }) => info.media?.pts), [1n, 2n, 3n]);
});

test("a turn without metadata and times has none of those before it", async () => {
  const frames = [1, 2].map((pts) => host.allocateFrame({ ...INFO, media: { pts: BigInt(pts) } }, { sharable: true }));
  frames[0].metadata.set("source", { stream: "of none of its turns" });
  await using ring = FrameRing.create(freshPath(), { frames });
  using reader = await open(ring.path);
  await ring.joined();
  for (let turn = 1; turn <= 6; turn++) {
    if (turn % 2 === 1) await detected(ring, turn);
    else {
      const frame = await ring.next();
      assertEquals([entriesOf(frame), frame.info.media], [[], undefined]);
      await ring.publish(frame, { timestamp: 5n });
    }
    using shown = (await reader.next())!;
    if (turn % 2 === 1) continue;
    const expected = [["source", { sequence: turn }], ["timestamp", { pts: 5n }]];
    assertEquals([entriesOf(shown), shown.info.media], [expected, undefined]);
  }
});

test("publish() takes the metadata that a frame has at that time", async () => {
  await using ring = create(freshPath());
  using reader = await open(ring.path);
  await ring.joined();
  const frame = await ring.next();
  const { metadata } = frame;
  metadata.add("objectId", { id: 5 });
  const publishing = ring.publish(frame, { timestamp: 9n });
  metadata.add("objectId", { id: 6 });
  await publishing;
  using shown = (await reader.next())!;
  assertEquals(shown.metadata.all("objectId"), [{ id: 5 }]);
  assertEquals(shown.metadata.get("timestamp"), { pts: 9n });
});

test("publish() refuses metadata that is longer than 64 KiB, and the frame can still be published", async () => {
  await using ring = create(freshPath(), 2);
  using reader = await open(ring.path);
  await ring.joined();
  const frame = await ring.next();
  const most = 64 * 1024 - '{"metadata":[{"name":"mine","fields":{"text":""}}]}'.length;
  frame.metadata.set("mine", { text: "x".repeat(most + 1) });
  const error = await assertRejects(() => ring.publish(frame), ArgumentError, "expected at most 65536 bytes");
  assert(error.message.startsWith("frame: no notice can describe "), error.message);
  frame.metadata.set("mine", { text: "x".repeat(most) });
  assertEquals(await ring.publish(frame), 1);
  using shown = (await reader.next())!;
  assertEquals(shown.metadata.get("mine"), { text: "x".repeat(most) });
});

test("a frame with a timestamp alone costs a notice of 24 bytes", async () => {
  await using ring = create(freshPath());
  using peer = connect(ring.path);
  const lengths: number[] = [];
  for (let i = 0; i < 4; i++) {
    const { fds } = (await connectionOf(peer).receive())!;
    fds[Symbol.dispose]();
  }
  await ring.joined();
  for (const fields of [undefined, { pts: 5n }, { pts: 5n, dts: 4n }]) {
    const frame = await ring.next();
    if (fields !== undefined) frame.metadata.set("timestamp", fields);
    await ring.publish(frame);
    lengths.push((await connectionOf(peer).receive())!.bytes.length);
  }
  const body = '{"metadata":[{"name":"timestamp","fields":{"pts":{"int":"5"},"dts":{"int":"4"}}}]}';
  assertEquals(lengths, [24, 24, 24 + body.length]);
});

test("next() refuses wrong media, and any for a ring of tensors", async () => {
  await using ring = create(freshPath(), 2);
  await assertRejects(() => ring.next({ media: { pts: 5 as unknown as bigint } }), ArgumentError, "media.pts");
  await assertRejects(() => ring.next({ media: { more: 5 } as object }), ArgumentError, "more");
  const frames = [1, 2].map(() => host.allocate({ shape: [8], dtype: "u8", sharable: true }));
  await using tensors = FrameRing.create(freshPath(), { frames });
  await assertRejects(() => tensors.next({ media: {} }), ArgumentError, "a ring of tensors has none");
  for (const one of [ring, tensors]) for (let i = 0; i < 2; i++) (await one.next())[Symbol.dispose]();
});
