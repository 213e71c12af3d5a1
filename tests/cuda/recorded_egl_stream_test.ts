/**
 * CUDA's ends of an EGLStream, over a recording: what is called when, and what is not. The stream here keeps frames in order,
 * as EGL_KHR_stream_fifo says, or the newest: tests/egl has the same on NVIDIA's driver.
 */
import { assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  Frame,
  imageInfo,
  InteropError,
  layout,
  LayoutError,
  NativeCallError,
} from "@samepage/interop";
import { cudaArraySurfaceLoadStore, cudaChannelFormatKindUnsigned } from "../../ffi/cuda_runtime/constants.ts";
import { writeCudaChannelFormatDesc, writeCudaExtent } from "../../ffi/cuda_runtime/structs.ts";
import { cudaEglFrame } from "../../ffi/cuda_egl/structs.ts";
import { cudaErrorLaunchTimeout, cudaErrorNotReady, cudaErrorUnknown } from "../../ffi/cuda_runtime/errors.ts";
import { setTap } from "../../src/core/native/library.ts";
import {
  CudaArrayFrame,
  CudaContext,
  CudaStreamConsumer,
  CudaStreamProducer,
  type CudaTensor,
  type EglStreamLike,
} from "../../src/cuda/mod.ts";
import { FrameStruct } from "../../src/cuda/egl/frame.ts";
import { cudaEgl } from "../../src/cuda/egl/library.ts";
import { recordedTests } from "./recorded.ts";

const INFO = imageInfo({ format: "RGBA", width: 8, height: 4 });

/** A stream in which frames wait in order. */
class Fifo implements EglStreamLike {
  readonly handle = 0x1234n;
  reuse = false;
  /** What its last acquire was given to wait, in microseconds. */
  waited = 0;
  state = "created";
  produced = 0;
  consumed = 0;
  readonly waiting: Uint8Array[] = [];
  readonly held: Uint8Array[] = [];
  readonly released: Uint8Array[] = [];

  constructor(readonly fifo: number) {}

  /** The last frame, which has been released and stays. */
  kept(): Uint8Array | undefined {
    return this.reuse ? this.released.pop() : undefined;
  }
}

/** The stream of the test that runs, and the calls that its ends have made. */
let stream = new Fifo(2);
let calls: string[] = [];
/** What the next call returns. */
let fails: { readonly fn: string; readonly code: number } | undefined;

const FUNCTIONS: Record<string, (...args: never[]) => number> = {
  cudaEGLStreamConsumerConnect(out: BigUint64Array) {
    out[0] = 1n;
    stream.state = "connecting";
    return 0;
  },
  cudaEGLStreamConsumerConnectWithFlags(out: BigUint64Array) {
    out[0] = 1n;
    stream.state = "connecting";
    return 0;
  },
  cudaEGLStreamConsumerDisconnect: () => (stream.state = "disconnected", 0),
  cudaEGLStreamConsumerAcquireFrame(_: unknown, out: BigUint64Array, _stream: unknown, timeout: number) {
    stream.waited = timeout;
    const frame = stream.waiting.shift() ?? stream.kept();
    if (frame === undefined) return stream.reuse ? cudaErrorUnknown : cudaErrorLaunchTimeout;
    stream.held.push(frame);
    stream.consumed = stream.produced - stream.waiting.length;
    if (stream.waiting.length === 0) stream.state = stream.reuse ? "old-frame" : "empty";
    out[0] = BigInt(stream.consumed);
    return 0;
  },
  cudaEGLStreamConsumerReleaseFrame: () => (stream.released.push(stream.held.shift()!), 0),
  cudaEGLStreamProducerConnect(out: BigUint64Array) {
    out[0] = 2n;
    stream.state = "empty";
    return 0;
  },
  cudaEGLStreamProducerDisconnect: () => (stream.state = "disconnected", 0),
  cudaEGLStreamProducerPresentFrame(_: unknown, frame: Uint8Array) {
    if (stream.fifo === 0) stream.released.push(...stream.waiting.splice(0)); // a mailbox
    stream.waiting.push(frame.slice());
    stream.produced++;
    stream.state = "new-frame";
    return 0;
  },
  cudaEGLStreamProducerReturnFrame(_: unknown, into: Uint8Array) {
    const frame = stream.released.shift();
    if (frame === undefined) return cudaErrorLaunchTimeout;
    into.set(frame);
    return 0;
  },
  cudaGraphicsResourceGetMappedEglFrame(into: Uint8Array) {
    into.set(stream.held[0]);
    return 0;
  },
} as Record<string, (...args: never[]) => number>;

