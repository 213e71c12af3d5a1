// Frames of FFmpeg's in OpenCL, and OpenCL's in FFmpeg, on PoCL, which uses memory of the host in place.

import { assertEquals } from "@std/assert";
import { Frame, host, type HostTensor, imageInfo, MapperGraph } from "@samepage/interop";
import type { FFmpegTensor } from "@samepage/interop/ffmpeg";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { HERE, open as openOpenCL } from "../opencl/help.ts";
import { clip, decodedByProgram, missing as missingProgram } from "./clips.ts";
import { CFrame, inC } from "./frames.ts";
import { testOpen, value } from "./open.ts";

const missing = HERE.includes("pocl") ? undefined : "PoCL";

testOpen("OpenCL writes FFmpeg's memory in place", async (open) => {
  using cl = openOpenCL("pocl");
  using graph = new MapperGraph([host, open.ffmpeg, cl]);
  using made = CFrame.picture("nv12", 64, 32, 64);
  using frame = open.attach(made);
  {
    await using mapped = graph.map(frame, cl) as Frame<OpenCLTensor>;
    assertEquals([mapped.route!.bytesMoved, mapped.route!.steps.length], [0, 2]);
    cl.queue.fill(mapped.planes[0], 200);
  }
  for (const [x, y] of [[0, 0], [63, 31]]) {
    assertEquals(inC().pixel(made.pointer, 0, x, y), 200);
  }
  assertEquals(inC().pixel(made.pointer, 2, 3, 1), value("nv12", 2, 3, 1));
}, missing);

testOpen("FFmpeg reads memory of OpenCL's in place", async (open) => {
  using cl = openOpenCL("pocl");
  using graph = new MapperGraph([host, open.ffmpeg, cl]);
  const planes = [[32, 64], [16, 32, 2]].map((shape) => cl.allocate({ shape, dtype: "u8" }));
  using picture = Frame.of(planes, imageInfo({ format: "NV12", width: 64, height: 32 }));
  cl.queue.fill(picture.planes[0], 77);
  await using mapped = graph.map(picture, open.ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
  assertEquals(mapped.route!.bytesMoved, 0);
  using lent = new CFrame(open.ffmpeg.avFrame(mapped));
  assertEquals(inC().pixel(lent.pointer, 0, 63, 31), 77);
}, missing);

testOpen("frames of a file are OpenCL's at once", async (open) => {
  const path = await clip("h264.mp4");
  const wanted = await decodedByProgram(path, "-f", "rawvideo", "-vf", "extractplanes=y");
  using cl = openOpenCL("pocl");
  using graph = new MapperGraph([host, open.ffmpeg, cl]);
  let at = 0;
  for await (using frame of open.ffmpeg.decode(path)) {
    await using mapped = graph.map(frame, cl, { access: "read" }) as Frame<OpenCLTensor>;
    assertEquals(mapped.route!.bytesMoved, 0);
    using luma = cl.allocate({ shape: [120, 160], dtype: "u8" });
    cl.queue.copy(mapped.planes[0], luma);
    await using copied = graph.map(luma, host, { access: "read" }) as HostTensor;
    assertEquals(copied.bytes(), wanted.slice(at, at += luma.byteLength));
  }
  assertEquals(at, wanted.length);
}, missing ?? missingProgram);
