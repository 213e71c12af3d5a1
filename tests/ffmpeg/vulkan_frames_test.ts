/** FFmpeg's Vulkan frames as images of ours and back, on lavapipe, on one `VkDevice` and one queue, by turns. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, Frame, imageInfo, ledger } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { VulkanContext, type VulkanImage } from "@samepage/interop/vulkan";
import { until } from "../conformance/bytes.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { CFrame, inC, MAJOR } from "./frames.ts";
import { test, value, withoutDevice } from "./open.ts";

const lacking = MAJOR === 57 ? withoutDevice("vulkan") : "FFmpeg 5.1";
const missing = lacking === undefined ? "" : ` (not here: ${lacking})`;

interface There {
  readonly vulkan: VulkanContext;
  readonly ffmpeg: FFmpegContext;
  readonly device: bigint;
}

function testVulkan(name: string, fn: (there: There) => unknown): void {
  test(
    `${name}${missing}`,
    withEmptyLedger(async () => {
      if (missing) return;
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
  );
}

/** Uploads a picture. FFmpeg 5.1 keeps a reference to the frame of its newest upload, so it has to make another. */
function upload(to: CFrame, from: CFrame): void {
  assertEquals(inC().transfer(to.pointer, from.pointer), 0);
  using other = new CFrame(inC().beside(to.pointer));
  assertEquals(inC().transfer(other.pointer, from.pointer), 0);
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
  await using picture = Frame.of<VulkanImage>(planes, imageInfo({ format: "I420", width: 64, height: 32 }));
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
