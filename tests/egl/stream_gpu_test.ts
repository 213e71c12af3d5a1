/** EGLStreams with CUDA, on NVIDIA's drivers. */
import { assert, assertEquals } from "@std/assert";
import { Frame, imageInfo } from "@samepage/interop";
import { EglContext, eglDevices } from "@samepage/interop/egl";
import { CudaContext, CudaStreamConsumer, CudaStreamProducer, type CudaTensor } from "@samepage/interop/cuda";
import { devices, gpuTest } from "../cuda/help.ts";

const INFO = imageInfo({ format: "RGBA", width: 64, height: 64 });
const FRAMES = 10_000;
const POOL = 8;

/** Why no device of EGL's is one of CUDA's. */
const lacks = devices.length > 0 && !eglDevices().some(({ cuda }) => cuda === 0)
  ? "an EGL device of CUDA's"
  : undefined;

/** EGL on CUDA's first GPU. */
function openEgl(): EglContext {
  return EglContext.open({ device: eglDevices().find(({ cuda }) => cuda === 0)!.index });
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 0));

for (const reuse of [true, false]) {
  gpuTest(
    `EGLStream: ${FRAMES} frames, none lost, none torn, reuse ${reuse ? "on" : "off"}`,
    async () => {
      using cuda = CudaContext.open();
      using egl = openEgl();
      using stream = egl.stream({ fifo: 4, reuse });
      using reading = cuda.createStream();
      using writing = cuda.createStream();
      using consumer = CudaStreamConsumer.connect(reading, stream);
      using producer = CudaStreamProducer.connect(writing, stream, { format: "RGBA", width: 64, height: 64 });
      const pool = Array.from({ length: POOL }, () => frameOf(cuda));
      const seen = new Uint8Array(64 * 64 * 4);
      let read = 0;
      const consume = async () => {
        for await (const frame of consumer) {
          using one = frame;
          reading.read(one.planes[0], seen);
          assertEquals(new Set(seen), new Set([read % 251]), `frame ${read}`);
          if (++read === FRAMES) return;
        }
      };
      const consuming = consume();
      for (let n = 0; n < FRAMES; n++) {
        while (producer.lent >= POOL - 1) {
          if (producer.takeBack() === 0) await pause();
        }
        const frame = pool[n % POOL];
        writing.fill(frame.planes[0], n % 251);
        while (!producer.present(frame)) await pause();
      }
      await consuming;
      assertEquals(read, FRAMES);
      producer[Symbol.dispose]();
      for (const frame of pool) frame[Symbol.dispose]();
    },
    1,
    lacks,
  );
}

gpuTest(
  "EGLStream: the fd of a stream is another stream's end",
  () => {
    using egl = openEgl();
    using stream = egl.stream({ fifo: 2 });
    const fd = stream.exportFd();
    assert(fd >= 0);
    using end = egl.attachStream(fd, { fifo: 2 });
    assert(end.handle > 0n && ["initializing", "created"].includes(end.state), end.state);
  },
  1,
  lacks,
);

function frameOf(cuda: CudaContext): Frame<CudaTensor> {
  return Frame.of([cuda.allocate({ shape: [64, 64, 4], dtype: "u8" })], INFO);
}
