/** EGLStreams whose consumer is OpenGL ES: the frame is a texture that a shader samples. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError } from "@samepage/interop";
import { CudaContext, CudaStreamConsumer, CudaStreamProducer } from "@samepage/interop/cuda";
import { bytesOf } from "./help.ts";
import { arrayFrameOf, assertPixels, frameOf, INFO, openEgl, pixelsOf, SIZE, streamTest } from "./streams.ts";

/** The first rows of what was seen, if they are in the other order: for messages. */
function flipped(seen: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const row = INFO.width * 4;
  const out = new Uint8Array(seen.length);
  for (let y = 0; y < INFO.height; y++) out.set(seen.subarray(y * row, (y + 1) * row), (INFO.height - 1 - y) * row);
  return out;
}

/** Tells how the driver has turned the picture, before the test fails. */
function assertSeen(seen: Uint8Array<ArrayBuffer>, frame: number): void {
  try {
    assertPixels(seen, frame);
  } catch (error) {
    try {
      assertPixels(flipped(seen), frame);
      console.log("stream: the rows are upside down");
    } catch {
      console.log(`stream: GL sees ${seen.subarray(0, 16)}, and ${pixelsOf(frame).subarray(0, 16)} were presented`);
    }
    throw error;
  }
}

for (const reuse of [true, false]) {
  streamTest(`300 frames of arrays from CUDA to GL, reuse ${reuse ? "on" : "off"}`, async () => {
    using cuda = CudaContext.open();
    using egl = openEgl();
    using stream = egl.stream({ fifo: 2, reuse });
    using consumer = egl.consumer(stream);
    using producer = CudaStreamProducer.connect(cuda.createStream(), stream, { ...SIZE, arrays: true });
    using linear = cuda.allocate({ shape: [64, 64, 4], dtype: "u8" });
    using picture = egl.image.allocate(SIZE);
    const pool = Array.from({ length: 4 }, () => arrayFrameOf(cuda));
    for (let n = 0; n < 300; n++) {
      while (producer.lent >= 3) await producer.returned();
      producer.stream.write(linear, pixelsOf(n));
      producer.stream.copyToArray(linear, pool[n % 4].arrays[0]);
      assert(producer.present(pool[n % 4]));
      using frame = (await consumer.next())!;
      frame.drawTo(picture);
      assertSeen(bytesOf(egl, picture), n);
    }
    producer[Symbol.dispose]();
  });
}

streamTest("300 frames of pointers from CUDA to GL", async () => {
  using cuda = CudaContext.open();
  using egl = openEgl();
  using stream = egl.stream({ fifo: 2, reuse: false });
  using consumer = egl.consumer(stream);
  using producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
  using picture = egl.image.allocate(SIZE);
  const pool = Array.from({ length: 4 }, () => frameOf(cuda));
  for (let n = 0; n < 300; n++) {
    while (producer.lent >= 3) await producer.returned();
    producer.stream.write(pool[n % 4].planes[0], pixelsOf(n));
    assert(producer.present(pool[n % 4]));
    using frame = (await consumer.next())!;
    frame.drawTo(picture);
    assertSeen(bytesOf(egl, picture), n);
  }
  producer[Symbol.dispose]();
});

for (const arrays of [true, false]) {
  streamTest(`a pipeline of two streams, CUDA to CUDA to GL, ${arrays ? "arrays" : "pointers"}`, async () => {
    using cuda = CudaContext.open();
    using egl = openEgl();
    using first = egl.stream({ fifo: 2, reuse: false });
    using second = egl.stream({ fifo: 2, reuse: false });
    using picture = egl.image.allocate(SIZE);
    using screen = egl.consumer(second);
    if (arrays) {
      const init = { ...SIZE, arrays: true } as const;
      using middle = CudaStreamConsumer.connect(cuda.createStream(), first, { arrays: true });
      using out = CudaStreamProducer.connect(middle.stream, second, init);
      using producer = CudaStreamProducer.connect(cuda.createStream(), first, init);
      using linear = cuda.allocate({ shape: [64, 64, 4], dtype: "u8" });
      const pool = [arrayFrameOf(cuda), arrayFrameOf(cuda)];
      for (let n = 0; n < 100; n++) {
        while (producer.lent > 1) await producer.returned();
        producer.stream.write(linear, pixelsOf(n));
        producer.stream.copyToArray(linear, pool[n % 2].arrays[0]);
        assert(producer.present(pool[n % 2]));
        using frame = (await middle.next())!;
        assert(out.present(frame));
        {
          using shown = (await screen.next())!;
          shown.drawTo(picture);
          assertSeen(bytesOf(egl, picture), n);
        }
        assertEquals(await out.returned(), 1);
        middle.release(frame);
      }
      producer[Symbol.dispose]();
      out[Symbol.dispose]();
    } else {
      using middle = CudaStreamConsumer.connect(cuda.createStream(), first);
      using out = CudaStreamProducer.connect(middle.stream, second, SIZE);
      using producer = CudaStreamProducer.connect(cuda.createStream(), first, SIZE);
      const pool = [frameOf(cuda), frameOf(cuda)];
      for (let n = 0; n < 100; n++) {
        while (producer.lent > 1) await producer.returned();
        producer.stream.write(pool[n % 2].planes[0], pixelsOf(n));
        assert(producer.present(pool[n % 2]));
        using frame = (await middle.next())!;
        assert(out.present(frame));
        {
          using shown = (await screen.next())!;
          shown.drawTo(picture);
          assertSeen(bytesOf(egl, picture), n);
        }
        assertEquals(await out.returned(), 1);
        middle.release(frame);
      }
      producer[Symbol.dispose]();
      out[Symbol.dispose]();
    }
  });
}

streamTest("a consumer of GL's connects first and once, and has one frame at a time", async () => {
  using cuda = CudaContext.open();
  using egl = openEgl();
  using other = openEgl();
  using stream = egl.stream({ fifo: 3, reuse: false });
  assertThrows(() => other.consumer(stream), ArgumentError, "another context's");
  using consumer = egl.consumer(stream);
  assertThrows(() => egl.consumer(stream), ArgumentError, 'got "connecting"');
  assertThrows(() => CudaStreamConsumer.connect(cuda.stream, stream), ArgumentError, 'got "connecting"');
  assertEquals([stream.state, consumer.acquire(), consumer.isOpen], ["connecting", undefined, true]);
  using producer = CudaStreamProducer.connect(cuda.createStream(), stream, { ...SIZE, arrays: true });
  const pool = [arrayFrameOf(cuda), arrayFrameOf(cuda)];
  for (const frame of pool) producer.present(frame);
  const one = consumer.acquire()!;
  assertThrows(() => consumer.acquire(), AccessError, "has a frame already");
  one[Symbol.dispose]();
  assertThrows(() => one.texture, DisposedError);
  using two = consumer.acquire()!;
  assert(two.texture > 0);
  producer[Symbol.dispose]();
  assertThrows(() => two.texture, DisposedError);
  assertEquals([stream.state, await consumer.next()], ["disconnected", undefined]);
});
