// What the tests of dma-bufs expect of the machine that they run on, asked of the kernel itself.

import { assert, assertEquals } from "@std/assert";
import { allocateFromHeap, exportSyncFile, makeMemfd, makeUdmabuf, VgemFence } from "./kernel.ts";
import { guestTest } from "./needs.ts";

const LENGTH = 64 * 1024;

guestTest("the kernel is 6.2 or later, which can export and import sync files", () => {
  const [major, minor] = Deno.osRelease().split(".").map(Number);
  assert(major > 6 || (major === 6 && minor >= 2), Deno.osRelease());
});

guestTest("a udmabuf over a memfd is the same memory", () => {
  using memfd = makeMemfd(LENGTH);
  using dmabuf = makeUdmabuf(memfd, LENGTH);
  using one = memfd.map(LENGTH);
  using other = dmabuf.map(LENGTH);
  one.bytes[100] = 77;
  assertEquals(other.bytes[100], 77);
  other.bytes[LENGTH - 1] = 78;
  assertEquals(one.bytes[LENGTH - 1], 78);
});

guestTest("the system's heap allocates a dma-buf that is zeroed", () => {
  using dmabuf = allocateFromHeap("system", LENGTH);
  using mapping = dmabuf.map(LENGTH);
  assert(mapping.bytes.every((byte) => byte === 0));
}, ["/dev/dma_heap/system"]);

guestTest("an unused dma-buf exports a sync file that is signalled", () => {
  using memfd = makeMemfd(LENGTH);
  using dmabuf = makeUdmabuf(memfd, LENGTH);
  using fences = exportSyncFile(dmabuf, "write");
  assert(fences.is("readable"));
});

guestTest("a fence of vgem's holds a udmabuf back until it is signalled", () => {
  using memfd = makeMemfd(LENGTH);
  using dmabuf = makeUdmabuf(memfd, LENGTH);
  using writer = new VgemFence(dmabuf, "write");
  using untilRead = exportSyncFile(dmabuf, "read");
  assertEquals([dmabuf.is("readable"), dmabuf.is("writable"), untilRead.is("readable")], [false, false, false]);
  writer.signal();
  assertEquals([dmabuf.is("readable"), dmabuf.is("writable"), untilRead.is("readable")], [true, true, true]);
}, ["/dev/udmabuf", "/dev/dri/card0"]);

guestTest("a reader's fence holds back writers alone, until its device is closed", () => {
  using memfd = makeMemfd(LENGTH);
  using dmabuf = makeUdmabuf(memfd, LENGTH);
  const reader = new VgemFence(dmabuf, "read");
  using untilRead = exportSyncFile(dmabuf, "read");
  using untilWritten = exportSyncFile(dmabuf, "write");
  assertEquals([untilRead.is("readable"), untilWritten.is("readable")], [true, false]);
  reader[Symbol.dispose]();
  assertEquals([untilRead.is("readable"), untilWritten.is("readable")], [true, true]);
}, ["/dev/udmabuf", "/dev/dri/card0"]);
