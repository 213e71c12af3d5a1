/** Other code's memory by its fd on PoCL, by a simulated driver: buffers, images, who owns the fd, what is handed back. */
import { alive, driver, images, someFd, told, UUID } from "./external/simulated.ts"; // first: it taps the libraries
import { simulated } from "./external/on_simulated.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, host, LayoutError, NativeCallError } from "@samepage/interop";
import { NULL } from "../../ffi/address.ts";
import { CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY } from "../../ffi/opencl/constants.ts";
import { mapPages, unmapPages } from "../../src/core/native/blocks.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { bytesAt } from "../../src/core/native/pin.ts";
import { openFds } from "../gc.ts";

const SIZE = 16384;
const ACQUIRE = "clEnqueueAcquireExternalMemObjectsKHR";
const RELEASE = "clEnqueueReleaseExternalMemObjectsKHR";
const [BUFFER, IMAGE] = ["clCreateBufferWithProperties", "clCreateImageWithProperties"];
const RGBA = { order: "RGBA", type: "UNORM_INT8" } as const;

/** Memory of other code's, which it sees as `bytes`. */
function theirs(): { readonly fd: number; readonly bytes: Uint8Array; [Symbol.dispose](): void } {
  const fd = someFd();
  libc().ftruncate(fd, BigInt(SIZE));
  const address = mapPages(NULL, SIZE, fd);
  return { fd, bytes: bytesAt(address, SIZE, "theirs", []), [Symbol.dispose]: () => unmapPages(address, SIZE) };
}

simulated("a buffer of other code's memory is a part of it, acquired until its tensor ends", (cl) => {
  using other = theirs();
  const fds = openFds();
  {
    using words = cl.importMemory(other.fd, { shape: [64], dtype: "u32", byteOffset: 4096, size: SIZE, uuid: UUID });
    assertEquals([told.splice(0), openFds()], [[BUFFER, ACQUIRE], fds + 1]);
    cl.queue.fill(words, 0x01020304);
    cl.queue.finish();
    assertEquals([...other.bytes.subarray(4094, 4100)], [0, 0, 4, 3, 2, 1]);
    other.bytes.fill(9);
    const seen = new Uint32Array(64);
    cl.queue.read(words, seen);
    assertEquals(seen, new Uint32Array(64).fill(0x09090909));
  }
  assertEquals([told.splice(0), openFds(), alive()], [[RELEASE], fds, 0]);
  let isFreed = false;
  {
    using queue = cl.createQueue();
    queue.waitFor([]);
    const work = queue.fence();
    const unsettled = { after: host.signal(new Promise(() => {})) };
    const init = { shape: [SIZE], dtype: "u8", size: SIZE } as const;
    assertThrows(() => cl.importMemory(other.fd, init, unsettled), AccessError, "could never end"); // an acquire may block
    using bytes = cl.importMemory(other.fd, { shape: [SIZE], dtype: "u8", size: SIZE }, {
      access: "read",
      after: work,
      owner: () => void (isFreed = true),
    });
    assertThrows(() => cl.queue.fill(bytes, 1));
    assertEquals(isFreed, false);
  }
  assertEquals(isFreed, true);
  closeFd(other.fd);
});

simulated("an image of other code's memory, and an array of images", (cl) => {
  using other = theirs();
  const fds = openFds();
  const target = cl.image(RGBA);
  {
    images.length = 0;
    using image = target.importMemory(other.fd, { shape: [32, 64, 4], size: SIZE });
    using layers = target.importMemory(other.fd, { shape: [2, 16, 64, 4], size: SIZE, dedicated: true });
    assertEquals(told.splice(0), [IMAGE, ACQUIRE, IMAGE, ACQUIRE]);
    assertEquals([image.type, layers.type], ["2D", "2D array"]);
    const made = images.map(({ image_type, image_width, image_height }) => [image_type, image_width, image_height]);
    assertEquals(made, [[CL_MEM_OBJECT_IMAGE2D, 64n, 32n], [CL_MEM_OBJECT_IMAGE2D_ARRAY, 64n, 16n]]);
    other.bytes.fill(200);
    const pixels = new Uint8Array(32 * 64 * 4);
    cl.queue.read(image, pixels);
    assertEquals(pixels, new Uint8Array(pixels.length).fill(200));
    cl.queue.fill(image, [1, 1, 1, 1]);
    cl.queue.finish();
    assertEquals(other.bytes[0], 255);
  }
  assertEquals([told.splice(0), openFds(), alive()], [[RELEASE, RELEASE], fds, 0]);
  const refused = (init: object, message: string, at = target) => {
    const all = { shape: [32, 64, 4], size: SIZE, ...init };
    assertThrows(() => at.importMemory(other.fd, all), LayoutError, message);
  };
  refused({ tiling: "linear" }, "OpenCL would show others, without an error");
  refused({ offset: 4096 }, "begins at byte 4096");
  refused({ shape: [32, 64] }, "pixels of 4");
  refused({ shape: [1, 1 << 24, 4] }, "");
  for (const init of [{ tiling: "tiled" }, { offset: -1 }, { offset: SIZE }, { pitch: 256 }]) {
    const all = { shape: [32, 64, 4], size: SIZE, ...init } as never;
    assertThrows(() => target.importMemory(other.fd, all), ArgumentError);
  }
  assertEquals([told, openFds()], [[], fds]);
  closeFd(other.fd);
});

simulated("where the driver refuses, the fd stays the caller's and nothing is left", (cl) => {
  using other = theirs();
  const fds = openFds();
  const init = { shape: [64], dtype: "u8", size: SIZE } as const;
  for (const name of [BUFFER, ACQUIRE]) {
    driver.fails = name;
    assertThrows(() => cl.importMemory(other.fd, init), NativeCallError, name);
    assertEquals([openFds(), alive()], [fds, 0]);
  }
  for (const name of [IMAGE, ACQUIRE]) {
    driver.fails = name;
    const image = { shape: [8, 8, 4], size: SIZE };
    assertThrows(() => cl.image(RGBA).importMemory(other.fd, image), NativeCallError, name);
    assertEquals([openFds(), alive()], [fds, 0]);
  }
  assertThrows(() => cl.importMemory(other.fd, { ...init, size: 2 * SIZE }), ArgumentError, `of ${SIZE} bytes`);
  assertThrows(() => cl.importMemory(other.fd, { ...init, uuid: "ff" }), ArgumentError, "of device ff");
  closeFd(other.fd);
});
