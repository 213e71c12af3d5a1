/** EGLStreams between CUDA and CUDA, on NVIDIA's drivers. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, LayoutError, NativeCallError } from "@samepage/interop";
import type { EglStream, EglStreamInit } from "@samepage/interop/egl";
import { CudaContext, CudaStreamConsumer, CudaStreamProducer } from "@samepage/interop/cuda";
import { arrayFrameOf, assertPixels, frameOf, INFO, openEgl, pixelsOf, SIZE, streamTest } from "./streams.ts";

const FRAMES = 10_000;
const POOL = 8;

/** Two ends of a stream in one context. */
interface Ends {
  readonly cuda: CudaContext;
  readonly stream: EglStream;
  readonly consumer: CudaStreamConsumer;
  readonly producer: CudaStreamProducer;
}

/** A test of both ends. */
function endsTest(name: string, init: EglStreamInit, run: (ends: Ends) => unknown): void {
  streamTest(`${name}`, async () => {
    using cuda = CudaContext.open();
    using egl = openEgl();
    using stream = egl.stream(init);
    using consumer = CudaStreamConsumer.connect(cuda.createStream(), stream);
    using producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
    await run({ cuda, stream, consumer, producer });
  });
}

/** So many frames, from one CUDA stream to another; each is checked. */
async function sendAll({ cuda, consumer, producer }: Ends, frames: number): Promise<void> {
  const pool = Array.from({ length: POOL }, () => frameOf(cuda));
  const seen = new Uint8Array(INFO.width * INFO.height * 4);
  const consume = async () => {
    let read = 0;
    for await (using frame of consumer) {
      consumer.stream.read(frame.planes[0], seen);
      assertPixels(seen, read);
      if (++read === frames) return read;
    }
    return read;
  };
  const consuming = consume();
  const writer = producer.writable.getWriter();
  for (let n = 0; n < frames; n++) {
    while (producer.lent >= POOL - 1) await producer.returned();
    const frame = pool[n % POOL];
    producer.stream.write(frame.planes[0], pixelsOf(n));
    await writer.write(frame);
  }
  assertEquals(await consuming, frames);
  await writer.close();
  for (const frame of pool) frame[Symbol.dispose]();
}

for (const reuse of [true, false]) {
  for (const fifo of [4, 1]) {
    const count = fifo === 4 ? FRAMES : 1000;
    endsTest(
      `${count} frames, fifo ${fifo}, none lost, none torn, reuse ${reuse ? "on" : "off"}`,
      { fifo, reuse },
      async (ends) => {
        const start = performance.now();
        await sendAll(ends, count);
        console.log(
          `stream: ${((1000 * (performance.now() - start)) / count).toFixed(1)} µs a frame, with both copies`,
        );
      },
    );
  }
}

for (const reuse of [true, false]) {
  endsTest(
    `a mailbox keeps the newest frame, reuse ${reuse ? "on" : "off"}`,
    { reuse },
    ({ cuda, consumer, producer }) => {
      const pool = Array.from({ length: 4 }, () => frameOf(cuda));
      const seen = new Uint8Array(INFO.width * INFO.height * 4);
      for (let n = 0; n < 20; n++) {
        const frame = pool[n % 4];
        producer.takeBack();
        producer.stream.write(frame.planes[0], pixelsOf(n));
        assert(producer.present(frame), `frame ${n}, ${producer.lent} in the stream`);
      }
      using newest = consumer.acquire()!;
      consumer.stream.read(newest.planes[0], seen);
      assertPixels(seen, 19);
      assertEquals(consumer.acquire(), undefined);
      producer[Symbol.dispose]();
      for (const frame of pool) frame[Symbol.dispose]();
    },
  );
}

endsTest("states, and the numbers of frames", { fifo: 2, reuse: false }, ({ cuda, stream, consumer, producer }) => {
  using one = frameOf(cuda);
  using two = frameOf(cuda);
  const { state } = stream;
  producer.present(one);
  const presented = [stream.state, stream.produced, stream.consumed];
  producer.present(two);
  const full = [producer.hasRoom, producer.lent];
  {
    using _frame = consumer.acquire();
    assertEquals([stream.state, stream.consumed], ["new-frame", 1]);
  }
  assertEquals([state, presented, full], ["empty", ["new-frame", 1, 0], [false, 2]]);
  assertEquals([producer.takeBack(), producer.lent, producer.hasRoom], [1, 1, true]);
  consumer.acquire()![Symbol.dispose]();
  assertEquals([producer.takeBack(), producer.lent, stream.state], [1, 0, "empty"]);
  producer[Symbol.dispose](); // before its frames
});

