/**
 * Consumers of EGLStreams that wait for a frame for a while, on NVIDIA's drivers; and streams by their handles. A stream that
 * is known by its handle once more stands for one whose producer is other code's: samepage does not see what that presents.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError } from "@samepage/interop";
import { CudaContext, CudaStreamConsumer, CudaStreamProducer } from "@samepage/interop/cuda";
import { bytesOf } from "./help.ts";
import { arrayFrameOf, assertPixels, frameOf, INFO, openEgl, pixelsOf, SIZE, streamTest } from "./streams.ts";

/** Microseconds. */
const TIMEOUT = 20_000;

/** How long a call took, in microseconds, for messages. */
function timed<T>(what: string, call: () => T): { readonly result: T; readonly took: number } {
  const start = performance.now();
  const result = call();
  const took = Math.round(1000 * (performance.now() - start));
  console.log(`${what}: ${result === undefined ? "no frame" : "a frame"} after ${took} µs`);
  return { result, took };
}

for (const where of ["here", "elsewhere"] as const) {
  streamTest(`CUDA acquires the previous frame once more, its producer ${where}`, async () => {
    using cuda = CudaContext.open();
    using egl = openEgl();
    using stream = egl.stream({ fifo: 2 });
    using known = egl.attachStream(stream.handle);
    assertEquals([known.fifo, known.reuse, known.state], [2, true, stream.state]);
    using consumer = CudaStreamConsumer.connect(cuda.createStream(), where === "here" ? stream : known);
    assertEquals(timed("while nobody is connected", () => consumer.acquire({ timeout: TIMEOUT })).result, undefined);
    using producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
    assertEquals(timed("before any frame", () => consumer.acquire({ timeout: TIMEOUT })).result, undefined);
    using one = frameOf(cuda);
    using two = frameOf(cuda);
    const seen = new Uint8Array(INFO.width * INFO.height * 4);
    const assertSeen = (frame: typeof one | undefined, n: number) => {
      assert(frame !== undefined, `no frame, and ${n} was to come`);
      consumer.stream.read(frame.planes[0], seen);
      assertPixels(seen, n);
    };
    producer.stream.write(one.planes[0], pixelsOf(1));
    producer.present(one);
    {
      using first = timed("a new frame", () => consumer.acquire({ timeout: TIMEOUT })).result;
      assertSeen(first, 1);
      assertThrows(() => consumer.acquire({ timeout: TIMEOUT }), AccessError, "has the previous frame still");
    }
    for (let i = 0; i < 3; i++) {
      const { result, took } = timed("the previous frame", () => consumer.acquire({ timeout: TIMEOUT }));
      using again = result;
      assertSeen(again, 1);
      assertEquals(stream.consumed, 1);
      if (where === "elsewhere") assert(took >= TIMEOUT / 2, `the driver waited ${took} µs of ${TIMEOUT}`);
    }
    {
      using again = await consumer.next({ timeout: TIMEOUT });
      assertSeen(again, 1);
    }
    producer.stream.write(two.planes[0], pixelsOf(2));
    producer.present(two);
    {
      using last = consumer.acquire();
      assertSeen(last, 2);
    }
    assertEquals(await producer.returned(), 1);
    producer[Symbol.dispose]();
  });
}

streamTest("CUDA acquires nothing once more where the stream keeps no frame", () => {
  using cuda = CudaContext.open();
  using egl = openEgl();
  using stream = egl.stream({ fifo: 2, reuse: false });
  using known = egl.attachStream(stream.handle);
  assertEquals(known.reuse, false);
  using consumer = CudaStreamConsumer.connect(cuda.createStream(), known);
  using producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
  using one = frameOf(cuda);
  producer.present(one);
  consumer.acquire({ timeout: TIMEOUT })![Symbol.dispose]();
  assertEquals(timed("no reuse", () => consumer.acquire({ timeout: TIMEOUT })).result, undefined);
  producer[Symbol.dispose]();
});

for (const where of ["here", "elsewhere"] as const) {
  streamTest(`OpenGL ES shows the previous frame once more, its producer ${where}`, async () => {
    using cuda = CudaContext.open();
    using egl = openEgl();
    using stream = egl.stream({ fifo: 2 });
    using known = egl.attachStream(stream.handle);
    using consumer = egl.consumer(where === "here" ? stream : known);
    using producer = CudaStreamProducer.connect(cuda.createStream(), stream, { ...SIZE, arrays: true });
    using picture = egl.image.allocate(SIZE);
    using pixels = cuda.allocate({ shape: [64, 64, 4], dtype: "u8" });
    assertEquals(timed("before any frame", () => consumer.acquire({ timeout: TIMEOUT })).result, undefined);
    using one = arrayFrameOf(cuda);
    producer.stream.write(pixels, pixelsOf(1));
    producer.stream.copy(pixels, one.arrays[0]);
    producer.present(one);
    consumer.acquire()![Symbol.dispose]();
    for (let i = 0; i < 3; i++) {
      const { result, took } = timed("the previous frame", () => consumer.acquire({ timeout: TIMEOUT }));
      using again = result!;
      egl.queue.fill(picture, [0, 0, 0, 0]);
      again.drawTo(picture);
      assertPixels(bytesOf(egl, picture), 1);
      assertEquals(stream.consumed, 1);
      if (where === "elsewhere") assert(took >= TIMEOUT / 2, `the driver waited ${took} µs of ${TIMEOUT}`);
    }
    (await consumer.next({ timeout: TIMEOUT }))![Symbol.dispose]();
    producer[Symbol.dispose]();
  });
}
