/** Buffers that other code made: those of another context on the same device, and of Vulkan's own calls. */
import { assert, assertEquals, assertNotStrictEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  LayoutError,
  MapperGraph,
  NoRouteError,
  region,
} from "@samepage/interop";
import { dmabuf } from "@samepage/interop/dmabuf";
import { VulkanContext, type VulkanTensor } from "@samepage/interop/vulkan";
import { Theirs } from "./theirs.ts";
import { test, unless } from "./help.ts";
import { pattern } from "./pattern.ts";

const bytes = (length: number, byteOffset = 0) => ({ shape: [length], dtype: "u8", byteOffset }) as const;

test("attach() uses a buffer that another context made, as a peer, and calls the owner once", (vulkan) => {
  using made = vulkan.allocate(bytes(64));
  const { buffer } = made.handle;
  let ended = 0;
  {
    using tensor = vulkan.attach(buffer, bytes(4, 8), { owner: () => void ended++ });
    assertStrictEquals(tensor.grant.allocation, made.grant.allocation);
    assertStrictEquals(tensor.handle, made.handle);
    vulkan.queue.fill(tensor, 7);
    const seen = new Uint8Array(64);
    vulkan.queue.read(made, seen);
    assertEquals(seen.subarray(0, 16), Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 0, 0, 0, 0));
    using _lent = made.borrow("read-write");
    assertThrows(() => tensor.handle, AccessError);
    assertEquals(ended, 0);
  }
  assertEquals(ended, 1);
});

test("attach() makes two tensors over another library's buffer peers, of its bytes alone", (vulkan) => {
  using theirs = new Theirs(vulkan, 4096);
  {
    using front = vulkan.attach(theirs.buffer, bytes(16), { owner: theirs.owner });
    {
      using part = vulkan.attach(theirs.buffer, bytes(8, 12), { access: "read", owner: theirs.owner });
      using back = vulkan.attach(theirs.buffer, bytes(16, 16));
      assertStrictEquals(part.grant.allocation, front.grant.allocation);
      assertStrictEquals(part.handle, front.handle);
      assertEquals([front, part, back].map(({ grant: { start, end } }) => [start, end]), [[0, 16], [12, 20], [16, 32]]);
      assertThrows(() => vulkan.queue.fill(part, 1), AccessError);
      vulkan.queue.write(front, pattern(16, 1));
      {
        using _lent = front.borrow("read-write");
        assertThrows(() => part.handle, AccessError);
        back.assertUsable("read-write");
      }
      const seen = new Uint8Array(8);
      vulkan.queue.fill(back, 9);
      vulkan.queue.read(part, seen);
      assertEquals(seen, Uint8Array.of(...pattern(16, 1).subarray(12), 9, 9, 9, 9));
    }
    assertEquals(theirs.told, 0); // `front` uses bytes of `part`
  }
  assertEquals(theirs.told, 2);
});

test("attach() goes to the length that Vulkan reports of a buffer, and no further", (vulkan) => {
  for (const length of [64, 65]) {
    using theirs = new Theirs(vulkan, length);
    const { size } = theirs;
    const attach = (length: number, byteOffset: number) =>
      vulkan.attach(theirs.buffer, bytes(length, byteOffset), { owner: theirs.owner })[Symbol.dispose]();
    assert(size >= length);
    for (const [length, offset] of [[size, 0], [1, size - 1]]) attach(length, offset);
    for (const [length, offset] of [[size + 1, 0], [1, size], [size, 1], [1 << 20, 0]]) {
      const said = `init: it reaches to byte ${length + offset}; the memory has ${size}.`;
      assertEquals(assertThrows(() => attach(length, offset), LayoutError).message, said);
    }
    assertEquals(theirs.told, 6);
  }
});

