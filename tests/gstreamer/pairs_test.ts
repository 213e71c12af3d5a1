// GstBuffers with what else this project does to memory: OpenCV on the device, strided slices, kernels, FFmpeg.

import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, type Frame, host, imageInfo, MapperGraph, region } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { OpenCVContext } from "@samepage/interop/opencv";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { core } from "../../src/opencv/library.ts";
import { noArray } from "../../src/opencv/slots.ts";
import { buildFrames, CFrame, inC } from "../ffmpeg/frames.ts";
import { HERE, open as openOpenCL } from "../opencl/help.ts";
import { openPoCL, testUMat } from "../opencv/help.ts";
import { CBuffer, memory, Owned, planesOf } from "./buffers.ts";
import { missing, Open, testOpen } from "./open.ts";

const withoutPoCL = HERE.includes("pocl") ? "" : " (not here: PoCL)";
const missingFFmpeg = await buildFrames();

testUMat("GstBuffer → UMat × crop × strided slices: OpenCV inverts the part, and nothing beside it", async () => {
  if (missing !== undefined) return console.log(`not here: ${missing}`);
  using open = new Open();
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, open.gst, cl, cv]);
  using made = new CBuffer(memory(64 * 32));
  made.addVideoMeta("GRAY8", [60, 32], [0], [64]);
  made.addCrop(8, 4, 48, 24);
  using frame = open.gst.attach(made.address) as Frame;
  const [plane] = frame.planes;
  assertEquals([plane.layout.shape, plane.layout.strides], [[24, 48], [64, 1]]);
  {
    using part = plane.slice(region(plane.layout, [2, 3], [8, 16]));
    await using umat = graph.map(part, cv.umat);
    assertEquals(umat.route!.bytesMoved, 0);
    const execution = umat.buffer.execution!;
    execution.run(() => core().bitwise_not(umat.slot.input, umat.slot.output, noArray()));
    umat.usedBy(execution.queue.line.waitFor([]));
  }
  const at = (x: number, y: number) => made.bytes().getUint8(64 * y + x);
  const was = (x: number, y: number) => (64 * y + x) & 0xff;
  for (const [x, y] of [[8 + 3, 4 + 2], [8 + 18, 4 + 9]]) assertEquals(at(x, y), was(x, y) ^ 0xff);
  for (const [x, y] of [[8 + 2, 4 + 2], [8 + 19, 4 + 9], [8 + 3, 4 + 10]]) assertEquals(at(x, y), was(x, y));
});

testOpen(`a frame that GStreamer holds × a kernel that wants to write it${withoutPoCL}`, async (open) => {
  if (withoutPoCL) return;
  using cl = openOpenCL("pocl");
  using graph = new MapperGraph([host, open.gst, cl]);
  using made = new CBuffer(memory(64 * 32));
  const caps = "video/x-raw,format=GRAY8,width=64,height=32";
  {
    using _queue = made.again(); // an element's
    using frame = open.gst.attach(made.address, { caps });
    const error = assertThrows(() => graph.map(frame, cl, { access: "read-write" }), AccessError);
    assertEquals(error.argument, "access");
    await using reading = graph.map(frame, cl, { access: "read" }) as Frame<OpenCLTensor>;
    assertThrows(() => cl.queue.fill(reading.planes[0], 7), AccessError);
  }
  using frame = open.gst.attach(made.address, { caps });
  {
    await using writing = graph.map(frame, cl) as Frame<OpenCLTensor>;
    assertEquals(writing.route!.bytesMoved, 0);
    cl.queue.fill(writing.planes[0], 7);
  }
  assertEquals([made.bytes().getUint8(0), made.bytes().getUint8(2047)], [7, 7]);
});

testOpen(`a host's frame that GStreamer holds × a kernel that wants to write it${withoutPoCL}`, async (open) => {
  if (withoutPoCL) return;
  using cl = openOpenCL("pocl");
  using graph = new MapperGraph([host, open.gst, cl]);
  using picture = host.allocateFrame(imageInfo({ format: "GRAY8", width: 64, height: 32 }));
  const mapped = graph.map(picture, open.gst, { access: "read" });
  const lent = new Owned(open.gst.buffer(mapped));
  assertThrows(() => graph.map(picture, cl), AccessError);
  lent[Symbol.dispose]();
  await mapped[Symbol.asyncDispose]();
  await using writing = graph.map(picture, cl) as Frame<OpenCLTensor>;
  cl.queue.fill(writing.planes[0], 7);
});

const without = missingFFmpeg === undefined ? "" : ` (not here: ${missingFFmpeg})`;

testOpen(`FFmpeg's frame → GstBuffer, and a GstBuffer → AVFrame, in place${without}`, async (open) => {
  if (without) return;
  using ffmpeg = FFmpegContext.open();
  using graph = new MapperGraph([host, open.gst, ffmpeg]);
  using avFrame = CFrame.picture("nv12", 64, 32, 64);
  using decoded = ffmpeg.attach(avFrame.pointer);
  {
    await using mapped = graph.map(decoded, open.gst, { access: "read" }) as Frame;
    using lent = new Owned(open.gst.buffer(mapped));
    const places = planesOf(lent.address, "video/x-raw,format=NV12,width=64,height=32");
    assertEquals(places.map(({ address }) => address), [0, 1].map((p) => inC().plane_of(avFrame.pointer, p)));
  }
  using made = new CBuffer(memory(64 * 48));
  using frame = open.gst.attach(made.address, { caps: "video/x-raw,format=NV12,width=64,height=32" });
  await using mapped = graph.map(frame, ffmpeg, { access: "read" }) as Frame;
  using lent = new CFrame(ffmpeg.avFrame(mapped));
  assertEquals([inC().pixel(lent.pointer, 0, 3, 1), inC().pixel(lent.pointer, 2, 3, 1)], [67, (2048 + 64 + 7) & 0xff]);
});
