/**
 * CUDA's ends of an EGLStream, over a recording: what is called when, and what is not. The stream here keeps frames in order,
 * as EGL_KHR_stream_fifo says; no driver of NVIDIA's has run this.
 */
import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, Frame, imageInfo, layout, LayoutError, NativeCallError } from "@samepage/interop";
import { cudaErrorLaunchTimeout } from "../../ffi/cuda_runtime/errors.ts";
import { setTap } from "../../src/core/native/library.ts";
import {
  CudaContext,
  CudaStreamConsumer,
  CudaStreamProducer,
  type CudaTensor,
  type EglStreamLike,
} from "../../src/cuda/mod.ts";
import { cudaEgl } from "../../src/cuda/egl/library.ts";
import { recordedTests } from "./recorded.ts";

const INFO = imageInfo({ format: "RGBA", width: 8, height: 4 });

/** A stream in which frames wait in order. */
class Fifo implements EglStreamLike {
  readonly handle = 0x1234n;
  readonly reuse = false;
  state = "created";
  produced = 0;
  consumed = 0;
  readonly waiting: Uint8Array[] = [];
  readonly held: Uint8Array[] = [];
  readonly released: Uint8Array[] = [];

  constructor(readonly fifo: number) {}
}

/** The stream of the test that runs, and the calls that its ends have made. */
let stream = new Fifo(2);
let calls: string[] = [];
/** What the next call answers. */
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
  cudaEGLStreamConsumerAcquireFrame(_: unknown, out: BigUint64Array) {
    const frame = stream.waiting.shift();
    if (frame === undefined) return cudaErrorLaunchTimeout;
    stream.held.push(frame);
    stream.consumed++;
    if (stream.waiting.length === 0) stream.state = "empty";
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

let next = 0x20_0000n;
const test = recordedTests({
  cudaMalloc: (out: BigUint64Array) => (out[0] = next += 0x10_0000n, 0),
  cudaFree: () => 0,
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
  assertThrows(() => producer.present(other), LayoutError, "expected RGBA of 8×4, got RGBA of 16×4");
  using one = frameOf(cuda);
  producer.present(one);
  assertThrows(() => producer.present(one), AccessError, "in the stream already");
});

streamTest("a frame in the stream is lent: nobody writes it", 2, (cuda) => {
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