endsTest("a frame is read only, and over once it was released", { fifo: 2, reuse: false }, (ends) => {
  const { cuda, consumer, producer } = ends;
  using one = frameOf(cuda);
  producer.stream.write(one.planes[0], pixelsOf(7));
  producer.present(one);
  const frame = consumer.acquire()!;
  const [plane] = frame.planes;
  assertThrows(() => consumer.stream.fill(plane, 0), AccessError, 'lent for "read"');
  assertThrows(() => producer.stream.fill(one.planes[0], 0), AccessError, "lent to an EGLStream");
  assertThrows(() => producer.present(one), AccessError, "in the stream already");
  using copy = cuda.allocate({ shape: [64, 64, 4], dtype: "u8" });
  consumer.stream.copy(plane, copy);
  consumer.release(frame);
  assertThrows(() => plane.handle, DisposedError);
  assertThrows(() => consumer.release(frame), DisposedError);
  const seen = new Uint8Array(64 * 64 * 4);
  consumer.stream.read(copy, seen);
  assertPixels(seen, 7);
  assertEquals(producer.takeBack(), 1);
  producer.stream.fill(one.planes[0], 0); // it is the program's again
});

endsTest("more than 64 frames are never in a stream", {}, ({ cuda, consumer, producer }) => {
  const pool = Array.from({ length: 70 }, () => frameOf(cuda));
  const held = [];
  let refused = 0;
  for (const frame of pool) {
    if (!producer.present(frame)) refused++;
    const got = consumer.acquire();
    if (got !== undefined) held.push(got);
  }
  assert(producer.lent <= 64 && refused === pool.length - held.length, `${producer.lent} lent, ${held.length} held`);
  console.log(`stream: a consumer holds ${held.length} frames at once`);
  for (const frame of held) frame[Symbol.dispose]();
  producer[Symbol.dispose]();
  for (const frame of pool) frame[Symbol.dispose]();
});

endsTest(
  "a consumer that disconnects ends the producer's stream",
  { fifo: 2 },
  ({ cuda, stream, consumer, producer }) => {
    using one = frameOf(cuda);
    producer.present(one);
    consumer[Symbol.dispose]();
    assertEquals(stream.state, "disconnected");
    using two = frameOf(cuda);
    assertThrows(() => producer.present(two), ArgumentError, "consumer has disconnected");
    assertEquals([producer.hasRoom, producer.isOpen], [false, false]);
    producer[Symbol.dispose]();
    one[Symbol.dispose]();
  },
);

endsTest("a producer that disconnects takes its frames back from the consumer", { fifo: 2 }, async (ends) => {
  const { cuda, stream, consumer, producer } = ends;
  using one = frameOf(cuda);
  producer.present(one);
  const frame = consumer.acquire()!;
  const waiting = consumer.next();
  producer[Symbol.dispose]();
  assertThrows(() => frame.planes[0].handle, DisposedError);
  assertEquals([stream.state, await waiting], ["disconnected", undefined]);
});

endsTest("a frame that is disposed ends its producer first", { fifo: 2 }, ({ cuda, stream, producer }) => {
  const one = frameOf(cuda);
  producer.present(one);
  one[Symbol.dispose]();
  assertEquals([producer.resource.isLive, stream.state], [false, "disconnected"]);
});

endsTest("a consumer that is disposed while it waits rejects", { fifo: 2 }, async ({ consumer }) => {
  const waiting = assertRejects(() => consumer.next(), DisposedError);
  consumer[Symbol.dispose]();
  await waiting;
});

streamTest("a context that ends disconnects its ends", () => {
  using egl = openEgl();
  using stream = egl.stream({ fifo: 2 });
  {
    using cuda = CudaContext.open();
    CudaStreamConsumer.connect(cuda.createStream(), stream);
    const producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
    producer.present(frameOf(cuda));
  }
  assertEquals(stream.state, "disconnected");
});

streamTest("a stream that ends disconnects its ends", () => {
  using cuda = CudaContext.open();
  using egl = openEgl();
  const stream = egl.stream({ fifo: 2 });
  const consumer = CudaStreamConsumer.connect(cuda.createStream(), stream);
  const producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
  using frame = frameOf(cuda);
  producer.present(frame);
  stream[Symbol.dispose]();
  assertEquals([consumer.resource.isLive, producer.resource.isLive], [false, false]);
});

