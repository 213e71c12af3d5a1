/** OpenGL ES as the producer of EGLStreams, on NVIDIA's drivers: to CUDA, and to OpenGL ES. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError } from "@samepage/interop";
import { CudaContext, CudaStreamConsumer } from "@samepage/interop/cuda";
import type { EglContext } from "@samepage/interop/egl";
import { bytesOf } from "./help.ts";
import { assertPixels, INFO, openEgl, pixelsOf, SIZE, streamTest } from "./streams.ts";

const FRAMES = 100;
const { width, height } = INFO;
const EXTENSION = "EGL_KHR_stream_producer_eglsurface";

/** A test of a driver with producers in OpenGL ES; another one has to refuse them. */
function producerTest(name: string, run: (egl: EglContext, cuda: CudaContext) => unknown): void {
  streamTest(`GL produces: ${name}`, async () => {
    using cuda = CudaContext.open();
    using egl = openEgl();
    if (egl.extensions.includes(EXTENSION)) return await run(egl, cuda);
    console.log(`stream: the driver has no ${EXTENSION}, and was to refuse a producer of GL's`);
    using stream = egl.stream();
    using _consumer = egl.consumer(stream);
    assertThrows(() => egl.producer(stream, { width, height }), ArgumentError, `has no ${EXTENSION}`);
  });
}

/** Says what was seen in place of a frame, if it is not that. NVIDIA's driver gives CUDA BGRA. */
function assertSeen(seen: Uint8Array<ArrayBuffer>, frame: number, format: string): void {
  try {
    assertPixels(asRgba(seen, format), frame);
  } catch (error) {
    const wanted = pixelsOf(frame);
    const row = 4 * width;
    const last = wanted.subarray(wanted.length - row, wanted.length - row + 16);
    console.log(`stream: frame ${frame} begins with ${seen.subarray(0, 16)}`);
    console.log(`stream: ${wanted.subarray(0, 16)} was presented first, and ${last} in the last row`);
    throw error;
  }
}

function asRgba(pixels: Uint8Array<ArrayBuffer>, format: string): Uint8Array<ArrayBuffer> {
  if (format === "RGBA") return pixels;
  assertEquals(format, "BGRA");
  const [b, r] = [0, 2];
  return Uint8Array.from(pixels, (byte, i) => i % 4 === b || i % 4 === r ? pixels[i - (i % 4) + (2 - i % 4)] : byte);
}

for (const reuse of [true, false]) {
  producerTest(`${FRAMES} pictures to CUDA's arrays, reuse ${reuse ? "on" : "off"}`, async (egl, cuda) => {
    using stream = egl.stream({ fifo: 1, reuse });
    using consumer = CudaStreamConsumer.connect(cuda.createStream(), stream, { arrays: true });
    using producer = egl.producer(stream, { width, height });
    using picture = egl.image.allocate(SIZE);
    using pixels = cuda.allocate({ shape: [height, width, 4], dtype: "u8" });
    const seen = new Uint8Array(pixels.layout.byteLength);
    for (let n = 0; n < FRAMES; n++) {
      egl.queue.write(picture, pixelsOf(n));
      assert(producer.present(picture), `frame ${n} was not taken: the stream is "${stream.state}"`);
      using frame = (await consumer.next())!;
      if (n === 0) console.log(`stream: CUDA sees ${frame.info.format} in ${frame.arrays.length} arrays`);
      consumer.stream.copy(frame.arrays[0], pixels);
      consumer.stream.read(pixels, seen);
      assertSeen(seen, n, frame.info.format);
    }
    producer[Symbol.dispose]();
    assertEquals([stream.state, await consumer.next()], ["disconnected", undefined]);
  });
}

producerTest("pictures to OpenGL ES, in one context", async (egl) => {
  using stream = egl.stream({ fifo: 1, reuse: false });
  using consumer = egl.consumer(stream);
  using producer = egl.producer(stream, { width, height });
  using picture = egl.image.allocate(SIZE);
  using screen = egl.image.allocate(SIZE);
  for (let n = 0; n < FRAMES; n++) {
    egl.queue.write(picture, pixelsOf(n));
    assert(producer.present(picture), `frame ${n} was not taken: the stream is "${stream.state}"`);
    using frame = (await consumer.next())!;
    frame.drawTo(screen);
    assertSeen(bytesOf(egl, screen), n, "RGBA");
  }
  producer[Symbol.dispose]();
});

producerTest("what a program draws, to CUDA", async (egl, cuda) => {
  using stream = egl.stream({ fifo: 1 });
  using consumer = CudaStreamConsumer.connect(cuda.createStream(), stream, { arrays: true });
  using producer = egl.producer(stream, { width, height });
  using pixels = cuda.allocate({ shape: [height, width, 4], dtype: "u8" });
  const colour = Float32Array.of(1, 0, 0, 1);
  assert(producer.draw([], (gl) => gl.glClearBufferfv(0x1800, 0, colour))); // GL_COLOR
  using frame = (await consumer.next())!;
  consumer.stream.copy(frame.arrays[0], pixels);
  const seen = new Uint8Array(pixels.layout.byteLength);
  consumer.stream.read(pixels, seen);
  const red = asRgba(seen, frame.info.format);
  for (let i = 0; i < red.length; i += 4) assertEquals(red.subarray(i, i + 4), Uint8Array.of(255, 0, 0, 255));
  frame[Symbol.dispose]();
  producer[Symbol.dispose]();
});
