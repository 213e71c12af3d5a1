// Memory by an opaque fd, which says nothing of itself: the message has to, and the receiver believes only what it can.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { ArgumentError } from "@samepage/interop";
import { connect, listen, MessageError, type Peer } from "@samepage/interop/channel";
import { allocateTensor } from "../../src/core/tensors/over.ts";
import { encoded, KINDS } from "../../src/channel/message.ts";
import { until } from "../conformance/bytes.ts";
import { Device, Made } from "./device.ts";
import { temporaryPath, withEnds, withNothingLeft } from "./help.ts";
import * as raw from "./raw.ts";

const uuid = "fa".repeat(16);
const PAGE = 4096;

/** A part of some memory, in an fd as long as the memory. */
interface Sent {
  readonly offset?: number;
  readonly byteLength: number;
  /** The length of all, as it is said; and as the file has it. */
  readonly whole?: number;
  readonly file?: number;
  /** Another fd in its place. */
  readonly fd?: number;
  readonly identity?: string;
}

/** What another program says of parts of its memory: a tensor, or the planes of NV12. */
async function say(peer: Peer, socket: number, sent: readonly Sent[]): Promise<Made> {
  const objects = sent.map(({ offset = 0, byteLength, whole = offset + byteLength, identity = "7" }) => (
    { offset, byteLength, memory: { byteLength: whole, dedicated: false, identity } }
  ));
  const plane = (shape: number[], strides: number[]) => ({ dtype: "u8", shape, strides, byteOffset: 0 });
  const planes = sent.length === 1
    ? [plane([sent[0].byteLength], [1])]
    : [plane([64, 64], [64, 1]), plane([32, 32, 2], [64, 2, 1])];
  const image = { fourcc: 0x3231564e, width: 64, height: 64, modifier: "0" };
  const body = {
    ...{ memory: "opaque-fd", device: uuid, access: "read", sync: "done", objects, planes },
    ...(sent.length === 1 ? {} : { image }),
  };
  const fds = sent.map(({ file, fd }, i) => fd ?? raw.memfd(file ?? objects[i].memory.byteLength));
  raw.sendRaw(socket, encoded(KINDS.memory, fds.length, body), fds);
  for (const fd of fds) raw.close(fd);
  return (await peer.receive()) as unknown as Made;
}

/** Runs `use` with a device's end of a connection, and the socket of another program. */
async function withProgram(
  devices: Device | readonly Device[],
  use: (peer: Peer, socket: number) => Promise<void>,
): Promise<void> {
  await withNothingLeft(async () => {
    await using at = await temporaryPath();
    using server = listen(at.path, { contexts: [devices].flat() });
    using ending = new DisposableStack();
    const socket = ending.adopt(raw.connectRaw(at.path), raw.close);
    using peer = await server.accept();
    await use(peer, socket);
  });
}

Deno.test("opaque fds: a part lies in its memory where its sender says, whether that is known or not", () =>
  withProgram(new Device({ uuid }), async (peer, socket) => {
    using first = await say(peer, socket, [{ offset: 128, byteLength: 64, whole: PAGE }]);
    using second = await say(peer, socket, [{ offset: 160, byteLength: 512, whole: PAGE }]);
    using other = await say(peer, socket, [{ offset: 128, byteLength: 64, whole: PAGE, identity: "8" }]);
    assertEquals(first.grant.allocation.block.byteLength, PAGE);
    assertEquals([first.grant.start, first.grant.end], [128, 192]);
    assertEquals([second.grant.start, second.grant.end], [160, 672]);
    assertEquals(second.grant.allocation === first.grant.allocation, true);
    assertEquals(other.grant.allocation === first.grant.allocation, false);
  }));

Deno.test("opaque fds: the importer gets what the exporter says of the memory", async () => {
  for (const dedicated of [false, true]) {
    const device = new Device({ uuid }, "opaque-fd", dedicated);
    await withEnds(async ({ one, other }) => {
      using tensor = allocateTensor(device, { shape: [256], dtype: "u8" });
      const part = tensor.slice({ shape: [64], dtype: "u8", byteOffset: 128 }, { access: "read" });
      const sending = one.send(part);
      await until(() => device.line.lane.submitted === 1);
      device.line.lane.run();
      await sending;
      part[Symbol.dispose]();
      using received = await other.receive();
      assert(received instanceof Made);
      const [{ whole, ...told }] = device.told;
      assertEquals(told, { offset: 128, byteLength: 64, dedicated });
      const { byteLength, type } = { type: undefined, ...whole! };
      assertEquals([byteLength, type], [256, dedicated ? 3 : undefined]);
    }, { contexts: [device] });
  }
});

