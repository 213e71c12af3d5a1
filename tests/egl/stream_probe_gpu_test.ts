/** What NVIDIA's driver answers where no document says it: printed, and kept in facts. */
import { assert } from "@std/assert";
import { Frame, imageInfo } from "@samepage/interop";
import { CudaContext, CudaStreamConsumer, CudaStreamProducer } from "@samepage/interop/cuda";
import { cudaEglFrame } from "../../ffi/cuda_egl/structs.ts";
import { FrameStruct } from "../../src/cuda/egl/frame.ts";
import { cudart } from "../../src/cuda/library.ts";
import { cudaEgl } from "../../src/cuda/egl/library.ts";
import { frameOf, openEgl, SIZE, streamTest } from "./streams.ts";

/** What ends keep to themselves. */
interface Inside {
  readonly connection: BigUint64Array<ArrayBuffer>;
  readonly streamPointer: BigUint64Array<ArrayBuffer>;
}

function inside(end: CudaStreamConsumer | CudaStreamProducer): Inside {
  return end as unknown as Inside;
}

/** The microseconds of a call, and what it answered. */
function timed(name: string, call: () => unknown, times = 1): void {
  const start = performance.now();
  let answer: unknown;
  for (let i = 0; i < times; i++) answer = call();
  console.log(`probe: ${name}: ${String(answer)}, ${(1000 * (performance.now() - start) / times).toFixed(2)} µs`);
}

for (const reuse of [true, false]) {
  for (const fifo of [0, 4]) {
    streamTest(`probe: calls that have nothing to give, reuse ${reuse}, fifo ${fifo}`, () => {
      using cuda = CudaContext.open();
      using egl = openEgl();
      using stream = egl.stream({ fifo, reuse });
      using consumer = CudaStreamConsumer.connect(cuda.createStream(), stream);
      using producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
      const native = cudaEgl();
      const [out, struct] = [new BigUint64Array(1), new Uint8Array(cudaEglFrame.size)];
      const { connection, streamPointer } = inside(producer);
      const giveBack = () => native.cudaEGLStreamProducerReturnFrame(connection, struct, streamPointer);
      const to = inside(consumer);
      const take = () => native.cudaEGLStreamConsumerAcquireFrame(to.connection, out, to.streamPointer, 0);
      const name = `reuse ${reuse}, fifo ${fifo}`;
      timed(`${name}: acquire of an empty stream`, take);
      timed(`${name}: return of none`, giveBack);
      using one = frameOf(cuda);
      using two = frameOf(cuda);
      producer.present(one);
      timed(`${name}: return while it waits`, giveBack);
      const frame = consumer.acquire()!;
      timed(`${name}: return while the consumer has it`, giveBack);
      console.log(`probe: ${name}: ${stream.state}, produced ${stream.produced}, consumed ${stream.consumed}`);
      timed(`${name}: query of the state`, () => stream.state, 1000);
      timed(`${name}: query of a number`, () => stream.consumed, 1000);
      frame[Symbol.dispose]();
      console.log(`probe: ${name}: released: ${stream.state}, consumed ${stream.consumed}`);
      producer.present(two);
      console.log(`probe: ${name}: another: ${stream.state}, produced ${stream.produced}, lent ${producer.lent}`);
      producer[Symbol.dispose]();
    });
  }
}

