/** EGLStreams whose consumer is OpenGL ES: the frame is a texture that a shader samples. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, type Frame } from "@samepage/interop";
import {
  type CudaArrayFrame,
  CudaContext,
  type CudaStream,
  CudaStreamConsumer,
  type CudaStreamFrame,
  CudaStreamProducer,
  type CudaTensor,
} from "@samepage/interop/cuda";
import type { EglStream } from "@samepage/interop/egl";
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

/** The frames of one kind, and the ends of a stream of them. */
interface Kind<F extends CudaStreamFrame> {
  readonly name: string;
  producer(stream: CudaStream, to: EglStream): CudaStreamProducer<F>;
  consumer(stream: CudaStream, from: EglStream): CudaStreamConsumer<F>;
  frame(cuda: CudaContext): F;
  /** Gives a frame its pixels, which are in `pixels` already. */
  fill(stream: CudaStream, frame: F, pixels: CudaTensor): void;
}

const ARRAYS: Kind<CudaArrayFrame> = {
  name: "arrays",
  producer: (stream, to) => CudaStreamProducer.connect(stream, to, { ...SIZE, arrays: true }),
  consumer: (stream, from) => CudaStreamConsumer.connect(stream, from, { arrays: true }),
  frame: arrayFrameOf,
  fill: (stream, { arrays: [array] }, pixels) => stream.copy(pixels, array),
};

const POINTERS: Kind<Frame<CudaTensor>> = {
  name: "pointers",
  producer: (stream, to) => CudaStreamProducer.connect(stream, to, SIZE),
  consumer: (stream, from) => CudaStreamConsumer.connect(stream, from),
  frame: (cuda) => frameOf(cuda),
  fill: (stream, { planes: [plane] }, pixels) => stream.copy(pixels, plane),
};

/** Presents frames by their numbers, each in the next of a few that come back. */
function presenter<F extends CudaStreamFrame>(
  cuda: CudaContext,
  { frame, fill }: Kind<F>,
  producer: CudaStreamProducer<F>,
  count: number,
) {
  const pixels = cuda.allocate({ shape: [64, 64, 4], dtype: "u8" });
  const pool = Array.from({ length: count }, () => frame(cuda));
  return async (n: number) => {
    while (producer.lent >= count - 1) await producer.returned();
    producer.stream.write(pixels, pixelsOf(n));
    fill(producer.stream, pool[n % count], pixels);
    assert(producer.present(pool[n % count]));
  };
}

function framesTest<F extends CudaStreamFrame>(kind: Kind<F>, reuse: boolean): void {
  streamTest(`300 frames of ${kind.name} from CUDA to GL, reuse ${reuse ? "on" : "off"}`, async () => {
    using cuda = CudaContext.open();
    using egl = openEgl();
    using stream = egl.stream({ fifo: 2, reuse });
    using consumer = egl.consumer(stream);
    using producer = kind.producer(cuda.createStream(), stream);
    using picture = egl.image.allocate(SIZE);
    const present = presenter(cuda, kind, producer, 4);
    for (let n = 0; n < 300; n++) {
      await present(n);
      using frame = (await consumer.next())!;
      frame.drawTo(picture);
      assertSeen(bytesOf(egl, picture), n);
    }
    producer[Symbol.dispose]();
  });
}

function pipelineTest<F extends CudaStreamFrame>(kind: Kind<F>): void {
  streamTest(`a pipeline of two streams, CUDA to CUDA to GL, ${kind.name}`, async () => {
    using cuda = CudaContext.open();
    using egl = openEgl();
    using first = egl.stream({ fifo: 2, reuse: false });
    using second = egl.stream({ fifo: 2, reuse: false });
    using picture = egl.image.allocate(SIZE);
    using screen = egl.consumer(second);
    using middle = kind.consumer(cuda.createStream(), first);
    using out = kind.producer(middle.stream, second);
    using producer = kind.producer(cuda.createStream(), first);
    const present = presenter(cuda, kind, producer, 3);
    for (let n = 0; n < 100; n++) {
      await present(n);
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
  });
}

framesTest(ARRAYS, true);
framesTest(ARRAYS, false);
framesTest(POINTERS, false);
pipelineTest(ARRAYS);
pipelineTest(POINTERS);

streamTest("a consumer of GL's connects first and once, and has one frame at a time", async () => {
  using cuda = CudaContext.open();
  using egl = openEgl();
  using other = openEgl();
  using stream = egl.stream({ fifo: 3, reuse: false });
  assertThrows(() => other.consumer(stream), ArgumentError, "it belongs to another context");
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
