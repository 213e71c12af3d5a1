// Vulkan's memory in another process, by an opaque fd; and in the same one, where it is known again.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, host, imageInfo, InteropError, ledger, MapperGraph } from "@samepage/interop";
import { connect, FrameRing, listen, MessageError, type Peer } from "@samepage/interop/channel";
import { VulkanContext, type VulkanTensor } from "@samepage/interop/vulkan";
import { temporaryPath } from "../channel/help.ts";
import { until } from "../conformance/bytes.ts";
import { statusOf } from "../../src/core/native/fd.ts";
import { openFds } from "../gc.ts";
import { test } from "./help.ts";
import { pattern } from "./pattern.ts";
import { withReceiver } from "./receiving.ts";

const LENGTH = 100_003;
const INIT = { shape: [LENGTH], dtype: "u8", byteOffset: 256, exportAs: "opaque-fd" } as const;

/** Two ends of a connection in this process. */
async function ends(contexts: readonly VulkanContext[], use: (one: Peer, other: Peer) => Promise<void>): Promise<void> {
  await using at = await temporaryPath();
  using server = listen(at.path, { contexts });
  using one = connect(at.path);
  using other = await server.accept();
  await use(one, other);
}

test("another process uses a tensor in place, by an opaque fd", async (vulkan) => {
  {
    using first = vulkan.allocate(INIT);
    vulkan.queue.write(first, pattern(LENGTH, 0)); // makes what bytes go through
  }
  const before = ledger.alive;
  {
    using tensor = vulkan.allocate(INIT);
    const bytes = new Uint8Array(LENGTH);
    await withReceiver({ api: "vulkan", uuid: vulkan.id.uuid }, async (receiver) => {
      vulkan.queue.write(tensor, pattern(LENGTH, 7));
      assertEquals(await receiver.use(tensor, "read"), `vulkan ${LENGTH} read 7`);
      assertEquals(await receiver.use(tensor, "read-write"), `vulkan ${LENGTH} read-write 7`);
      vulkan.queue.read(tensor, bytes);
      assertEquals(bytes, pattern(LENGTH, 8));
      vulkan.queue.write(tensor, pattern(LENGTH, 9));
      assertEquals(await receiver.use(tensor, "read"), `vulkan ${LENGTH} read 9`);
    });
  }
  assertEquals(ledger.alive, before);
});

test("a frame of a device's goes to another process in one fd", async (vulkan) => {
  using frame = vulkan.allocateFrame(imageInfo({ format: "NV12", width: 64, height: 48 }), { exportAs: "opaque-fd" });
  vulkan.queue.write(frame.planes[1], pattern(64 * 24, 5));
  using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
  await ends([other], async (one, there) => {
    await one.send(frame, { access: "read-write" });
    using received = await there.receive<typeof frame>();
    assertEquals(received!.info, frame.info);
    const chroma = new Uint8Array(64 * 24);
    other.queue.read(received!.planes[1], chroma);
    assertEquals(chroma, pattern(64 * 24, 5));
  });
});

test("a ring takes no memory by opaque fds, and leaves it as it was", async (vulkan) => {
  await using at = await temporaryPath();
  const info = imageInfo({ format: "RGBA", width: 16, height: 16 });
  using frame = vulkan.allocateFrame(info, { exportAs: "opaque-fd" });
  using other = vulkan.allocateFrame(info, { exportAs: "opaque-fd" });
  const create = () => FrameRing.create(at.path, { frames: [frame, other] });
  assert(/exports nothing as "dma-buf"|not as dma-buf/.test(assertThrows(create, ArgumentError).message));
  vulkan.queue.fill(frame.planes[0], 5);
});

test("what comes twice, or back to its own process, is known: it has one writer", async (vulkan) => {
  using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
  using graph = new MapperGraph([host, vulkan]);
  using sent = vulkan.allocate({ ...INIT, memory: "host" });
  vulkan.queue.write(sent, pattern(LENGTH, 1));
  await ends([other], async (one, there) => {
    await one.send(sent, { access: "read-write" });
    await one.send(sent, { access: "read-write" });
    using first = await there.receive<VulkanTensor>();
    using second = await there.receive<VulkanTensor>();
    assertEquals(first!.grant.allocation, sent.grant.allocation);
    assertEquals(second!.grant.start, sent.grant.start);
    {
      using _mapped = graph.map(sent, host);
      for (const one of [first!, second!]) {
        assertThrows(() => other.queue.read(one, new Uint8Array(LENGTH)), AccessError);
      }
    }
    const bytes = new Uint8Array(LENGTH);
    other.queue.read(second!, bytes);
    assertEquals(bytes, pattern(LENGTH, 1));
  });
});

