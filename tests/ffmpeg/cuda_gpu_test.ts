/** FFmpeg's CUDA frames on a GPU, in one context and on its stream; with any libavutil that samepage knows. */
import { assertEquals } from "@std/assert";
import type { Frame } from "../../mod.ts";
import { messageOf } from "../../src/core/errors.ts";
import type { CudaTensor } from "../../src/cuda/mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import { avutil } from "../../src/ffmpeg/library.ts";
import { gpuTest, withCuda } from "../cuda/help.ts";
import { UploadedFrame } from "./uploaded.ts";

const [WIDTH, HEIGHT] = [640, 360];

function missingFFmpeg(): string | undefined {
  try {
    FFmpegContext.open()[Symbol.dispose]();
    return undefined;
  } catch (error) {
    return messageOf(error).split(/(?<=\.) /)[0];
  }
}

/** Rows of a plane, without what lies between them. */
function rowsOf({ stream }: { stream: { read(from: CudaTensor, into: Uint8Array): unknown } }, plane: CudaTensor) {
  const { layout: { shape, strides: [stride], byteLength } } = plane;
  const bytes = new Uint8Array(byteLength);
  stream.read(plane, bytes);
  const width = shape[1] * (shape[2] ?? 1);
  return Array.from({ length: shape[0] }, (_, y) => bytes.subarray(y * stride, y * stride + width));
}

gpuTest(
  "ffmpeg: what FFmpeg uploads is in the frame's memory, and what a stream of ours writes is what it downloads",
  () =>
    withCuda(async (cuda) => {
      await using ffmpeg = FFmpegContext.open({ on: cuda });
      const device = ffmpeg.avDevice();
      using made = UploadedFrame.on(device, "cuda", WIDTH, HEIGHT);
      avutil().fns.av_buffer_unref(new BigUint64Array([device]));
      {
        await using frame = ffmpeg.attach(made.pointer) as Frame<CudaTensor>;
        for (const [p, plane] of frame.planes.entries()) {
          for (const [y, row] of rowsOf(cuda, plane).entries()) {
            assertEquals(row.every((byte) => byte === ((16 * p + y) & 0xff)), true, `plane ${p}, row ${y}`);
          }
        }
        using other = cuda.createStream();
        other.fill(frame.planes[0], 77);
        await other.finished();
      }
      using back = UploadedFrame.empty(WIDTH, HEIGHT);
      back.copyFrom(made.pointer);
      assertEquals([back.byteAt(0, WIDTH - 1, HEIGHT - 1), back.byteAt(1, 3, 5)], [77, 21]);
    }),
  1,
  missingFFmpeg(),
);

gpuTest(
  "ffmpeg: memory of ours is a CUDA frame of FFmpeg's, with the pitch that it has",
  () =>
    withCuda(async (cuda) => {
      await using ffmpeg = FFmpegContext.open({ on: cuda });
      const device = ffmpeg.avDevice();
      using source = UploadedFrame.on(device, "cuda", WIDTH, HEIGHT);
      avutil().fns.av_buffer_unref(new BigUint64Array([device]));
      await using frame = ffmpeg.attach(source.pointer) as Frame<CudaTensor>;
      cuda.stream.fill(frame.planes[1], 9);
      await using part = frame.borrow("read");
      const given = ffmpeg.avFrame(part);
      using back = UploadedFrame.empty(WIDTH, HEIGHT);
      back.copyFrom(given);
      avutil().fns.av_frame_free(new BigUint64Array([given]));
      assertEquals([back.byteAt(0, 5, 7), back.byteAt(1, 3, 5)], [7, 9]);
    }),
  1,
  missingFFmpeg(),
);