streamTest("the wrong order, and the wrong size, are refused, and spoil nothing", () => {
  using cuda = CudaContext.open();
  using egl = openEgl();
  using stream = egl.stream({ fifo: 2 });
  assertThrows(() => CudaStreamProducer.connect(cuda.stream, stream, SIZE), ArgumentError, "connects first");
  using _consumer = CudaStreamConsumer.connect(cuda.createStream(), stream, { location: "device" });
  assertThrows(() => CudaStreamConsumer.connect(cuda.stream, stream), ArgumentError, 'got "connecting"');
  assertThrows(
    () => CudaStreamProducer.connect(cuda.stream, stream, { ...SIZE, arrays: true }),
    ArgumentError,
    "takes frames",
  );
  using producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
  using small = frameOf(cuda, { width: 32, height: 64 });
  assertThrows(() => producer.present(small), LayoutError, "expected RGBA 64 × 64, got RGBA 32 × 64");
  using right = frameOf(cuda);
  assertEquals(producer.present(right), true);
  producer[Symbol.dispose]();
});

streamTest("an fd is to be asked for before the ends connect", () => {
  using cuda = CudaContext.open();
  using egl = openEgl();
  using stream = egl.stream({ fifo: 2 });
  using _consumer = CudaStreamConsumer.connect(cuda.createStream(), stream);
  const { message } = assertThrows(() => stream.exportFd(), NativeCallError);
  console.log(`stream: exportFd of a connected stream: ${message}`);
});

for (const reuse of [true, false]) {
  streamTest(`500 frames of CUDA arrays, reuse ${reuse ? "on" : "off"}`, async () => {
    using cuda = CudaContext.open();
    using egl = openEgl();
    using stream = egl.stream({ fifo: 2, reuse });
    using consumer = CudaStreamConsumer.connect(cuda.createStream(), stream, { arrays: true });
    using producer = CudaStreamProducer.connect(cuda.createStream(), stream, { ...SIZE, arrays: true });
    using linear = cuda.allocate({ shape: [64, 64, 4], dtype: "u8" });
    using back = cuda.allocate({ shape: [64, 64, 4], dtype: "u8" });
    const pool = Array.from({ length: 5 }, () => arrayFrameOf(cuda));
    const seen = new Uint8Array(64 * 64 * 4);
    for (let n = 0; n < 500; n++) {
      while (producer.lent >= 4) await producer.returned();
      const frame = pool[n % 5];
      producer.stream.write(linear, pixelsOf(n));
      producer.stream.copy(linear, frame.arrays[0]);
      assert(producer.present(frame));
      assertThrows(() => producer.stream.copy(linear, frame.arrays[0]), AccessError);
      using got = (await consumer.next())!;
      const [array] = got.arrays;
      assertThrows(() => consumer.stream.copy(linear, array), AccessError, 'is for "read"');
      assertThrows(() => array.surface(), ArgumentError);
      consumer.stream.copy(array, back);
      consumer.stream.read(back, seen);
      assertPixels(seen, n);
    }
    producer[Symbol.dispose]();
  });
}

streamTest("1,000 frames from one GPU to another", async () => {
  using from = CudaContext.open({ ordinal: 0 });
  using to = CudaContext.open({ ordinal: 1 });
  using egl = openEgl();
  using stream = egl.stream({ fifo: 4, reuse: false });
  using consumer = CudaStreamConsumer.connect(to.createStream(), stream);
  using producer = CudaStreamProducer.connect(from.createStream(), stream, SIZE);
  await sendAll({ cuda: from, stream, consumer, producer }, 1000);
}, 2);

streamTest("arrays do not cross from one GPU to another", () => {
  using from = CudaContext.open({ ordinal: 0 });
  using to = CudaContext.open({ ordinal: 1 });
  using egl = openEgl();
  using stream = egl.stream({ fifo: 4, reuse: false });
  using _consumer = CudaStreamConsumer.connect(to.createStream(), stream, { arrays: true });
  const init = { ...SIZE, arrays: true } as const;
  assertThrows(() => CudaStreamProducer.connect(from.createStream(), stream, init), ArgumentError, "on GPU 1");
}, 2);