for (
  const [format, planes] of [["NV12", [[64, 64], [32, 32, 2]]], ["I420", [[64, 64], [32, 32], [32, 32]]], [
    "GRAY8",
    [[64, 64]],
  ]] as const
) {
  streamTest(`probe: what a frame of ${format} is to the consumer`, () => {
    using cuda = CudaContext.open();
    using egl = openEgl();
    using stream = egl.stream({ fifo: 2, reuse: false });
    using consumer = CudaStreamConsumer.connect(cuda.createStream(), stream);
    using producer = CudaStreamProducer.connect(cuda.createStream(), stream, { format, width: 64, height: 64 });
    const tensors = planes.map((shape) => cuda.allocate({ shape: [...shape], dtype: "u8" }));
    using frame = Frame.of(tensors, imageInfo({ format, width: 64, height: 64 }));
    tensors.forEach((tensor, i) => producer.stream.write(tensor, new Uint8Array(tensor.layout.byteLength).fill(i + 5)));
    assert(producer.present(frame));
    const { connection, streamPointer } = inside(consumer);
    const out = new BigUint64Array(1);
    const native = cudaEgl();
    console.log(
      `probe: ${format}: acquire ${native.cudaEGLStreamConsumerAcquireFrame(connection, out, streamPointer, 0)}`,
    );
    const struct = new Uint8Array(cudaEglFrame.size);
    console.log(
      `probe: ${format}: mapped ${native.cudaGraphicsResourceGetMappedEglFrame(struct, out[0] as never, 0, 0)}`,
    );
    const view = new DataView(struct.buffer);
    const fields = Object.entries(cudaEglFrame.fields).filter(([name]) => !name.startsWith("array")).map((
      [name, { offset, type }],
    ) =>
      `${name}=${type === "u64" ? `0x${view.getBigUint64(offset, true).toString(16)}` : view.getInt32(offset, true)}`
    );
    console.log(`probe: ${format}: ${fields.filter((field) => !/=(0x)?0$/.test(field)).join(" ")}`);
    native.cudaEGLStreamConsumerReleaseFrame(connection, out[0] as never, streamPointer);
    producer[Symbol.dispose]();
  });
}

streamTest("probe: which formats of one and four channels the driver takes", () => {
  using cuda = CudaContext.open();
  const colours = { L: 8, R: 9, ARGB: 6, RGBA: 7, ABGR: 14, BGRA: 15, A: 16, Y: 82 };
  for (const [name, colour] of Object.entries(colours)) {
    using egl = openEgl();
    using stream = egl.stream({ fifo: 2, reuse: false });
    using _consumer = CudaStreamConsumer.connect(cuda.createStream(), stream);
    using producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
    const channels = name.length;
    using tensor = cuda.allocate({ shape: channels === 1 ? [64, 64] : [64, 64, channels], dtype: "u8" });
    using frame = Frame.of([tensor], imageInfo({ ...SIZE, format: channels === 1 ? "GRAY8" : "RGBA" }));
    const struct = FrameStruct.of(frame);
    new DataView(struct.bytes.buffer).setUint32(cudaEglFrame.fields.eglColorFormat.offset, colour, true);
    const { connection, streamPointer } = inside(producer);
    const code = cudaEgl().cudaEGLStreamProducerPresentFrame(connection, struct.bytes, streamPointer);
    console.log(`probe: format ${name} (${colour}): ${code}`);
    cudart().cudaGetLastError();
    producer[Symbol.dispose]();
  }
});

streamTest("probe: what each call costs", () => {
  using cuda = CudaContext.open();
  using egl = openEgl();
  using stream = egl.stream({ fifo: 4, reuse: false });
  using consumer = CudaStreamConsumer.connect(cuda.createStream(), stream);
  using producer = CudaStreamProducer.connect(cuda.createStream(), stream, { ...SIZE, width: 1920, height: 1080 });
  const pool = [0, 1].map(() => frameOf(cuda, { width: 1920, height: 1080 }));
  const times = [0, 0, 0, 0];
  const step = <T>(i: number, run: () => T): T => {
    const start = performance.now();
    const answer = run();
    times[i] += performance.now() - start;
    return answer;
  };
  const rounds = 3000;
  for (let n = 0; n < 2 * rounds; n++) {
    if (n === rounds) times.fill(0);
    step(0, () => producer.present(pool[n % 2]));
    const frame = step(1, () => consumer.acquire())!;
    step(2, () => frame[Symbol.dispose]());
    step(3, () => producer.takeBack());
  }
  const [present, acquire, release, back] = times.map((time) => (1000 * time / rounds).toFixed(2));
  console.log(`probe: µs at 1080p: present ${present}, acquire ${acquire}, release ${release}, take back ${back}`);
  producer[Symbol.dispose]();
});
