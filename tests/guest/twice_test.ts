/** Memory that comes twice over a channel, to drivers that import dma-bufs by themselves: it is known as one. In the guest. */
import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { AccessError, host, InteropError, layout, MapperGraph, type Tensor } from "../../mod.ts";
import { dmabuf, DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { HostTensor } from "../../src/host/mod.ts";
import { VulkanContext, VulkanTensor } from "../../src/vulkan/mod.ts";
import { withEnds } from "../channel/help.ts";
import { type Say, withProgram } from "../channel/program.ts";
import * as raw from "../channel/raw.ts";
import { type Fd, makeMemfd, makeUdmabuf } from "./kernel.ts";
import { guestTest } from "./needs.ts";

const NODES = ["/dev/udmabuf", Deno.env.get("VK_DRIVER_FILES") ?? "VK_DRIVER_FILES"];
const PAGE = 4096;

/** Another program's dma-buf of four pages. */
function buffer(): Fd {
  using memfd = makeMemfd(4 * PAGE);
  return makeUdmabuf(memfd, 4 * PAGE);
}

/** Its pages from `first` on. */
function pages({ fd }: Fd, first: number, count: number) {
  return { fd, offset: first * PAGE, byteLength: count * PAGE, memory: "dma-buf" } as const;
}

function test(name: string, use: (vulkan: VulkanContext) => Promise<void>): void {
  guestTest(`twice: ${name}`, async () => {
    VulkanContext.open()[Symbol.dispose](); // what a driver opens once, and keeps
    using vulkan = VulkanContext.open();
    using warm = vulkan.allocate({ shape: [4 * PAGE], dtype: "u8" });
    vulkan.queue.read(warm, new Uint8Array(4 * PAGE)); // makes its staging buffer
    await use(vulkan);
  }, NODES);
}

async function as<T extends Tensor>(kind: abstract new (...of: never[]) => T, coming: ReturnType<Say>): Promise<T> {
  const tensor: unknown = await coming;
  assert(tensor instanceof kind, `${tensor}`);
  return tensor;
}

test("a dma-buf that Vulkan receives twice has one writer, and its parts lie in their places", (vulkan) =>
  withProgram([vulkan], async (say) => {
    using memory = buffer();
    using first = await as(VulkanTensor, say(pages(memory, 1, 3)));
    using second = await as(VulkanTensor, say(pages(memory, 2, 1)));
    assertStrictEquals(second.grant.allocation, first.grant.allocation);
    assertEquals([first.grant.start, second.grant.start, second.grant.end], [PAGE, 2 * PAGE, 3 * PAGE]);
    assertEquals(first.grant.allocation.block.byteLength, 4 * PAGE);
    vulkan.queue.fill(first, 5);
    const seen = new Uint8Array(PAGE);
    vulkan.queue.read(second, seen);
    assertEquals(new Set(seen), new Set([5]));
    {
      using _writer = first.borrow("read-write");
      assertThrows(() => vulkan.queue.fill(second, 6), AccessError);
    }
    vulkan.queue.fill(second, 7);
    const all = new Uint8Array(3 * PAGE);
    vulkan.queue.read(first, all);
    assertEquals([all[0], all[PAGE], all[2 * PAGE]], [5, 7, 5]);
  }));

test("one dma-buf is the same memory to Vulkan, to another device and to dmabuf, in any order", async (vulkan) => {
  using other = VulkanContext.open();
  using graph = new MapperGraph([host, dmabuf, vulkan, other]);
  for (const [i, contexts] of [[vulkan, other, dmabuf], [dmabuf, vulkan, other], [other, dmabuf, vulkan]].entries()) {
    await withProgram(contexts, async (...say) => {
      using memory = buffer();
      using received = new DisposableStack();
      const tensors: Tensor[] = [];
      for (const each of say) tensors.push(received.use(await each(pages(memory, 1, 2))));
      for (const { grant } of tensors) {
        assertStrictEquals(grant.allocation, tensors[0].grant.allocation);
        assertEquals([grant.start, grant.end], [PAGE, 3 * PAGE]);
      }
      const kernel = tensors.find((tensor) => tensor instanceof DmaBufTensor)!;
      const devices = tensors.filter((tensor) => tensor instanceof VulkanTensor);
      for (const [j, tensor] of devices.entries()) {
        const value = 10 * i + j + 1;
        (tensor.target as VulkanContext).queue.fill(tensor, value);
        using seen = graph.map(kernel, host, { access: "read" }); // waits for the fill
        assertEquals(new Set(seen.view({ dtype: "u8" })), new Set([value]));
        assertThrows(() => (tensor.target as VulkanContext).queue.fill(tensor, 1), AccessError);
      }
      tensors[0][Symbol.dispose]();
      using again = await say[0](pages(memory, 3, 1));
      assertStrictEquals(again.grant.allocation, tensors[1].grant.allocation);
      using attached = dmabuf.attach(memory.fd, { shape: [8], dtype: "u8" });
      assertStrictEquals(attached.grant.allocation, tensors[1].grant.allocation);
    });
  }
});

test("Vulkan's own memory that comes back by its dma-buf is that memory, to Vulkan and to dmabuf", async (vulkan) => {
  for (const context of [vulkan, dmabuf]) {
    await withEnds(async ({ one, other }) => {
      using own = vulkan.allocate({ shape: [2 * PAGE], dtype: "u8", exportAs: "dma-buf" });
      {
        using part = own.slice(layout({ shape: [100], dtype: "u8", byteOffset: 300 }));
        await one.send(part, { access: "read-write" });
      }
      using back = (await other.receive())!;
      const [grant] = back.grants;
      assertStrictEquals(grant.allocation, own.grant.allocation);
      assertEquals([grant.start, grant.end], [own.grant.start + 300, own.grant.start + 400]);
      using _writer = own.borrow("read-write");
      assertThrows(() => back.assertUsable("read"), AccessError);
    }, { contexts: [context] });
  }
});

guestTest(
  "twice: a memfd that becomes two dma-bufs is one memory, also to the host that has it after them",
  () =>
    withProgram([dmabuf, host], async (toKernel, toHost) => {
      using memory = makeMemfd(4 * PAGE);
      const part = (offset: number, byteLength: number) => ({ fd: memory.fd, offset, byteLength });
      const first = await as(DmaBufTensor, toKernel(part(2 * PAGE + 100, 64)));
      using second = await as(DmaBufTensor, toKernel(part(PAGE, 3 * PAGE)));
      using third = await as(HostTensor, toHost(part(2 * PAGE + 100, 64)));
      for (const { grant } of [second, third]) assertStrictEquals(grant.allocation, first.grant.allocation);
      assertEquals([first, second, third].map(({ grant }) => grant.start), [2 * PAGE + 100, PAGE, 2 * PAGE + 100]);
      using graph = new MapperGraph([host, dmabuf]);
      const view = third.view();
      {
        using writer = graph.map(second, host);
        assertEquals(view.length, 0);
        assertThrows(() => third.view(), AccessError);
        writer.bytes()[PAGE + 100] = 9;
      }
      first[Symbol.dispose]();
      assertEquals(third.view()[0], 9);
      using fourth = await as(DmaBufTensor, toKernel(part(0, PAGE)));
      assertStrictEquals(fourth.grant.allocation, second.grant.allocation);
    }),
);

test("anything but a dma-buf, or a shorter one, does not reach Vulkan's driver", async (vulkan) => {
  const [read, write] = raw.pipe();
  raw.close(write);
  using fds = new DisposableStack();
  const own = (fd: number) => fds.adopt(fd, raw.close);
  using memory = buffer();
  const lies = [
    [own(raw.memfd(PAGE, raw.SEALS.grow)), 0, "expected a dma-buf"],
    [own(raw.openFile("/etc/passwd", raw.OPEN.read)), 0, "expected a dma-buf"],
    [own(read), 0, "expected a dma-buf"],
    [memory.fd, 4 * PAGE - 1, "says that the memory has 20479 bytes, and its file has 16384"],
  ] as const;
  for (const [fd, offset, says] of lies) {
    await withProgram([vulkan], async (say) => {
      const error = await assertRejects(() => say({ fd, offset, byteLength: PAGE, memory: "dma-buf" }), InteropError);
      assertEquals([error.name, error.message.includes(says)], ["MessageError", true], `${error}`);
    });
  }
});
