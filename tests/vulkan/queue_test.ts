import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  InteropError,
  layout,
  LayoutError,
  type LayoutInit,
  MapperGraph,
  region,
} from "@samepage/interop";
import type { VulkanTensor } from "@samepage/interop/vulkan";
import { sizeOf, TYPED_ARRAYS } from "../../src/core/layout/dtype.ts";
import { copyElements } from "../../src/core/layout/runs.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { struct } from "../../src/vulkan/struct.ts";
import { ManualGate } from "../gate.ts";
import { runModule } from "../process.ts";
import { shader, test } from "./help.ts";

test("bytes are written and read, more than go through in one piece", (vulkan) => {
  const numbers = Uint32Array.from({ length: 3_000_001 }, (_, i) => i * 2654435761);
  using tensor = vulkan.allocate({ shape: [numbers.length], dtype: "u32" });
  const seen = new Uint32Array(numbers.length);
  vulkan.queue.read(tensor, seen);
  assert(seen.every((number) => number === 0), "new memory is zeroed");
  vulkan.queue.write(tensor, numbers);
  vulkan.queue.read(tensor, seen);
  assertEquals(seen.findIndex((number, i) => number !== numbers[i]), -1);
  assertEquals(vulkan.bytesCopied, 3 * numbers.byteLength);
});

test("a queue is not a target of a map", (vulkan) => {
  using graph = new MapperGraph([vulkan]);
  using tensor = vulkan.allocate({ shape: [4], dtype: "u8" });
  assertThrows(() => graph.map(tensor, vulkan.queue as never), ArgumentError, "target: expected a context");
});

test("a fill has every value of 1, 2 and 4 bytes, and of 8 where the halves are equal", (vulkan) => {
  const cases = [["u8", 200, Uint8Array], ["i16", -2, Int16Array], ["f32", 1.5, Float32Array]] as const;
  for (const [dtype, value, Numbers] of cases) {
    using tensor = vulkan.allocate({ shape: [8], dtype });
    vulkan.queue.fill(tensor, value);
    const seen = new Numbers(8);
    vulkan.queue.read(tensor, seen);
    assertEquals([...seen], Array(8).fill(value));
  }
  using long = vulkan.allocate({ shape: [2], dtype: "i64" });
  vulkan.queue.fill(long, -1n);
  assertThrows(() => vulkan.queue.fill(long, 1n), ArgumentError, "differ");
  using odd = vulkan.allocate({ shape: [3], dtype: "u8" });
  assertThrows(() => vulkan.queue.fill(odd, 1), LayoutError, "are not a whole word");
});

test("fill() of rows with gaps, and of bytes at any place, fills the elements alone", (vulkan) => {
  const cases: readonly (readonly [LayoutInit, number[]])[] = [
    [{ shape: [7], dtype: "u8" }, [200]],
    [{ shape: [12], dtype: "u8", byteOffset: 3 }, [1, 2, 3, 4]],
    [{ shape: [3, 8], dtype: "u8", rowAlign: 16 }, [5]],
    [{ shape: [5, 8], dtype: "u8", strides: [9, 1] }, [1, 2]],
    [{ shape: [4, 5], dtype: "i16", strides: [14, 2], byteOffset: 2 }, [-3]],
    [{ shape: [3, 4, 2], dtype: "f32", strides: [80, 16, 4] }, [1.5]],
  ];
  for (const [init, value] of cases) {
    const at = layout(init);
    using whole = vulkan.allocate({ shape: [at.byteOffset + at.byteLength + 5], dtype: "u8" });
    const expected = Uint8Array.from({ length: whole.byteLength }, (_, i) => 100 + i);
    vulkan.queue.write(whole, expected);
    {
      using part = whole.slice(at) as VulkanTensor;
      vulkan.queue.fill(part, value);
    }
    const { shape, dtype } = at;
    const elements = new TYPED_ARRAYS[dtype](
      new ArrayBuffer(shape.reduce((count, n) => count * n, sizeOf(dtype))),
    ) as Uint8Array;
    elements.forEach((_, i) => elements[i] = value[i % value.length]);
    copyElements(expected, at, new Uint8Array(elements.buffer), layout({ shape, dtype }));
    const seen = new Uint8Array(expected.length);
    vulkan.queue.read(whole, seen);
    assertEquals([...seen], [...expected]);
  }
  using nine = vulkan.allocate({ shape: [9], dtype: "u8" });
  assertThrows(() => vulkan.queue.fill(nine, [1, 2]), ArgumentError, "have 9 bytes, no multiple of 2");
});

