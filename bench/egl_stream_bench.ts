// Frames of 1920 × 1080 × 4 bytes through an EGLStream from one CUDA stream to another, in one thread, with nothing done to
// them: what the calls of a frame cost. Between two processes a frame takes C some 300 µs.

import { Frame, imageInfo, InteropError } from "@samepage/interop";
import { CudaStreamConsumer, CudaStreamProducer } from "@samepage/interop/cuda";
import { EglContext, eglDevices } from "@samepage/interop/egl";
import type { CudaGraphicsResource } from "../ffi/cuda_egl/handles.ts";
import { FrameStruct } from "../src/cuda/egl/frame.ts";
import { cudaEgl } from "../src/cuda/egl/library.ts";
import { check } from "../src/cuda/errors.ts";
import { cudaC } from "./harness/c.ts";
import { gpu } from "./harness/cuda.ts";
import { figure } from "./harness/figure.ts";
import { atMost } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { Missing } from "./harness/program.ts";
import { here } from "./harness/way.ts";

const SIZE = { format: "RGBA", width: 1920, height: 1080 } as const;
const POOL = 2;

/** EGL on the bench's GPU. @throws {Missing} where there is none. */
function openEgl(): EglContext {
  const { cuda } = gpu();
  try {
    const device = eglDevices().find((device) => device.cuda === cuda.device.ordinal);
    if (device !== undefined) return EglContext.open({ device: device.index });
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    throw new Missing(error.message);
  }
  throw new Missing("EGL has no device of CUDA's");
}

/** Frames whose addresses alone a stream knows: they are not collected. */
const kept: Frame[] = [];

/** Both ends of a stream. They stay for as long as the process does. */
function ends() {
  const { cuda } = gpu();
  const stream = openEgl().stream({ fifo: 4, reuse: false });
  const consumer = CudaStreamConsumer.connect(cuda.createStream(), stream);
  const producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
  const pool = Array.from({ length: POOL }, () => {
    const { width, height } = SIZE;
    return Frame.of([cuda.allocate({ shape: [height, width, 4], dtype: "u8" })], imageInfo(SIZE));
  });
  kept.push(...pool);
  return { consumer, producer, pool };
}

/** One call after the other, as C makes them. */
function sending(): Operation {
  const { consumer, producer, pool } = ends();
  return {
    run(count) {
      for (let i = 0; i < count; i++) {
        if (!producer.present(pool[i % POOL])) throw new Error("the stream is full");
        const frame = consumer.acquire();
        if (frame === undefined) throw new Error("there is no frame");
        frame[Symbol.dispose]();
        if (producer.takeBack() !== 1) throw new Error("the frame has not come back");
      }
    },
  };
}

/** C's five native calls, made by Deno. */
function calling(): Operation {
  const { consumer, producer, pool } = ends();
  const [from, to] = [producer, consumer].map((end) => end as unknown as Connected);
  const structs = pool.map((frame) => FrameStruct.of(frame).bytes);
  const [resource, seen] = [new BigUint64Array(1), new Uint8Array(structs[0].length)];
  const native = cudaEgl();
  return {
    run(count) {
      for (let i = 0; i < count; i++) {
        const struct = structs[i % POOL];
        check(native.cudaEGLStreamProducerPresentFrame(from.connection, struct, from.streamPointer), "present");
        check(native.cudaEGLStreamConsumerAcquireFrame(to.connection, resource, to.streamPointer, 0), "acquire");
        const handle = resource[0] as CudaGraphicsResource;
        check(native.cudaGraphicsResourceGetMappedEglFrame(seen, handle, 0, 0), "map");
        check(native.cudaEGLStreamConsumerReleaseFrame(to.connection, handle, to.streamPointer), "release");
        check(native.cudaEGLStreamProducerReturnFrame(from.connection, seen, from.streamPointer), "return");
      }
    },
  };
}

/** What ends keep to themselves. */
interface Connected {
  readonly connection: BigUint64Array<ArrayBuffer>;
  readonly streamPointer: BigUint64Array<ArrayBuffer>;
}

/** By streams of the Web's: the writer and the reader go on by turns. */
function streaming(): Operation {
  const { consumer, producer, pool } = ends();
  const writer = producer.writable.getWriter();
  return {
    async run(count) {
      const write = async () => {
        for (let i = 0; i < count; i++) {
          while (producer.lent === POOL) await producer.returned();
          await writer.write(pool[i % POOL]);
        }
      };
      const read = async () => {
        for (let i = 0; i < count; i++) (await consumer.next())![Symbol.dispose]();
      };
      await Promise.all([write(), read()]);
    },
  };
}

figure({
  id: "egl-stream",
  title: "a frame of 1080p through an EGLStream, in one thread",
  on: "cuda",
  goal: atMost(1.25),
  ways: [
    cudaC("cuda_egl_stream", "send"),
    here("samepage", sending),
    here("samepage, Web Streams", streaming),
    here("Deno, the calls alone", calling),
  ],
});