test("attach() refuses anything but a handle, and a context that has ended, and calls the owner", (vulkan) => {
  using theirs = new Theirs(vulkan, 64);
  let calls = 0;
  const attach = (on: VulkanContext, handle: bigint) => on.attach(handle, bytes(1), { owner: () => void calls++ });
  assertThrows(() => attach(vulkan, 0n), ArgumentError, "got null");
  assertThrows(() => attach(vulkan, 1n << 64n), ArgumentError);
  const other = VulkanContext.attach(handlesOf(vulkan));
  const tensor = attach(other, theirs.buffer);
  other[Symbol.dispose]();
  assertThrows(() => tensor.handle, DisposedError);
  assertThrows(() => attach(other, theirs.buffer), DisposedError);
  assertEquals(calls, 4);
});

test("attach() from two contexts of one VkDevice makes peers", (vulkan) => {
  using theirs = new Theirs(vulkan, 64);
  using same = VulkanContext.attach(handlesOf(vulkan));
  using one = vulkan.attach(theirs.buffer, bytes(64));
  {
    using two = same.attach(theirs.buffer, bytes(64));
    using start = same.attach(theirs.buffer, bytes(8));
    using four = same.attach(theirs.buffer, bytes(4));
    assertStrictEquals(two.grant.allocation, one.grant.allocation);
    vulkan.queue.fill(one, 3);
    same.queue.fill(four, 5); // behind the other context's work
    const seen = new Uint8Array(8);
    same.queue.read(start, seen);
    assertEquals(seen, Uint8Array.of(5, 5, 5, 5, 3, 3, 3, 3));
  }
});

test(
  "attach() takes a handle of another VkDevice for another buffer",
  (vulkan) => {
    using theirs = new Theirs(vulkan, 64);
    using one = vulkan.attach(theirs.buffer, bytes(64));
    using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
    using elsewhere = other.attach(theirs.buffer, bytes(64));
    assertNotStrictEquals(elsewhere.grant.allocation, one.grant.allocation);
  },
  unless(({ name }) => name.includes("llvmpipe"), "llvmpipe: another driver may look into an object of another device"),
);

test("slices of an attached buffer end, and their work, before the owner is called", (vulkan) => {
  using theirs = new Theirs(vulkan, 1 << 20);
  const seen = new Uint8Array(32);
  const expected = new Uint8Array(32).fill(1);
  const owner = () => {
    theirs.told++;
    using again = vulkan.attach(theirs.buffer, bytes(32));
    vulkan.queue.read(again, seen);
  };
  using whole = vulkan.attach(theirs.buffer, bytes(1 << 20));
  for (let i = 0; i < 20; i++) vulkan.queue.fill(whole, i);
  whole[Symbol.dispose]();
  const tensor = vulkan.attach(theirs.buffer, { shape: [4, 8], dtype: "u8" }, { owner });
  vulkan.queue.fill(tensor, 1);
  const middle = tensor.slice(region(tensor.layout, [1, 4], [2, 4])) as VulkanTensor; // rows of 4 bytes, 8 apart
  assertThrows(() => vulkan.queue.fill(tensor, 2), AccessError);
  vulkan.queue.fill(middle, 10);
  for (const at of [12, 20]) expected.fill(10, at, at + 4);
  tensor[Symbol.dispose]();
  assertEquals([theirs.told, seen], [1, expected]);
  assertThrows(() => middle.handle, DisposedError);
});

test("a buffer that other code made goes to no other API: its memory is not known here", (vulkan) => {
  using theirs = new Theirs(vulkan, 64);
  using tensor = vulkan.attach(theirs.buffer, bytes(64));
  using graph = new MapperGraph([host, dmabuf, vulkan]);
  assertThrows(() => graph.map(tensor, host, { copy: "allow" }), NoRouteError, "Copy it by queue.read()");
});

/** What another library says of a device that a context has. */
function handlesOf({ openDevice: { handles } }: VulkanContext): Parameters<typeof VulkanContext.attach>[0] {
  const { queues: [queue], ...others } = handles;
  return { ...others, queue };
}
