/** Buffers that other code made: here those of another context on the same device. */
import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, LayoutError } from "@samepage/interop";
import { test } from "./help.ts";

test("attach() uses a buffer that other code made, as a peer, and calls the owner once", (vulkan) => {
  using made = vulkan.allocate({ shape: [64], dtype: "u8" });
  const { buffer } = made.handle;
  let ended = 0;
  {
    const init = { shape: [4], dtype: "u8", byteOffset: 8 } as const;
    using tensor = vulkan.attach(buffer, init, { owner: () => void ended++ });
    assertEquals(tensor.grant.allocation, made.grant.allocation);
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

test("attach() refuses a layout that is longer than the buffer, and what is no handle", (vulkan) => {
  using made = vulkan.allocate({ shape: [64], dtype: "u8" });
  let ended = 0;
  const attach = (handle: bigint, length: number) =>
    vulkan.attach(handle, { shape: [length], dtype: "u8" }, { owner: () => void ended++ });
  assertThrows(() => attach(made.handle.buffer, 1 << 20), LayoutError, "it reaches to byte 1048576; the memory has");
  assertThrows(() => attach(0n, 1), ArgumentError, "got null");
  assertEquals(ended, 2);
});
