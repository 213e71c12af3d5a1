/**
 * What tests of EGLStreams share: ends on a GPU, and frames whose pixels tell which frame they are of, and where they lie.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Frame, type ImageInfo, imageInfo } from "../../mod.ts";
import { EglContext, eglDevices } from "../../src/egl/mod.ts";
import { CudaArrayFrame, type CudaContext, type CudaTensor } from "../../src/cuda/mod.ts";
import { gpuTest } from "../cuda/help.ts";
import { lacks } from "./gpu.ts";

/** What most frames are. */
export const INFO: ImageInfo = imageInfo({ format: "RGBA", width: 64, height: 64 });

/** The same, for producers. */
export const SIZE = { format: "RGBA", width: INFO.width, height: INFO.height } as const;

/** EGL on a GPU of CUDA's. */
export function openEgl(ordinal = 0): EglContext {
  return EglContext.open({ device: eglDevices().find(({ cuda }) => cuda === ordinal)!.index });
}

/** A picture in memory of the GPU's. */
export function frameOf(
  cuda: CudaContext,
  { height, width }: Pick<ImageInfo, "height" | "width"> = INFO,
): Frame<CudaTensor> {
  const info = imageInfo({ format: "RGBA", width, height });
  return Frame.of([cuda.allocate({ shape: [height, width, 4], dtype: "u8" })], info);
}

/** A picture in an array. */
export function arrayFrameOf(cuda: CudaContext): CudaArrayFrame {
  return CudaArrayFrame.of([cuda.array({ width: INFO.width, height: INFO.height, channels: 4, dtype: "u8" })], INFO);
}

/** The pixels of a frame: each word has the frame's number in its upper half, and the pixel's in its lower. */
export function pixelsOf(frame: number, count = INFO.width * INFO.height): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(count);
  for (let i = 0; i < count; i++) words[i] = wordAt(frame, i);
  return new Uint8Array(words.buffer);
}

/** Every pixel is of this frame, and where it belongs. */
export function assertPixels(seen: Uint8Array<ArrayBuffer>, frame: number): void {
  const words = new Uint32Array(seen.buffer);
  for (let i = 0; i < words.length; i++) {
    if (words[i] === wordAt(frame, i)) continue;
    assertEquals([words[i] >>> 16, words[i] & 0xffff], [frame & 0xffff, i & 0xffff], `frame ${frame}, pixel ${i}`);
  }
}

function wordAt(frame: number, pixel: number): number {
  return ((frame & 0xffff) << 16 | (pixel & 0xffff)) >>> 0;
}

/** A driver that never gives a frame is a failure, and no hang: after so many milliseconds. */
const LONGEST = 40_000;

/** A test of streams on so many GPUs. */
export function streamTest(name: string, run: () => unknown, count = 1): void {
  gpuTest(
    `EGLStream: ${name}`,
    async () => {
      const { promise, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(new Error(`no end within ${LONGEST} ms`)), LONGEST);
      try {
        await Promise.race([run(), promise]);
      } finally {
        clearTimeout(timer);
      }
    },
    count,
    lacks,
  );
}
