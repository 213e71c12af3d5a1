import { ArgumentError, Frame, imageInfo, LayoutError } from "@samepage/interop";
import { CudaArrayFrame, CudaEglImage, CudaStreamConsumer, CudaStreamProducer } from "@samepage/interop/cuda";
import { EglContext, eglDevices } from "@samepage/interop/egl";
import { device } from "../cuda.ts";
import { any, fails, say } from "../kit.ts";
import { type Failure, table } from "../row.ts";

const SIZE = { format: "RGBA", width: 8, height: 4 } as const;

/** A stream that is not connected yet, and that no driver knows. */
const STREAM = { handle: 1n, fifo: 2, reuse: true, state: "created", produced: 0, consumed: 0 } as const;

const wrong = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { error: ArgumentError, api: "cuda", argument, message, ...(hint === undefined ? {} : { hint }) }
);

export default table(import.meta, {
  "a producer that connects first": {
    gpus: 1,
    run() {
      using cuda = device();
      CudaStreamProducer.connect(cuda.stream, STREAM, SIZE);
    },
    fails: wrong("eglStream", /expected a stream that is "connecting", got "created"/, /The consumer connects first/),
  },
  "a second consumer": {
    gpus: 1,
    run() {
      using cuda = device();
      CudaStreamConsumer.connect(cuda.stream, { ...STREAM, state: "empty" });
    },
    fails: wrong("eglStream", /got "empty"/, /make a new one/),
  },
  "a stream that is null": {
    gpus: 1,
    run() {
      using cuda = device();
      CudaStreamConsumer.connect(cuda.stream, { ...STREAM, handle: 0n });
    },
    fails: wrong("eglStream.handle", /expected a handle, got null/),
  },
  "an end without a CUDA stream": {
    run: () => CudaStreamConsumer.connect(any({}), STREAM),
    fails: wrong("stream", /expected a CudaStream, got an Object/),
  },
  "a producer of a format that streams do not carry": {
    run: () => CudaStreamProducer.connect(any({}), STREAM, { ...SIZE, format: "RGB" }),
    fails: wrong("init.format", /carry GRAY8, RGBA/),
  },
  "a producer of no size": {
    run: () => CudaStreamProducer.connect(any({}), STREAM, { ...SIZE, width: 0 }),
    fails: { error: LayoutError, api: "core", argument: "init.width", message: /expected at least 1/ },
  },
  "a producer whose arrays are a string": {
    run: () => CudaStreamProducer.connect(any({}), STREAM, { ...SIZE, arrays: any("yes") }),
    fails: wrong("init.arrays", /expected a boolean/),
  },
  "a consumer of frames somewhere else": {
    run: () => CudaStreamConsumer.connect(any({}), STREAM, { location: any("disk") }),
    fails: wrong("init.location", /expected one of "device", "host"/),
  },
  "a consumer that is misspelt": {
    run: () => CudaStreamConsumer.connect(any({}), STREAM, any({ array: true })),
    fails: { error: ArgumentError, api: "core", argument: "init", message: /unknown property array/, hint: /arrays/ },
  },
  "a frame of no arrays": {
    run: () => CudaArrayFrame.of([], SIZE),
    fails: {
      error: LayoutError,
      api: "cuda",
      argument: "arrays",
      message: /expected \[4,8,4\] u8 for RGBA 8 × 4, got none/,
    },
  },
  "a frame of arrays that are tensors": {
    run: () => CudaArrayFrame.of(any([{}]), SIZE),
    fails: wrong("arrays[0]", /expected a CudaArray, got an Object/),
  },
  "a frame of arrays of another size": {
    gpus: 1,
    run() {
      using cuda = device();
      const array = cuda.array({ width: 8, height: 8, channels: 4, dtype: "u8" });
      CudaArrayFrame.of([array], SIZE);
    },
    fails: { error: LayoutError, api: "cuda", argument: "arrays", message: /got \[8,8,4\] u8/ },
  },
  "an EGLImage that is null": {
    gpus: 1,
    run() {
      using cuda = device();
      CudaEglImage.register(cuda, 0n);
    },
    fails: wrong("image", /expected a handle, got null/),
  },
  "an image without a CUDA context": {
    run: () => CudaEglImage.register(any(null), 1n),
    fails: wrong("context", /expected a CudaContext, got null/),
  },
  "ends of a stream, used as they are meant": {
    gpus: 1,
    async run() {
      using cuda = device();
      const gpu = eglDevices().find((one) => one.cuda === 0);
      if (gpu === undefined) return say("no EGL device of CUDA's");
      using egl = EglContext.open({ device: gpu.index });
      using stream = egl.stream({ fifo: 2, reuse: false });
      using consumer = CudaStreamConsumer.connect(cuda.stream, stream);
      using producer = CudaStreamProducer.connect(cuda.stream, stream, SIZE);
      const { width, height } = SIZE;
      using frame = Frame.of([cuda.allocate({ shape: [height, width, 4], dtype: "u8" })], imageInfo(SIZE));
      if (producer.hasRoom) producer.present(frame);
      fails("twice", () => producer.present(frame));
      const frames = consumer[Symbol.asyncIterator]();
      (await frames.next()).value?.[Symbol.dispose]();
      if (consumer.acquire() !== undefined) throw new Error("a frame that nobody has presented");
      say(await producer.returned() + producer.lent, producer.writable instanceof WritableStream, producer.isOpen);
      producer.present(frame);
      const again = (await consumer.next())!;
      fails("another's", () => consumer.release(frame), ArgumentError);
      consumer.release(again);
      say(producer.takeBack());
      const array = cuda.array({ width, height, channels: 4, dtype: "u8" });
      using arrays = CudaArrayFrame.of([array], SIZE);
      arrays.usedBy(cuda.stream.fence());
      using picture = egl.image.allocate(SIZE);
      using image = CudaEglImage.register(cuda, picture.planes[0].handle.image);
      image.usedBy(cuda.stream.fence());
    },
    says: ["1 true true", "1"],
  },
});