/** Does work on the device go on? */
let isBusy = false;
let next = 0x20_0000n;
const test = recordedTests({
  cudaMalloc: (out: BigUint64Array) => (out[0] = next += 0x10_0000n, 0),
  cudaFree: () => 0,
  cudaEventQuery: () => isBusy ? cudaErrorNotReady : 0,
  cudaStreamQuery: () => isBusy ? cudaErrorNotReady : 0,
  cudaEventSynchronize: () => (isBusy = false, calls.push("a wait"), 0),
  cudaStreamSynchronize: () => (isBusy = false, calls.push("a wait"), 0),
  cudaMalloc3DArray: (out: BigUint64Array) => (out[0] = next += 0x10_0000n, 0),
  cudaFreeArray: () => 0,
  cudaArrayGetInfo(format: Uint8Array, extent: Uint8Array, flags: Uint8Array) {
    writeCudaChannelFormatDesc(new DataView(format.buffer), 0, {
      x: 8,
      y: 8,
      z: 8,
      w: 8,
      f: cudaChannelFormatKindUnsigned,
    });
    writeCudaExtent(new DataView(extent.buffer), 0, { width: 8n, height: 4n, depth: 0n });
    flags[0] = cudaArraySurfaceLoadStore;
    return 0;
  },
  cudaMemcpy3DAsync: () => 0,
  cudaMallocPitch: (out: BigUint64Array) => (out[0] = next += 0x10_0000n, 0),
} as never);

/** A test with a context, and a stream of so many frames. */
function streamTest(name: string, fifo: number, run: (cuda: CudaContext) => unknown): void {
  test(`EGLStream: ${name}`, async () => {
    using cuda = CudaContext.open();
    setTap((api, functions) => {
      if (api !== "cuda_egl") return functions;
      return Object.fromEntries(
        Object.keys(functions).map((fn) => [fn, (...args: never[]) => {
          calls.push(fn);
          return fails?.fn === fn ? fails.code : FUNCTIONS[fn](...args);
        }]),
      );
    });
    cudaEgl();
    setTap(undefined);
    [stream, calls, fails] = [new Fifo(fifo), [], undefined];
    await run(cuda);
  });
}

function frameOf(cuda: CudaContext, info = INFO): Frame<CudaTensor> {
  const { width, height } = info;
  return Frame.of([cuda.allocate({ shape: [height, width, 4], dtype: "u8" })], info);
}

streamTest("frames come out as they went in, in place, and go back", 2, (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using one = frameOf(cuda);
  using two = frameOf(cuda);
  assertEquals([producer.present(one), producer.present(two), producer.hasRoom], [true, true, false]);
  {
    using seen = consumer.acquire()!;
    const [{ handle, layout: { shape, strides } }] = seen.planes;
    assertEquals([seen.info, seen.access], [INFO, "read"]);
    assertEquals([handle, shape, strides], [one.planes[0].address, [4, 8, 4], [32, 4, 1]]);
    assertEquals(stream.released.length, 0);
  }
  assertEquals([stream.released.length, producer.lent], [1, 2]);
  assertEquals([producer.takeBack(), producer.lent, producer.takeBack()], [1, 1, 0]);
  using again = consumer.acquire()!;
  assertEquals(again.planes[0].handle, two.planes[0].address);
  assertEquals(consumer.acquire(), undefined);
});

const INFO_SIZE = { format: "RGBA", width: 8, height: 4 } as const;

streamTest("a full stream takes no frame, and nothing is called that would block", 1, (cuda) => {
  using _consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using one = frameOf(cuda);
  using two = frameOf(cuda);
  producer.present(one);
  calls = [];
  assertEquals([producer.present(two), calls], [false, []]);
});

streamTest("without a new frame nothing is acquired", 2, (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using _producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  calls = [];
  assertEquals([consumer.acquire(), calls], [undefined, []]);
});

