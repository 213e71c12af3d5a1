/** FFmpeg's VA-API frames on a real driver: what it uploads reaches us in place, and ours reaches it. In the guest with a GPU. */
import { assertEquals } from "@std/assert";
import { type Frame, host, ledger, MapperGraph } from "../../../mod.ts";
import { dmabuf } from "../../../src/dmabuf/mod.ts";
import { FFmpegContext } from "../../../src/ffmpeg/mod.ts";
import type { HostTensor } from "../../../src/host/mod.ts";
import { VaapiContext } from "../../../src/vaapi/mod.ts";
import { assertAlive } from "../../alive.ts";
import { until } from "../../conformance/bytes.ts";
import { buildFrames, CFrame, inC } from "../../ffmpeg/frames.ts";
import { value } from "../../ffmpeg/open.ts";
import { picture } from "../../vaapi/pixels.ts";
import { guestTest } from "../needs.ts";

const NODE = "/dev/dri/renderD128";
const [WIDTH, HEIGHT] = [128, 64];
await buildFrames();

interface There {
  readonly va: VaapiContext;
  readonly ffmpeg: FFmpegContext;
  readonly graph: MapperGraph;
}

function test(name: string, fn: (there: There) => unknown): void {
  guestTest(`ffmpeg: ${name}`, async () => {
    VaapiContext.open({ node: NODE })[Symbol.dispose](); // what drivers open once, and keep
    const { alive } = ledger;
    {
      using va = VaapiContext.open({ node: NODE });
      await using ffmpeg = FFmpegContext.open({ on: va });
      using graph = new MapperGraph([host, dmabuf, va]);
      await fn({ va, ffmpeg, graph });
    }
    await until(() => ledger.alive["native.flag"] === undefined);
    await assertAlive(alive, "alive after the test");
  }, [NODE]);
}

type Pixels = Frame<HostTensor>;

function assertPixels(shown: Pixels): void {
  for (const [x, y] of [[0, 0], [9, 3], [WIDTH / 2 - 1, HEIGHT / 2 - 1]]) {
    const [luma, chroma] = shown.planes.map((plane) => [plane.view(), plane.layout.strides[0]] as const);
    assertEquals(luma[0][y * luma[1] + x], value("nv12", 0, x, y), `luma at ${x}, ${y}`);
    assertEquals(chroma[0][y * chroma[1] + 2 * x + 1], value("nv12", 2, x, y), `chroma at ${x}, ${y}`);
  }
}

test("what FFmpeg uploads is in the surface of the frame", ({ va, ffmpeg }) => {
  using graph = new MapperGraph([host, va]); // this driver exports surfaces whole only if they were made for that, as ours are
  const device = ffmpeg.avDevice();
  using made = CFrame.hardware(device, "vaapi", "nv12", WIDTH, HEIGHT);
  inC().unreference(device);
  using from = CFrame.picture("nv12", WIDTH, HEIGHT);
  assertEquals(inC().transfer(made.pointer, from.pointer), 0);
  using frame = ffmpeg.attach(made.pointer);
  assertEquals(frame.target, va as typeof frame.target);
  using copy = graph.map(frame, host, { copy: "allow", access: "read" }) as unknown as Pixels;
  assertPixels(copy);
});

test("a surface of ours that FFmpeg writes shows what it wrote, also by its dma-bufs", async ({ va, ffmpeg, graph }) => {
  await using surface = va.allocateFrame(picture("NV12", WIDTH, HEIGHT));
  {
    using given = new CFrame(ffmpeg.avFrame(surface));
    using from = CFrame.picture("nv12", WIDTH, HEIGHT);
    assertEquals(inC().transfer(given.pointer, from.pointer), 0);
    using back = given.downloaded("nv12", WIDTH, HEIGHT);
    assertEquals(inC().pixel(back.pointer, 2, 9, 3), value("nv12", 2, 9, 3));
  }
  await surface.finished();
  {
    using copy = graph.map(surface, host, { copy: "allow", access: "read" }) as unknown as Pixels;
    assertPixels(copy);
  }
  using other = VaapiContext.open({ node: NODE });
  using wide = new MapperGraph([host, dmabuf, va, other]);
  using buffers = wide.map(surface, dmabuf, { access: "read" });
  using there = wide.map(buffers, other, { access: "read" });
  assertEquals(there.route!.bytesMoved, 0);
  using shown = wide.map(there, host, { copy: "allow", access: "read" }) as unknown as Pixels;
  assertPixels(shown);
});
