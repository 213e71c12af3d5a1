/** FFmpeg's Vulkan frames as images of ours and back, on lavapipe, on one `VkDevice` and one queue, by turns. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, Frame, imageInfo, ledger } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { VulkanContext, type VulkanHandles, type VulkanImage } from "@samepage/interop/vulkan";
import type { Address } from "../../ffi/address.ts";
import { AV_FRAME_DATA_DISPLAYMATRIX } from "../../ffi/avutil57/constants.ts";
import { VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO } from "../../ffi/vulkan/constants.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { textAt } from "../../src/core/native/text.ts";
import { bufferBytes } from "../../src/ffmpeg/frame.ts";
import { struct } from "../../src/ffmpeg/library.ts";
import { until } from "../conformance/bytes.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { CFrame, cText, inC } from "./frames.ts";
import { test, value, withoutVulkan } from "./open.ts";

const lacking = withoutVulkan();

interface There {
  readonly vulkan: VulkanContext;
  readonly ffmpeg: FFmpegContext;
  readonly device: bigint;
}

function testVulkan(name: string, fn: (there: There) => unknown): void {
  test(
    name,
    withEmptyLedger(async () => {
      {
        using vulkan = VulkanContext.open();
        await using ffmpeg = FFmpegContext.open({ on: vulkan });
        const device = ffmpeg.avDevice();
        try {
          await fn({ vulkan, ffmpeg, device });
        } finally {
          inC().unreference(device);
        }
      }
      await until(() => ledger.alive["native.flag"] === undefined);
    }),
    lacking,
  );
}

/** Uploads a picture. FFmpeg 5.1 keeps a reference to the frame of its newest upload, so it has to make another. */
function upload(to: CFrame, from: CFrame): void {
  assertEquals(inC().transfer(to.pointer, from.pointer), 0);
  using other = new CFrame(inC().beside(to.pointer));
  assertEquals(inC().transfer(other.pointer, from.pointer), 0);
}

const SIZE = { width: 64, height: 32 };

interface Semaphores {
  vkSignalSemaphore(device: bigint, info: BigUint64Array<ArrayBuffer>): number;
  vkGetSemaphoreCounterValue(device: bigint, semaphore: bigint, value: BigUint64Array<ArrayBuffer>): number;
  vkGetDeviceQueue(device: bigint, family: number, index: number, queue: BigUint64Array<ArrayBuffer>): void;
}

let opened: Semaphores | undefined;
const loader = () =>
  opened ??= Deno.dlopen("libvulkan.so.1", {
    vkSignalSemaphore: { parameters: ["u64", "buffer"], result: "i32" },
    vkGetSemaphoreCounterValue: { parameters: ["u64", "u64", "buffer"], result: "i32" },
    vkGetDeviceQueue: { parameters: ["u64", "u32", "u32", "buffer"], result: "void" },
  }).symbols;

/** Signals a timeline from the host, as a command of FFmpeg's does once it is over. */
function signal({ handle }: VulkanContext, semaphore: bigint, value: bigint): void {
  const info = [BigInt(VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO), 0n, semaphore, value];
  assertEquals(loader().vkSignalSemaphore(handle, BigUint64Array.from(info)), 0);
}

function counterOf({ handle }: VulkanContext, semaphore: bigint): bigint {
  const out = new BigUint64Array(1);
  assertEquals(loader().vkGetSemaphoreCounterValue(handle, semaphore, out), 0);
  return out[0];
}

/** What a program of FFmpeg's reads in its AVVulkanDeviceContext. */
function theirDevice(reference: bigint): VulkanHandles {
  const { hwctx } = struct.at("AVHWDeviceContext", bufferBytes(reference as Address));
  const of = struct.at("AVVulkanDeviceContext", hwctx);
  const names = viewAt(of.enabled_dev_extensions, 8 * of.nb_enabled_dev_extensions, "ffmpeg");
  const extensions = Array.from({ length: of.nb_enabled_dev_extensions }, (_, i) => {
    return textAt(names.getBigUint64(8 * i, true) as Address)!;
  });
  const queue = new BigUint64Array(1);
  loader().vkGetDeviceQueue(of.act_dev, of.queue_family_comp_index, 0, queue);
  const handles = { instance: of.inst, physicalDevice: of.phys_dev, device: of.act_dev, queue: queue[0] };
  return { ...handles, queueFamily: of.queue_family_comp_index, extensions };
}

const FORMATS = [["rgba", "RGBA"], ["bgra", "BGRA"], ["gray", "GRAY8"], ["yuv420p", "I420"], ["nv12", "NV12"]] as const;

