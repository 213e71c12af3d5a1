// Level Zero's driver of the tests, where its dma-bufs are the kernel's: the chains from host memory and from FFmpeg's
// surfaces to the device.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { type Frame, host, LayoutError, MapperGraph } from "../../mod.ts";
import { dmabuf, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import { LevelZeroContext } from "../../src/levelzero/mod.ts";
import { VaapiContext } from "../../src/vaapi/mod.ts";
import { buildFrames, CFrame, inC } from "../ffmpeg/frames.ts";
import { value } from "../ffmpeg/open.ts";
import { openFds } from "../gc.ts";
import { behave, buildDriver, counts, DEVICE, setDrivers } from "../levelzero/drivers.ts";
import { spirvOf } from "../levelzero/spirv.ts";
import * as vaapi from "../vaapi/driver.ts";
import { guestTest } from "./needs.ts";

const missing = await buildDriver();
if (missing === undefined) setDrivers();
await buildFrames();
if (await vaapi.buildDriver() === undefined) vaapi.useDriver();
vaapi.behave();
VaapiContext.open({ node: vaapi.NODE })[Symbol.dispose](); // what libraries open once, and keep

function test(name: string, run: () => void | Promise<void>): void {
  guestTest(`levelzero: ${name}`, async () => {
    assertEquals(missing, undefined);
    behave();
    const before = counts();
    const fds = openFds();
    await run();
    assertEquals(counts(), before);
    assert(openFds() <= fds, `${openFds() - fds} more fds`);
  });
}

test("host memory → udmabuf → Level Zero → host: one block, and no byte is copied", async () => {
  using context = LevelZeroContext.open({ device: DEVICE });
  using graph = new MapperGraph([host, dmabuf, context]);
  using program = context.program(spirvOf());
  using add = program.kernel("add");
  using numbers = host.allocate({ shape: [1024], dtype: "u32", sharable: true });
  numbers.view().fill(41);
  const transfers = graph.explain(numbers, context.usm).steps.map(({ transfer }) => transfer);
  assertEquals(transfers, ["alias", "alias"]); // by way of a dma-buf
  {
    using buffer = graph.map(numbers, dmabuf);
    using part = buffer.slice({ shape: [512], dtype: "u32", byteOffset: 2048 });
    using onDevice = graph.map(part, context.usm);
    assertEquals(onDevice.route.steps.map(({ transfer }) => transfer), ["alias"]);
    add.run({ groups: [8], groupSize: [64] }, [onDevice, 1]);
    await onDevice.finished();
  }
  assertEquals(numbers.view(), new Uint32Array(1024).map((_, i) => i < 512 ? 41 : 42));
  numbers.view().fill(6);
  {
    using onDevice = graph.map(numbers, context.usm);
    add.run({ groups: [16], groupSize: [64] }, [onDevice, 1]);
  }
  assertEquals(numbers.view(), new Uint32Array(1024).fill(7)); // the device saw what the host wrote, and the host the sum
  assertEquals(context.bytesCopied, 0);
});

test("device memory → dmabuf → host: the CPU sees what a kernel wrote, and the device what the CPU wrote", () => {
  using context = LevelZeroContext.open({ device: DEVICE });
  using graph = new MapperGraph([host, dmabuf, context]);
  using memory = context.usm.allocate({ kind: "device", shape: [4096], dtype: "u32" });
  context.queue.fill(memory, 7);
  {
    using part = memory.slice({ shape: [1024], dtype: "u32", byteOffset: 4096 });
    using buffer = graph.map(part, dmabuf);
    using onHost = graph.map(buffer, host);
    assertEquals(onHost.view(), new Uint32Array(1024).fill(7));
    (onHost.view() as Uint32Array).fill(9);
  }
  const seen = new Uint32Array(4096);
  context.queue.read(memory, seen);
  assertEquals(seen, new Uint32Array(4096).map((_, i) => i >= 1024 && i < 2048 ? 9 : 7));
  assertThrows(() => memory.slice({ shape: [4097], dtype: "u32" }), LayoutError);
});

test("FFmpeg → VA-API → dma-buf → Level Zero: a kernel reads the surface that FFmpeg filled", () => {
  using va = VaapiContext.open({ node: vaapi.NODE });
  using ffmpeg = FFmpegContext.open({ on: va });
  using context = LevelZeroContext.open({ device: DEVICE });
  using graph = new MapperGraph([host, dmabuf, va, context]);
  using program = context.program(spirvOf());
  using add = program.kernel("add");
  const device = ffmpeg.avDevice();
  using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  inC().unreference(device);
  using from = CFrame.picture("nv12", 64, 32);
  assertEquals(inC().transfer(made.pointer, from.pointer), 0);

  using surface = ffmpeg.attach(made.pointer, { access: "read" });
  using sum = context.usm.allocate({ kind: "shared", shape: [16, 64], dtype: "u8" });
  {
    using chroma = sum.slice({ shape: [16, 32, 2], dtype: "u8" });
    using buffers = graph.map(surface, dmabuf, { access: "read" }) as unknown as Frame<DmaBufTensor>;
    using onDevice = graph.map(buffers.planes[1], context.usm, { access: "read" }); // behind luma, in the same dma-buf
    assertEquals([surface.target, buffers.route!.bytesMoved, onDevice.route.bytesMoved], [va, 0, 0]);
    context.queue.copy(onDevice, chroma);
  }
  {
    using words = sum.slice({ shape: [256], dtype: "u32" });
    add.run({ groups: [4], groupSize: [64] }, [words, 0x01010101]);
  }
  using seen = graph.map(sum, host, { access: "read" });
  assertEquals(seen.view()[3 * 64 + 9], value("nv12", 2, 4, 3) + 1);
  assertEquals(context.bytesCopied, 0);
});