test("a copy takes the elements, and leaves the gaps alone", (vulkan) => {
  using whole = vulkan.allocate({ shape: [6, 8], dtype: "u8" });
  vulkan.queue.fill(whole, 9);
  using packed = vulkan.allocate({ shape: [3, 4], dtype: "u8" });
  vulkan.queue.write(packed, Uint8Array.from({ length: 12 }, (_, i) => i));
  {
    using part = whole.slice(region(whole.layout, [1, 2], [3, 4])) as VulkanTensor;
    vulkan.queue.copy(packed, part);
  }
  const seen = new Uint8Array(48);
  vulkan.queue.read(whole, seen);
  const expected = Array.from({ length: 48 }, (_, i) => {
    const [row, column] = [Math.floor(i / 8) - 1, i % 8 - 2];
    return row >= 0 && row < 3 && column >= 0 && column < 4 ? 4 * row + column : 9;
  });
  assertEquals([...seen], expected);
});

test("queues wait for each other's work on the device", async (vulkan) => {
  using other = vulkan.createQueue();
  using program = vulkan.program(shader("spin"));
  using spin = program.kernel();
  using tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
  assert(other.line.canWaitFor(vulkan.line));
  for (let i = 0; i < 5; i++) {
    spin.run({ groups: [1] }, [tensor, 50_000]);
    other.fill(tensor, i);
    vulkan.queue.fill(tensor, 100 + i);
  }
  await tensor.finished();
  const seen = new Uint32Array(4);
  other.read(tensor, seen);
  assertEquals([...seen], Array(4).fill(104));
});

test("a queue ends while the commands of another wait for it", (vulkan) => {
  using program = vulkan.program(shader("spin"));
  using spin = program.kernel();
  using tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
  using elsewhere = vulkan.allocate({ shape: [4], dtype: "u32" });
  using stays = vulkan.createQueue();
  for (let i = 0; i < 10; i++) {
    const ends = vulkan.createQueue();
    spin.run({ groups: [1] }, [tensor, 500_000], { queue: ends });
    spin.run({ groups: [1] }, [elsewhere, 1_000_000], { queue: stays });
    stays.fill(tensor, i); // behind `ends`
    ends[Symbol.dispose]();
    vulkan.createQueue()[Symbol.dispose](); // whose timeline may take the other's place
  }
  const seen = new Uint32Array(4);
  stays.read(tensor, seen);
  assertEquals([...seen], Array(4).fill(9));
});

test("many waits in a row, and many commands, are all over in the end", async (vulkan) => {
  using queues = new DisposableStack();
  const others = Array.from({ length: 12 }, () => queues.use(vulkan.createQueue()));
  using tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
  for (let i = 0; i < 300; i++) others[i % 12].fill(tensor, i);
  const fence = vulkan.queue.waitFor(others.map((queue) => queue.fence()));
  await fence.wait();
  assert(others.every((queue) => queue.fence().reached()));
});

// Mesa's lavapipe ends the process by SIGSEGV where that goes wrong, in some of these rounds.
test("dispose() destroys a queue's timeline after the driver's last use of it for a command that waited", async () => {
  const ended = await runModule(`
    import { VulkanContext } from "@samepage/interop/vulkan";
    using vulkan = VulkanContext.open();
    using tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
    for (let round = 0; round < 100; round++) {
      using queues = new DisposableStack();
      const others = Array.from({ length: 12 }, () => queues.use(vulkan.createQueue()));
      for (let i = 0; i < 300; i++) others[i % 12].fill(tensor, i);
      vulkan.queue.waitFor(others.map((queue) => queue.fence())).waitSync();
    }
    console.log("over");`);
  assertEquals([ended.signal, ended.stdout], [null, "over\n"], ended.stderr);
});

test("a queue waits for a promise by blocking, never for one that is not settled", (vulkan) => {
  using gate = new ManualGate();
  using tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
  assertThrows(() => vulkan.queue.fill(tensor, 1, { after: gate.fence }), Error, "could never end");
  gate.open();
  vulkan.queue.fill(tensor, 1, { after: gate.fence });
  vulkan.queue.finish();
  assert(vulkan.queue.fence().reached());
});

