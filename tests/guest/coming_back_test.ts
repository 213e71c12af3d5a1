/** Memory that leaves this process by an fd, and comes back after its map has ended. In the guest. */
import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { AccessError, type Frame, host, layout, LayoutError, MapperGraph, type Tensor } from "../../mod.ts";
import { FrameRing, MessageError } from "../../src/channel/mod.ts";
import { dmabuf, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { withEnds, withNothingLeft } from "../channel/help.ts";
import { create, freshPath, publish } from "../channel/ring_help.ts";
import { Fd } from "./kernel.ts";
import { guestTest } from "./needs.ts";

const PAGE = { shape: [4096], dtype: "u8" } as const;

/** Law 3 holds between memory and what came back of it, at whose byte 0 lies the memory's byte `start`. */
function assertSame(memory: Tensor, back: DmaBufTensor, start: number): void {
  assertStrictEquals(back.grant.allocation, memory.grant.allocation);
  assertEquals(back.grant.start, memory.grant.start + start);
  using graph = new MapperGraph([host, dmabuf]);
  using writer = graph.map(back, host);
  writer.bytes()[0] = 3;
  assertThrows(() => memory.borrow("read-write"), AccessError);
}

guestTest(
  "coming back: host memory whose dma-buf's fd has left is found by it when the map has ended",
  () =>
    withNothingLeft(() => {
      using graph = new MapperGraph([host, dmabuf]);
      using memory = host.allocate({ shape: [3 * 4096], dtype: "u8", sharable: true });
      using part = memory.slice(layout({ shape: [100], dtype: "u8", byteOffset: 4196 }));
      const mapped = graph.map(part, dmabuf);
      using fd = new Fd(mapped.exportFd());
      mapped[Symbol.dispose]();
      part[Symbol.dispose]();
      {
        using back = dmabuf.attach(fd.fd, { shape: [200], dtype: "u8", byteOffset: 100 });
        assertSame(memory, back, 4196);
      }
      assertEquals(memory.view()[4196], 3);
      memory[Symbol.dispose]();
      using apart = dmabuf.attach(fd.fd, PAGE); // the memory is gone, and its pages are this buffer's alone
      assertEquals(apart.grant.start, 0);
      return Promise.resolve();
    }),
);

guestTest("coming back: the same of what was sent to a process", () =>
  withEnds(async ({ one, other }) => {
    using graph = new MapperGraph([host, dmabuf]);
    using memory = host.allocate({ ...PAGE, sharable: true });
    {
      using mapped = graph.map(memory, dmabuf);
      await one.send(mapped, { access: "read-write" });
    }
    using back = await other.receive() as unknown as DmaBufTensor;
    assertSame(memory, back, 0);
  }, { contexts: [dmabuf] }));

guestTest(
  "coming back: a memfd that becomes a dma-buf is the host memory that it was",
  () =>
    withEnds(async ({ one, other }) => {
      using memory = host.allocate({ shape: [2 * 4096], dtype: "u8", sharable: true });
      using part = memory.slice(layout({ shape: [100], dtype: "u8", byteOffset: 4196 }));
      await one.send(part, { access: "read-write" });
      part[Symbol.dispose]();
      using back = await other.receive() as unknown as DmaBufTensor;
      assertSame(memory, back, 4196);
      using fd = new Fd(back.exportFd());
      using again = dmabuf.attach(fd.fd, PAGE);
      assertEquals(again.grant.start, 4096);
    }, { contexts: [dmabuf] }),
);

guestTest(
  "coming back: a ring of memfds is host memory to its readers, and for dma-bufs alone it says why",
  () =>
    withNothingLeft(async () => {
      await using ring = create(freshPath(), 2);
      const error = await assertRejects(
        () => FrameRing.open(ring.path, { contexts: [dmabuf] }),
        MessageError,
        "only be read",
      );
      assert(error.message.includes("contexts: [host]"), error.message);
      await using reader = await FrameRing.open<Frame>(ring.path, { contexts: [dmabuf, host] });
      await ring.joined();
      await publish(ring, 5);
      using frame = (await reader.next())!;
      assertEquals(frame.target, host);
    }),
);

guestTest("coming back: more memory than the machine has is refused before the kernel is asked", () => {
  for (const { node, open } of dmabuf.allocators()) {
    if (!open) continue;
    const error = assertThrows(() => dmabuf.allocate({ shape: [2 ** 40], dtype: "u8", from: node }), LayoutError);
    assert(error.message.includes(`${2 ** 40} bytes`), error.message);
  }
}, ["/dev/dma_heap/system"]);