for (const [theirs, ours] of FORMATS) {
  testVulkan(
    `FFmpeg's ${theirs} frames are images of ours, which read what it uploads and write what it downloads`,
    ({ vulkan, ffmpeg, device }) => {
      using made = CFrame.hardware(device, "vulkan", theirs, 64, 32);
      using from = CFrame.picture(theirs, 64, 32);
      upload(made, from);
      using frame = ffmpeg.attach(made.pointer) as Frame<VulkanImage>;
      assertEquals([frame.info.format, frame.target.context, frame.access], [ours, vulkan, "read-write"]);
      const last = frame.planes[frame.planes.length - 1];
      const bytes = new Uint8Array(last.layout.byteLength);
      vulkan.queue.read(last, bytes);
      const c = theirs === "gray" ? 0 : 2;
      const [width, channels] = [last.layout.shape[1], last.layout.shape[2] ?? 1];
      const channel = theirs === "rgba" ? 2 : theirs === "bgra" ? 0 : channels - 1;
      assertEquals(bytes[(3 * width + 5) * channels + channel], value(theirs, c, 5, 3));
      for (const turn of [0xff, 0x0f]) { // each of both reads what the other has written last
        vulkan.queue.write(last, bytes.map((byte) => byte ^ turn));
        using back = made.downloaded(theirs, 64, 32);
        assertEquals(inC().pixel(back.pointer, c, 5, 3), value(theirs, c, 5, 3) ^ turn);
      }
      upload(made, from);
      vulkan.queue.read(last, bytes);
      assertEquals(bytes[(3 * width + 5) * channels + channel], value(theirs, c, 5, 3));
      assertEquals(made.references, 2);
      frame[Symbol.dispose]();
      assertEquals(made.references, 1);
    },
  );
}

testVulkan("images of ours are a frame of FFmpeg's, which waits for their work", async ({ vulkan, ffmpeg }) => {
  const r = vulkan.image("R8_UNORM");
  const planes = [[32, 64], [16, 32], [16, 32]].map((shape) => r.allocate({ shape }));
  await using picture = Frame.of(planes, imageInfo({ format: "I420", width: 64, height: 32 }));
  for (const [i, plane] of planes.entries()) {
    vulkan.queue.write(plane, new Uint8Array(plane.layout.byteLength).fill(9 + i));
  }
  {
    using given = new CFrame(ffmpeg.avFrame(picture));
    using back = given.downloaded("yuv420p", 64, 32);
    assertEquals([inC().pixel(back.pointer, 0, 63, 31), inC().pixel(back.pointer, 2, 1, 1)], [9, 11]);
    using from = CFrame.picture("yuv420p", 64, 32);
    upload(given, from);
    const error = assertThrows(() => ffmpeg.attach(given.pointer), ArgumentError);
    assertStringIncludes(error.message, "over a tensor's memory");
  }
  const bytes = new Uint8Array(16 * 32);
  vulkan.queue.read(planes[2], bytes); // once FFmpeg is through with it
  assertEquals(bytes[3 * 32 + 5], value("yuv420p", 2, 5, 3));
  using again = new CFrame(ffmpeg.avFrame(picture));
  using back = again.downloaded("yuv420p", 64, 32);
  assertEquals(inC().pixel(back.pointer, 2, 5, 3), value("yuv420p", 2, 5, 3));
});

testVulkan("a command of ours waits on the device for what FFmpeg has begun", async ({ vulkan, ffmpeg, device }) => {
  using made = CFrame.hardware(device, "vulkan", "gray", 64, 32);
  await using frame = ffmpeg.attach(made.pointer, { access: "read" }) as Frame<VulkanImage>;
  const object = frame.planes[0].rawHandle;
  const turns = object.turns!;
  turns.value++; // what FFmpeg does as it submits a command
  const fence = vulkan.line.submitRaw({ fn: "vkQueueSubmit", call: (lane) => lane.run([object], () => {}) });
  const value = turns.value;
  await new Promise((resolve) => setTimeout(resolve, 30));
  assertEquals(fence.line.isOver(fence.mark), false);
  signal(vulkan, turns.semaphore, value - 1n);
  await fence;
  assertEquals([turns.value, counterOf(vulkan, turns.semaphore)], [value, value]);
});