test("a VkFence of another library's is a fence", async (vulkan) => {
  const { openDevice: device } = vulkan;
  const { vkQueueSubmit, vkResetFences } = Deno.dlopen("libvulkan.so.1", {
    vkQueueSubmit: { parameters: ["u64", "u32", "buffer", "u64"], result: "i32" },
    vkResetFences: { parameters: ["u64", "u32", "buffer"], result: "i32" },
  }).symbols;
  using program = vulkan.program(shader("spin"));
  using spin = program.kernel();
  using tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
  const undo: (() => void)[] = [];
  const theirs = device.create<bigint>("Fence", struct("VkFenceCreateInfo"), undo);
  for (const way of ["blocking", "on another thread"]) {
    for (let i = 0; i < 40; i++) spin.run({ groups: [1] }, [tensor, 60_000]);
    assertEquals(vkQueueSubmit(vulkan.queue.handle, 0, null, theirs), 0);
    const fence = vulkan.attachFence(theirs);
    if (way === "blocking") fence.waitSync();
    else await fence.wait();
    assert(fence.reached() && vulkan.queue.fence().reached(), way);
    assertEquals(vkResetFences(device.handle, 1, new BigUint64Array([theirs])), 0);
  }
  undo.pop()!();
});

test("a VkFence is signalled behind work of any queue", async (vulkan) => {
  using other = vulkan.createQueue();
  using tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
  vulkan.queue.fill(tensor, 3);
  using behind = other.createFence({ after: vulkan.queue.fence() });
  const fence = vulkan.attachFence(behind.handle);
  await fence.wait();
  assertEquals([fence.reached(), vulkan.queue.fence().reached()], [true, true]);
});

test("a VkFence that ends takes along what stands on it, before anybody has asked that", (vulkan) => {
  using tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
  for (let i = 0; i < 100; i++) {
    const made = vulkan.queue.createFence();
    tensor.usedBy(vulkan.attachFence(made.handle));
    made[Symbol.dispose]();
  }
  const seen = new Uint32Array(4);
  vulkan.queue.read(tensor, seen);
  assertEquals([...seen], [0, 0, 0, 0]);
});

test("a VkFence is a sync file where the device has those, or says why not", (vulkan) => {
  using fence = vulkan.queue.createFence();
  const { exports, imports } = vulkan.openDevice.abilities.fenceSyncFd;
  const lacking = vulkan.openDevice.lacks("VK_KHR_external_fence_fd")?.reason;
  if (!exports) assertThrows(() => fence.exportSyncFile(), InteropError, lacking ?? "fences do not become sync files");
  if (!imports) {
    const { hint } = assertThrows(() => vulkan.importFence(0), InteropError, lacking ?? "fences are not sync files");
    assert(hint!.includes("dmabuf.fence(fd)"));
  }
  assertThrows(() => vulkan.importFence(-1), ArgumentError, "expected an fd");
});

test("a VkFence keeps its signal while what was attached to it waits for that", async (vulkan) => {
  using program = vulkan.program(shader("spin"));
  using spin = program.kernel();
  using tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
  for (let i = 0; i < 40; i++) spin.run({ groups: [1] }, [tensor, 60_000]);
  using made = vulkan.queue.createFence();
  const fence = vulkan.attachFence(made.handle);
  const { abilities, extensions } = vulkan.openDevice;
  if (!abilities.fenceSyncFd.exports) {
    Object.assign(abilities, { fenceSyncFd: { exports: true, imports: false } });
    Object.assign(extensions, { vkGetFenceFdKHR: (_1: never, _2: never, out: Int32Array) => (out[0] = -1, 0) }); // it has come
  }
  const { hint } = assertThrows(() => made.exportSyncFile(), AccessError, "waits for its signal");
  assert(hint!.includes("queue.createFence()"));
  await fence.wait();
  const fd = made.exportSyncFile();
  if (fd >= 0) closeFd(fd);
  assert(fence.reached());
});

test("read() and write() with `at` move elements, and leave the gaps alone", (vulkan) => {
  using padded = vulkan.allocate({ shape: [3, 5], dtype: "u8", rowAlign: 16 });
  const all = Uint8Array.from({ length: padded.layout.byteLength }, (_, i) => 100 + i);
  vulkan.queue.write(padded, all);
  vulkan.queue.write(padded, Uint8Array.from({ length: 15 }, (_, i) => i), { at: "dense" });
  const seen = new Uint8Array(all.length);
  vulkan.queue.read(padded, seen);
  assertEquals([...seen], [...all].map((byte, i) => i % 16 < 5 ? 5 * Math.floor(i / 16) + i % 16 : byte));
  const spread = new Uint8Array(40).fill(255); // columns
  vulkan.queue.read(padded, spread, { at: { shape: [3, 5], dtype: "u8", strides: [1, 8] } });
  assertEquals([...spread.subarray(0, 12)], [0, 5, 10, 255, 255, 255, 255, 255, 1, 6, 11, 255]);
  const refused = (at: unknown) =>
    assertThrows(() => vulkan.queue.read(padded, seen, { at: at as "dense" }), InteropError).argument;
  assertEquals([{ shape: [5, 3], dtype: "u8" }, "dense", 7].map(refused), ["at", "into", "at"]);
});
