/** Other code's Vulkan memory by its fds, on a real driver (lavapipe): a C program makes and fills it, samepage reads it. */
import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, LayoutError, NativeCallError } from "@samepage/interop";
import { closeFd, kindOfFile, statusOf } from "../../src/core/native/fd.ts";
import { EFD_CLOEXEC, EPOLL_CLOEXEC, O_RDWR } from "../../ffi/libc/constants.ts";
import { libc } from "../../src/core/native/libc.ts";
import { cString } from "../../src/core/native/text.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { ForeignVulkan, lackingForeign } from "./foreign/mod.ts";
import { missing, test, unless } from "./help.ts";

const WORDS = 1 << 16;
const [WIDTH, HEIGHT] = [70, 33];
const lacks = missing() === undefined
  ? await lackingForeign() ?? unless(({ openDevice }) => openDevice.abilities.opaqueFd.imports, "memory by opaque fds")
  : undefined;

test("a buffer of other code's by its fd: both sides see what the other wrote", (vulkan) => {
  const fds = openFds();
  {
    using theirs = new ForeignVulkan(vulkan.id.uuid!);
    const fd = theirs.buffer(4 * WORDS);
    using words = vulkan.importMemory(fd, { shape: [WORDS], dtype: "u32", ...theirs.made });
    using part = vulkan.importMemory(fd, { shape: [4], dtype: "u32", byteOffset: 4096, ...theirs.made });
    closeFd(fd); // ours all the time
    const seen = new Uint32Array(WORDS);
    for (const word of [7, 0xdead_beef]) {
      theirs.fill(word);
      vulkan.queue.read(words, seen);
      assertEquals(seen, new Uint32Array(WORDS).fill(word));
    }
    vulkan.queue.fill(part, 9);
    vulkan.queue.read(words, seen);
    assertEquals([...seen.subarray(1023, 1029)], [0xdead_beef, 9, 9, 9, 9, 0xdead_beef]);
  }
  assertOpenFds(fds);
}, lacks);

test("an image of other code's by its fd: its pixels come in the driver's own order", (vulkan) => {
  const fds = openFds();
  {
    using theirs = new ForeignVulkan(vulkan.id.uuid!);
    const fd = theirs.image(WIDTH, HEIGHT);
    const target = vulkan.image("R8G8B8A8_UNORM");
    const init = { shape: [HEIGHT, WIDTH, 4], ...theirs.made, dedicated: true };
    theirs.fill(77);
    using image = target.importMemory(fd, init);
    assertThrows(() => target.importMemory(fd, { ...init, offset: 256 }), LayoutError, "begins at byte 256");
    assertThrows(() => target.importMemory(fd, { ...init, shape: [HEIGHT, WIDTH] }), LayoutError, "pixels of 4");
    assertThrows(() => target.importMemory(fd, { ...init, shape: [1 << 20, 1, 4] }), LayoutError);
    closeFd(fd);
    const pixels = new Uint8Array(WIDTH * HEIGHT * 4);
    vulkan.queue.read(image, pixels);
    assertEquals(pixels, new Uint8Array(pixels.length).fill(77));
    vulkan.queue.fill(image, [1, 1, 1, 1]);
    vulkan.queue.read(image, pixels);
    assertEquals(pixels, new Uint8Array(pixels.length).fill(255));
  }
  assertOpenFds(fds);
}, lacks);

test("importMemory() refuses fds in which lavapipe would wait for ever", (vulkan) => {
  const [event, events] = [libc().eventfd(0, EFD_CLOEXEC), libc().epoll_create1(EPOLL_CLOEXEC)];
  try {
    const fds = openFds();
    for (const fd of [event, events]) {
      const import_ = () => vulkan.importMemory(fd, { shape: [4096], dtype: "u8", size: 4096 });
      assertThrows(import_, ArgumentError, "fd: expected memory, got another kind of fd");
    }
    assertOpenFds(fds);
  } finally {
    closeFd(event);
    closeFd(events);
  }
}, lacks);

test("what is said wrongly of other code's memory is refused, and its fd stays the caller's", (vulkan) => {
  using theirs = new ForeignVulkan(vulkan.id.uuid!);
  const fd = theirs.buffer(4096);
  const fds = openFds();
  const { size, type, uuid } = theirs.made;
  const bytes = { shape: [size], dtype: "u8" } as const;
  const import_ = (init: object, given = fd) => vulkan.importMemory(given, { ...bytes, size, type, ...init });
  assertThrows(() => import_({ byteOffset: 1 }), LayoutError, `reaches to byte ${size + 1}`);
  assertThrows(() => import_({ uuid: "00" + uuid.slice(2) }), ArgumentError, "uuid: the memory is of device 00");
  for (const wrong of [0, -1, 1.5, "1", undefined]) {
    assertThrows(() => import_({ size: wrong }), ArgumentError, "size:");
  }
  for (const wrong of [32, -1, "0"]) assertThrows(() => import_({ type: wrong }), ArgumentError, "type:");
  if (kindOfFile(statusOf(fd).mode) === "a regular file") { // only such a file has a size: a GPU's driver checks none
    assertThrows(() => import_({ size: 16 * size }), ArgumentError, "the fd is of a file of");
  }
  assertThrows(() => import_({ dedicated: 1 }), ArgumentError, "dedicated");
  assertThrows(() => import_({}, -1), ArgumentError, "expected an fd");
  const closed = libc().memfd_create(cString("closed"), 0);
  closeFd(closed);
  assertThrows(() => import_({}, closed), ArgumentError, `${closed} is not open`);
  const other = libc().open(cString("/dev/null"), O_RDWR, 0);
  assertThrows(() => import_({}, other), NativeCallError);
  closeFd(other);
  assertOpenFds(fds);
  closeFd(fd);
}, lacks);