testVulkan("side data is the frame's metadata, and side data again", async ({ ffmpeg, device }) => {
  using made = CFrame.hardware(device, "vulkan", "gray", 64, 32);
  inC().add_side_data(made.pointer);
  await using frame = ffmpeg.attach(made.pointer);
  assertEquals(frame.metadata.get("contentLight"), { most: 4000000000, average: 400 });
  using given = new CFrame(ffmpeg.avFrame(frame));
  const [theirs, ours] = [made, given].map(({ pointer }) => inC().side_byte(pointer, AV_FRAME_DATA_DISPLAYMATRIX, 4));
  assertEquals([theirs >= 0, ours], [true, theirs]);
});

testVulkan("images of one of FFmpeg's frames are planes of no other", async ({ vulkan, ffmpeg }) => {
  const info = imageInfo({ format: "GRAY8", width: 64, height: 32 });
  const image = vulkan.image("R8_UNORM").allocate({ shape: [32, 64] });
  await using picture = Frame.of([image], info);
  new CFrame(ffmpeg.avFrame(picture))[Symbol.dispose]();
  const chroma = vulkan.image("R8G8_UNORM").allocate({ shape: [16, 32, 2] });
  await using other = Frame.of(
    [image.slice(image.layout), chroma],
    imageInfo({ ...SIZE, format: "NV12" }),
  );
  const error = assertThrows(() => ffmpeg.avFrame(other), ArgumentError);
  assertStringIncludes(error.message, "a plane of another of FFmpeg's frames");
});

testVulkan("a frame of FFmpeg's goes back to it as the same AVVkFrame", async ({ ffmpeg, device }) => {
  using made = CFrame.hardware(device, "vulkan", "nv12", 64, 32);
  await using frame = ffmpeg.attach(made.pointer);
  using given = new CFrame(ffmpeg.avFrame(frame));
  assertEquals(inC().plane_of(given.pointer, 0), inC().plane_of(made.pointer, 0));
});

testVulkan("buffers, and images of other formats, are not a frame of FFmpeg's", ({ vulkan, ffmpeg }) => {
  using buffers = Frame.of(
    [vulkan.allocate({ shape: [32, 64], dtype: "u8" })],
    imageInfo({ ...SIZE, format: "GRAY8" }),
  );
  assertStringIncludes(assertThrows(() => ffmpeg.avFrame(buffers), ArgumentError).message, "images of R8_UNORM, got");
  using integers = Frame.of(
    [vulkan.image("R8_UINT").allocate({ shape: [32, 64] })],
    imageInfo({ ...SIZE, format: "GRAY8" }),
  );
  assertStringIncludes(assertThrows(() => ffmpeg.avFrame(integers), ArgumentError).message, "got R8_UINT");
  using rows = Frame.of(
    [vulkan.image("R8_UNORM").allocate({ shape: [32, 64], tiling: "linear" })],
    imageInfo({ ...SIZE, format: "GRAY8" }),
  );
  assertStringIncludes(assertThrows(() => ffmpeg.avFrame(rows), ArgumentError).message, "the driver's own order");
});

testVulkan("a frame of FFmpeg's own device is refused, and taken where ours stands on that", async ({ ffmpeg }) => {
  const own = inC().own_device(cText("vulkan"));
  try {
    using made = CFrame.hardware(own, "vulkan", "gray", 64, 32);
    using from = CFrame.picture("gray", 64, 32);
    upload(made, from);
    const error = assertThrows(() => ffmpeg.attach(made.pointer), ArgumentError);
    const theirs = theirDevice(own);
    assertStringIncludes(error.hint!, `VulkanContext.attach({ device: ${theirs.device}n`);
    using vulkan = VulkanContext.attach(theirs);
    await using standing = FFmpegContext.open({ on: vulkan });
    using frame = standing.attach(made.pointer) as Frame<VulkanImage>;
    const bytes = new Uint8Array(64 * 32);
    vulkan.queue.read(frame.planes[0], bytes);
    assertEquals(bytes[3 * 64 + 5], value("gray", 0, 5, 3));
  } finally {
    inC().unreference(own);
  }
});

testVulkan("an AVFrame that is attached again and again gives each reference back, while one frame lives", (there) => {
  const { ffmpeg, device } = there;
  using made = CFrame.hardware(device, "vulkan", "nv12", 64, 32);
  using first = ffmpeg.attach(made.pointer, { access: "read" }) as Frame<VulkanImage>;
  for (let time = 0; time < 3; time++) {
    using again = ffmpeg.attach(made.pointer, { access: "read" });
    assertEquals([made.references, again.info], [3, first.info]);
  }
  assertEquals(made.references, 2);
});
