// What those read who hold a channel or a ring wrong.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  type HostTensor,
  imageInfo,
  InteropError,
} from "../../mod.ts";
import { connect, FrameRing, listen } from "../../src/channel/mod.ts";
import * as raw from "./raw.ts";
import { temporaryPath, withEnds, withNothingLeft } from "./help.ts";
import { create, freshPath, type HostFrame, INFO, open, publish } from "./ring_help.ts";

/** The message and the hint of what an action throws. */
async function told(action: () => unknown): Promise<string> {
  const error = await assertRejects(async () => void await action(), InteropError);
  return `${error.message} ${error.hint ?? ""}`;
}

Deno.test("channel: a path that is taken is refused by what is there", () =>
  withNothingLeft(async () => {
    await using at = await temporaryPath();
    const folder = at.path.slice(0, at.path.lastIndexOf("/"));
    await Deno.writeTextFile(`${folder}/notes`, "precious");
    using _server = listen(at.path);
    assertMatch(await told(() => listen(at.path)), new RegExp(`path: ${at.path} is in use: a process listens there`));
    assertMatch(await told(() => listen(folder)), new RegExp(`path: ${folder} is a folder`));
    assertMatch(
      await told(() => listen(`${folder}/notes`)),
      /notes is a file that is not a socket, and is left as it is/,
    );
    assertEquals(await Deno.readTextFile(`${folder}/notes`), "precious");
    assertMatch(await told(() => listen(`${folder}/no/where`)), /There is no folder .*\/no\/: make it first/);
    assertMatch(await told(() => connect(`${folder}/notes`)), /ECONNREFUSED.*not a socket/);
  }));

Deno.test("channel: what was received for reading says who has to allow more", () =>
  withEnds(async ({ one, other }) => {
    using frame = host.allocateFrame(INFO, { sharable: true });
    await one.send(frame);
    using received = await other.receive<Frame<HostTensor>>();
    const hint = /Its sender has to pass \{ access: "read-write" \}; a frame of a ring is always for reading/;
    assertMatch(await told(() => received!.planes[1].view({ access: "write" })), hint);
  }));

Deno.test("channel: what is received has the type that the program names", () =>
  withNothingLeft(async () => {
    using server = listen<HostTensor<"f32">>(freshPath(), { contexts: [host] });
    using client = connect(server.path);
    using peer = await server.accept();
    using sent = host.allocate({ shape: [4], dtype: "f32", sharable: true });
    await client.send(sent);
    await client.send(sent);
    using first = await peer.receive();
    assertEquals(first?.view().length, 4);
    for await (using next of peer) {
      const view: Float32Array = next.view({ access: "read" });
      assertEquals(view.length, 4);
      break;
    }
  }));

Deno.test("ring: what cannot be published is refused by what it is", () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath());
    using foreign = host.allocateFrame(INFO);
    const given = await ring.next();
    given[Symbol.dispose]();
    const frame = await ring.next();
    const { name } = frame;
    const again = ring.publish(frame);
    await assertRejects(() => ring.publish(frame), ArgumentError, `${name} was published before`);
    await again;
    await assertRejects(() => ring.publish(given), ArgumentError, "was disposed, and by that given back unread");
    await assertRejects(
      () => ring.publish(foreign),
      ArgumentError,
      "expected one of ring.next(), got host frame NV12 ",
    );
    await assertRejects(() => ring.publish(undefined as never), ArgumentError, "expected a frame, got undefined");
    const promise = ring.next();
    assertMatch(await told(() => ring.publish(promise as never)), /got a promise.*publish\(await ring\.next\(\)\)/);
    const used = `plane 0 of ${name} was published with ${name}. Use it before that, or a new one.`;
    assertThrows(() => frame.planes[0].bytes(), DisposedError, used);
    const last = await promise;
    ring[Symbol.dispose]();
    await assertRejects(() => ring.publish(last), DisposedError, "ring at");
  }));

Deno.test("ring: frames that it cannot take are refused by their number, and by what differs", () =>
  withNothingLeft(async () => {
    const sharable = (info = INFO) => host.allocateFrame(info, { sharable: true });
    using one = sharable();
    using two = sharable();
    using wide = sharable(imageInfo({ format: "NV12", width: 128, height: 16 }));
    using plain = host.allocateFrame(INFO);
    using other = host.allocateFrame(INFO);
    const refused = (frames: HostFrame[]) => told(() => FrameRing.create(freshPath(), { frames }));
    assertMatch(await refused([one, two, wide]), /frames\[2\]: expected the width 64 of the first, got 128/);
    assertMatch(await refused([one, two, one]), /frames\[2\]: it is frames\[0\] again/);
    assertMatch(await refused([plain, other]), /^frames\[0\]: .*host\.allocateFrame\(info, \{ sharable: true \}\)/);
  }));

Deno.test("ring: a channel refuses a ring, and a ring a channel", () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath());
    using peer = connect(ring.path, { contexts: [host] });
    assertMatch(await told(() => peer.receive()), /this is a ring, not a channel: use FrameRing\.open\(\)/);
    using server = listen(freshPath());
    const opening = open(server.path);
    using other = await server.accept();
    using tensor = host.allocate({ shape: [8], dtype: "u8", sharable: true });
    await other.send(tensor);
    assertMatch(await told(() => opening), /this is a channel, not a ring: use connect\(\)/);
  }));

Deno.test("ring: a reader's frame has the ring's name, and is never for writing", () =>
  withNothingLeft(async () => {
    await using ring = create(freshPath());
    await using reader = await open(ring.path);
    await ring.joined();
    await publish(ring, 1);
    using frame = (await reader.next())!;
    assertEquals(frame.name, `frame 0 of ring at ${ring.path}`);
    const error = assertThrows(() => frame.planes[0].view({ access: "write" }), AccessError, frame.name);
    assert(error.hint?.includes("a frame of a ring is always for reading"));
  }));

Deno.test('channel: send() refuses a sealed memfd for "read-write", and sends nothing', () =>
  withEnds(async ({ one, other }) => {
    using made = new DisposableStack();
    const tensor = made.use(host.allocate({ shape: [64], dtype: "u8", sharable: true }));
    raw.seal(made.adopt(tensor.exportFd(), raw.close), raw.SEALS.futureWrite);
    const error = await assertRejects(() => one.send(tensor, { access: "read-write" }), ArgumentError);
    assertMatch(error.message, /frame: .* the memory allows "read", and not "read-write": .* its memfd is sealed/);
    assertEquals(error.argument, "frame");
    await one.send(tensor);
    using got = await other.receive();
    assertEquals(got?.access, "read");
  }));

Deno.test('channel: send() refuses a frame of a ring for "read-write", and sends it for "read"', () =>
  withEnds(async ({ one, other }) => {
    await using ring = create(freshPath());
    using frame = await ring.next();
    const error = await assertRejects(() => one.send(frame, { access: "read-write" }), ArgumentError);
    assertMatch(error.message, /the memory allows "read", and not "read-write"/);
    await one.send(frame);
    using got = await other.receive();
    assertEquals(got?.access, "read");
  }));