Deno.test("opaque fds: memory that is sent twice has one number; to its maker it is the memory itself", async () => {
  const device = new Device({ uuid });
  const { lane } = device.line;
  await withEnds(async ({ one, other }) => {
    const tensor = allocateTensor(device, { shape: [256], dtype: "u8" });
    const part = tensor.slice({ shape: [64], dtype: "u8", byteOffset: 128 }, { access: "read" });
    for (const sent of [tensor, part, part]) {
      const before = lane.submitted;
      const sending = one.send(sent);
      await until(() => lane.submitted > before);
      lane.run();
      await sending;
    }
    using back = (await other.receive()) as unknown as Made;
    assertEquals(back.grant.allocation === tensor.grant.allocation, true);
    back[Symbol.dispose]();
    part[Symbol.dispose]();
    tensor[Symbol.dispose]();
    using first = (await other.receive()) as unknown as Made;
    using second = (await other.receive()) as unknown as Made;
    assertEquals(first.grant.allocation === tensor.grant.allocation, false);
    assertEquals(first.grant.allocation === second.grant.allocation, true);
    assertEquals([first.grant.start, second.grant.start], [128, 128]);
  }, { contexts: [device] });
});

Deno.test("opaque fds: memory goes to the device that it is of, and to no other", async () => {
  const [other, right] = [new Device({ uuid: "fb".repeat(16) }), new Device({ uuid })];
  await withProgram(other, async (peer, socket) => {
    const error = await assertRejects(() => say(peer, socket, [{ byteLength: 64 }]), MessageError);
    assert(error.message.includes(`memory of the device ${uuid}, and this side has fbfb`), error.message);
  });
  await withProgram([other, right], async (peer, socket) => {
    using received = await say(peer, socket, [{ byteLength: 64 }]);
    assertEquals(received.target === right, true);
  });
});

Deno.test("opaque fds: of a number that is known with less memory, nothing is kept, also of a frame's other planes", async () => {
  const device = new Device({ uuid });
  await withProgram(device, async (peer, socket) => {
    using _known = await say(peer, socket, [{ byteLength: 64 }]);
    const error = await assertRejects(() => say(peer, socket, [{ byteLength: PAGE }]), MessageError);
    assert(error.message.includes("it ends at byte 4096 of memory that is known with 64"), error.message);
    assertEquals(device.freed, ["imported"]);
  });
  await withProgram(device, async (peer, socket) => {
    device.freed.length = 0;
    using _known = await say(peer, socket, [{ byteLength: 64 }]);
    await assertRejects(
      () => say(peer, socket, [{ byteLength: PAGE, identity: "8" }, { byteLength: PAGE }]),
      MessageError,
    );
    assertEquals(device.freed, ["imported", "imported"], "both planes");
  });
});

Deno.test("opaque fds: two parts of one memory may not overlap, nor may a file be shorter than its memory", async () => {
  const device = new Device({ uuid });
  const picture = (offset: number): Sent[] => [
    { byteLength: PAGE, whole: 3 * PAGE },
    { offset, byteLength: PAGE / 2, whole: 3 * PAGE },
  ];
  await withProgram(device, async (peer, socket) => {
    using right = await say(peer, socket, picture(PAGE));
    assertEquals(right.grants.map(({ start }) => start), [0, PAGE]);
    const error = await assertRejects(() => say(peer, socket, picture(PAGE - 1)), MessageError);
    assert(error.message.includes("two of them overlap in one memory"), error.message);
  });
  await withProgram(device, async (peer, socket) => {
    const short = [{ byteLength: PAGE, whole: 2 * PAGE, file: PAGE }];
    const error = await assertRejects(() => say(peer, socket, short), MessageError);
    assert(error.message.includes("says that the memory has 8192 bytes, and its file has 4096"), error.message);
  });
});

Deno.test("peer.receive() refuses opaque fds that a driver would wait for", async () => {
  for (const fdOf of [raw.eventfd, raw.epoll]) {
    await withProgram(new Device({ uuid }), async (peer, socket) => {
      const error = await assertRejects(() => say(peer, socket, [{ byteLength: 64, fd: fdOf() }]), MessageError);
      assert(error.message.includes("expected memory, got another kind of fd"), error.message);
    });
  }
});

Deno.test("opaque fds: memory that other devices take in its own process goes out as its device's", async () => {
  const device = new Device({ uuid });
  Object.assign(device.ports, { exports: [{ kind: "opaque-fd" }] });
  await withEnds(async ({ one, other }) => {
    using tensor = allocateTensor(device, { shape: [256], dtype: "u8" });
    const sending = one.send(tensor, { access: "read" });
    await until(() => device.line.lane.submitted === 1);
    device.line.lane.run();
    await sending;
    using received = await other.receive();
    assert(received instanceof Made);
  }, { contexts: [device] });
});

Deno.test("opaque fds: memory of a device without a UUID does not go to another process", async () => {
  const device = new Device({}, "opaque-fd");
  await using at = await temporaryPath();
  using _server = listen(at.path);
  using peer = connect(at.path);
  using tensor = allocateTensor(device, { shape: [64], dtype: "u8" });
  const error = await assertRejects(() => peer.send(tensor), ArgumentError);
  assert(error.message.includes("exports nothing that another process could open"), error.message);
});