streamTest("with a time to wait, the previous frame is acquired once more", 2, async (cuda) => {
  stream.reuse = true;
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using one = frameOf(cuda);
  using two = frameOf(cuda);
  calls = [];
  assertEquals([consumer.acquire({ timeout: 500 }), await consumer.next({ timeout: 500 }), calls], [
    undefined,
    undefined,
    [],
  ]);
  producer.present(one);
  {
    using first = consumer.acquire({ timeout: 500 })!;
    assertEquals([first.planes[0].handle, stream.waited], [one.planes[0].address, 0]); // it is there already
    assertThrows(() => consumer.acquire({ timeout: 500 }), AccessError, "has the previous frame still");
    assertEquals(consumer.acquire(), undefined);
  }
  for (const acquire of [consumer.acquire.bind(consumer), consumer.next.bind(consumer)]) {
    using again = (await acquire({ timeout: 500 }))!;
    // Its producer is on this thread, and cannot present while the driver waits.
    assertEquals([again.planes[0].handle, stream.waited, stream.consumed], [one.planes[0].address, 0, 1]);
    assertEquals([producer.takeBack(), producer.lent], [0, 1]);
  }
  producer.present(two);
  using last = consumer.acquire()!;
  assertEquals([last.planes[0].handle, producer.takeBack()], [two.planes[0].address, 1]);
});

streamTest("a producer elsewhere is waited for by the driver, for the time given", 2, async (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  const pixels = FrameStruct.of(frameOf(cuda)).bytes;
  calls = [];
  assertEquals([consumer.acquire({ timeout: 500 }), calls], [undefined, []]); // no consumer is connected
  for (const reuse of [false, true]) { // the driver returns 702, or 999
    [stream.reuse, stream.state] = [reuse, "empty"];
    assertEquals([consumer.acquire({ timeout: 500 }), stream.waited], [undefined, 500]);
  }
  stream.waiting.push(pixels);
  [stream.state, stream.produced] = ["new-frame", 1];
  consumer.acquire({ timeout: 500 })![Symbol.dispose]();
  using again = consumer.acquire({ timeout: 700 })!;
  assertEquals([again.planes.length, stream.waited], [1, 700]);
  again[Symbol.dispose]();
  stream.state = "disconnected";
  assertEquals([consumer.acquire({ timeout: 500 }), await consumer.next({ timeout: 500 })], [undefined, undefined]);
  assertThrows(() => consumer.acquire({ timeout: -1 }), LayoutError, "expected at least 0");
  assertThrows(() => consumer.acquire({ timeout: 2 ** 31 }), ArgumentError, "microseconds");
});

streamTest("a writer waits while the stream is full, and a reader ends where the producer does", 1, async (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  const producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  const frames = [frameOf(cuda), frameOf(cuda), frameOf(cuda)];
  const seen: bigint[] = [];
  const reading = (async () => {
    for await (const frame of consumer) {
      using read = frame;
      seen.push(read.planes[0].handle);
    }
  })();
  const writer = producer.writable.getWriter();
  for (const frame of frames) await writer.write(frame);
  while (seen.length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
  const wanted = frames.map(({ planes: [{ rawHandle }] }) => rawHandle);
  await writer.close();
  await reading;
  assertEquals(seen, wanted);
  for (const frame of frames) frame[Symbol.dispose]();
});

streamTest("the producer does not connect first: that would spoil the stream", 2, (cuda) => {
  const error = assertThrows(() => CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE), ArgumentError);
  assertEquals([error.argument, calls], ["eglStream", []]);
  using _consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  assertThrows(() => CudaStreamConsumer.connect(cuda.stream, stream), ArgumentError, "connects first");
});

streamTest("frames of another size are refused, and those that are in the stream", 2, (cuda) => {
  using _consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using other = frameOf(cuda, imageInfo({ ...INFO_SIZE, width: 16 }));
  assertThrows(() => producer.present(other), LayoutError, "expected RGBA 8 × 4, got RGBA 16 × 4");
  using one = frameOf(cuda);
  producer.present(one);
  assertThrows(() => producer.present(one), AccessError, "in the stream already");
});

streamTest("a frame in the stream is lent: writes are refused", 2, (cuda) => {
  using _consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using one = frameOf(cuda);
  producer.present(one);
  assertThrows(() => one.planes[0].slice(layout({ shape: [4], dtype: "u8" }), { access: "write" }), AccessError);
});