test("a context ends under memory that another one has too: the sender's, or the first receiver's", async (vulkan) => {
  const before = ledger.alive;
  const bytes = new Uint8Array(LENGTH);
  for (const isKnown of [true, false]) {
    using last = VulkanContext.open({ uuid: vulkan.id.uuid! });
    using first = VulkanContext.open({ uuid: vulkan.id.uuid! });
    using sender = VulkanContext.open({ uuid: vulkan.id.uuid! });
    using sent = sender.allocate(INIT);
    sender.queue.write(sent, pattern(LENGTH, 3));
    await ends([first], async (one, there) => {
      await one.send(sent);
      await ends([last], async (two, elsewhere) => {
        await two.send(sent);
        if (!isKnown) sender[Symbol.dispose](); // who receives then, meets it for the first time
        using early = await there.receive<VulkanTensor>();
        using received = await elsewhere.receive<VulkanTensor>();
        assertEquals(received!.grant.allocation, early!.grant.allocation);
        assertEquals(received!.grant.allocation === sent.grant.allocation, isKnown);
        sender[Symbol.dispose]();
        first[Symbol.dispose]();
        last.queue.read(received!, bytes);
        assertEquals(bytes, pattern(LENGTH, 3));
      });
    });
  }
  assertEquals(ledger.alive, before);
});

test("a port that is closed is refused with its own reason, on both sides", async (vulkan) => {
  using tensor = vulkan.allocate(INIT);
  const lacks = vulkan.absent.get("VK_EXT_external_memory_dma_buf");
  await ends([vulkan], async (one, other) => {
    if (lacks !== undefined) {
      const { message } = await assertRejects(() => one.send(tensor, { as: "dma-buf" }), ArgumentError);
      assertEquals(message, `frame: ${lacks}`);
    }
    const offer = vulkan.ports.imports.find(({ kind }) => kind === "opaque-fd")!;
    const { closed } = offer;
    await one.send(tensor);
    Object.assign(offer, { closed: () => ({ reason: "it is closed today." }) });
    try {
      const { message } = await assertRejects(() => other.receive(), MessageError);
      assert(message.endsWith('imports "opaque-fd": it is closed today.'), message);
    } finally {
      Object.assign(offer, { closed });
    }
  });
});

test("memory of another device is refused by both UUIDs, and that of another length or type than it is said to be", async (vulkan) => {
  const uuid = vulkan.id.uuid!;
  using tensor = vulkan.allocate(INIT);
  using sent = vulkan.ports.export!(tensor, "opaque-fd", LENGTH, "read", false).port; // its memory keeps an fd from now on
  assert(sent.fd >= 0);
  const fds = openFds();
  await ends([], async (one, other) => {
    await one.send(tensor);
    const error = await assertRejects(() => other.receive(), MessageError);
    assert(error.message.includes(`of the device with the UUID ${uuid}`), error.message);
  });
  await ends([vulkan], async (one, other) => {
    const offer = vulkan.ports.exports.find(({ kind }) => kind === "opaque-fd")!;
    const real = offer.device;
    Object.assign(offer, { device: { uuid: "0".repeat(32) } });
    try {
      await one.send(tensor);
    } finally {
      Object.assign(offer, { device: real });
    }
    const error = await assertRejects(() => other.receive(), MessageError);
    assert(error.message.includes(`device ${"0".repeat(32)}, and this side has ${uuid}`), error.message);
  });
  const { byteLength } = sent.whole!;
  const isFile = statusOf(sent.fd).byteLength > 0; // a driver on the CPU: the sender knows how long it is
  for (const whole of [{ byteLength: 1 << 30 }, { byteLength, type: 99 }, { byteLength, type: 2 ** 31 }]) {
    await ends([vulkan], async (one, other) => {
      const { export: real } = vulkan.ports;
      const sending = () => one.send(tensor);
      Object.assign(vulkan.ports, {
        export: (...args: Parameters<NonNullable<typeof real>>) => {
          const exported = real!(...args);
          return Object.assign(exported, { port: Object.assign(exported.port, { whole }) });
        },
      });
      try {
        if (isFile && whole.type === undefined) return void await assertRejects(sending, ArgumentError, "its file has");
        await sending();
      } finally {
        Object.assign(vulkan.ports, { export: real });
      }
      const error = await assertRejects(() => other.receive(), InteropError);
      const said = `of type ${whole.type}, and`;
      assert(error instanceof MessageError ? error.message.includes(said) : error.fn === "vkAllocateMemory");
    });
  }
  assert(await until(() => openFds() === fds), `${openFds()} fds, and ${fds} before`);
});