streamTest("a consumer writes no frame", 2, (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using one = frameOf(cuda);
  producer.present(one);
  using seen = consumer.acquire()!;
  assertThrows(() => seen.borrow("write"), AccessError);
});

streamTest("every call that fails is a typed error, and leaves nothing behind", 2, (cuda) => {
  const failing = (fn: string, use: () => void) => {
    fails = { fn, code: 999 };
    const error = assertThrows(use, NativeCallError);
    fails = undefined;
    assertEquals(error.code, 999, fn);
  };
  failing("cudaEGLStreamConsumerConnect", () => CudaStreamConsumer.connect(cuda.stream, stream));
  const flags = "cudaEGLStreamConsumerConnectWithFlags";
  failing(flags, () => CudaStreamConsumer.connect(cuda.stream, stream, { location: "host" }));
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  failing("cudaEGLStreamProducerConnect", () => CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE));
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using one = frameOf(cuda);
  failing("cudaEGLStreamProducerPresentFrame", () => producer.present(one));
  assertEquals(producer.lent, 0);
  producer.present(one);
  failing("cudaEGLStreamConsumerAcquireFrame", () => consumer.acquire());
  failing("cudaGraphicsResourceGetMappedEglFrame", () => consumer.acquire());
  assertEquals(stream.released.length, 1); // it went back
  failing("cudaEGLStreamProducerReturnFrame", () => producer.takeBack());
  assertEquals(producer.takeBack(), 1);
});

streamTest("a frame is released in the order of the CUDA stream, though work on it goes on", 2, (cuda) => {
  using other = cuda.createStream();
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using one = frameOf(cuda);
  producer.present(one);
  const frame = consumer.acquire()!;
  for (const line of [cuda.stream, other]) frame.usedBy(line.fence());
  isBusy = true;
  calls = [];
  {
    using _part = frame.planes[0].slice(layout({ shape: [4], dtype: "u8" }));
    assertThrows(() => consumer.release(frame), AccessError, "is lent");
  }
  consumer.release(frame);
  assertEquals([stream.released.length, frame.resource.state, isBusy], [1, "freed", true]);
  assertEquals(calls, ["cudaEGLStreamConsumerReleaseFrame"]);
  isBusy = false;
  assertThrows(() => consumer.release(frame), DisposedError);
  assertThrows(() => consumer.release(one), ArgumentError, "this consumer has not acquired it");
});

streamTest("what was acquired ends before its producer, and the producer before its frames", 2, (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  const producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  const [one, two] = [frameOf(cuda), frameOf(cuda)];
  producer.present(one);
  producer.present(two);
  const seen = consumer.acquire()!;
  calls = [];
  one[Symbol.dispose]();
  assertEquals([seen.resource.isLive, producer.resource.isLive, two.resource.isLive], [false, false, true]);
  assertEquals(calls, ["cudaEGLStreamConsumerReleaseFrame", "cudaEGLStreamProducerDisconnect"]);
  two.planes[0].slice(layout({ shape: [4], dtype: "u8" }), { access: "write" })[Symbol.dispose](); // it is no longer lent
  two[Symbol.dispose]();
});

streamTest("a context that ends takes both ends along, whatever is in the stream", 2, (cuda) => {
  const consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  const producer = CudaStreamProducer.connect(cuda.createStream(), stream, INFO_SIZE);
  const frames = [frameOf(cuda), frameOf(cuda)];
  for (const frame of frames) producer.present(frame);
  const seen = consumer.acquire()!;
  cuda[Symbol.dispose]();
  for (const frame of frames) frame[Symbol.dispose]();
  assertEquals([consumer, producer, seen].map(({ resource }) => resource.state), ["freed", "freed", "freed"]);
});

streamTest("a consumer that is gone is not a consumer", 2, (cuda) => {
  const consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using one = frameOf(cuda);
  consumer[Symbol.dispose]();
  calls = [];
  assertThrows(() => producer.present(one), ArgumentError, "has disconnected");
  assertThrows(() => producer.takeBack(), ArgumentError, "has disconnected");
  assertEquals([producer.hasRoom, producer.isOpen, calls], [false, false, []]);
});

streamTest("a mailbox gives back frames that were not seen", 0, (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  const pool = [0, 1, 2].map(() => frameOf(cuda));
  for (let i = 0; i < 9; i++) {
    assertEquals([producer.present(pool[i % 3]), producer.lent <= 2], [true, true], `frame ${i}`);
  }
  using seen = consumer.acquire()!;
  assertEquals([seen.planes[0].handle, stream.consumed], [pool[2].planes[0].address, 9]);
  assertEquals([producer.takeBack(), producer.lent, consumer.acquire()], [1, 1, undefined]);
  producer.present(pool[0]);
  assertEquals([producer.takeBack(), producer.lent], [0, 2]); // one is read, one waits
  for (const frame of pool) frame[Symbol.dispose]();
});

streamTest("no more than 64 frames are in a stream", 0, (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  const pool = Array.from({ length: 65 }, () => frameOf(cuda));
  const taken = pool.map((frame) => {
    const took = producer.present(frame);
    if (took) consumer.acquire();
    return took;
  });
  assertEquals([taken.indexOf(false), producer.lent, producer.hasRoom], [64, 64, false]);
  for (const frame of pool) frame[Symbol.dispose]();
});

streamTest("who waits for frames to come back gets how many have", 2, async (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using one = frameOf(cuda);
  assertEquals(await producer.returned(), 0);
  producer.present(one);
  const waiting = producer.returned();
  const next = (await consumer.next())!;
  next[Symbol.dispose]();
  assertEquals(await waiting, 1);
  const after = consumer.next();
  producer[Symbol.dispose]();
  assertEquals(await after, undefined);
});

const ARRAYS = { ...INFO_SIZE, arrays: true } as const;

streamTest("frames of arrays are arrays to the consumer, for reading, and refuse writes meanwhile", 2, (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream, { arrays: true });
  using producer = CudaStreamProducer.connect(cuda.stream, stream, ARRAYS);
  using array = cuda.array({ width: 8, height: 4, channels: 4, dtype: "u8" });
  using tensor = cuda.allocate({ shape: [4, 8, 4], dtype: "u8" });
  using frame = CudaArrayFrame.of([array], INFO_SIZE);
  cuda.stream.copy(tensor, array);
  producer.present(frame);
  assertThrows(() => cuda.stream.copy(tensor, array), AccessError, "lent to an EGLStream");
  cuda.stream.copy(array, tensor);
  {
    using seen = consumer.acquire()!;
    const [its] = seen.arrays;
    assertEquals([its.handle, its.shape, its.dtype, its.writable], [array.handle, [4, 8, 4], "u8", false]);
    assertThrows(() => its.surface(), ArgumentError);
    assertThrows(() => cuda.stream.copy(tensor, its), AccessError, 'is for "read"');
    cuda.stream.copy(its, tensor);
  }
  assertEquals([stream.released.length, producer.takeBack()], [1, 1]);
  cuda.stream.copy(tensor, array);
  producer.present(frame);
  array[Symbol.dispose]();
  assertEquals([producer.resource.isLive, stream.state], [false, "disconnected"]);
});

streamTest("both ends are of arrays, or of pointers", 2, (cuda) => {
  using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
  assertThrows(() => CudaStreamProducer.connect(cuda.stream, stream, ARRAYS), ArgumentError, "frames of pointers");
  using producer = CudaStreamProducer.connect(cuda.stream, stream, INFO_SIZE);
  using array = cuda.array({ width: 8, height: 4, channels: 4, dtype: "u8" });
  using frame = CudaArrayFrame.of([array], INFO_SIZE);
  assertThrows(() => producer.present(frame as never), ArgumentError, "expected a Frame, got a CudaArrayFrame");
  producer[Symbol.dispose]();
  // Another process's producer may send what it likes.
  const words = new DataView(new ArrayBuffer(cudaEglFrame.size));
  words.setUint32(cudaEglFrame.fields.planeCount.offset, 1, true);
  stream.waiting.push(new Uint8Array(words.buffer));
  [stream.produced, stream.state] = [1, "new-frame"];
  assertThrows(
    () => consumer.acquire(),
    InteropError,
    "one of CUDA arrays, and this consumer takes frames of pointers",
  );
  assertEquals(stream.released.length, 1);
});
