/**
 * The other process of stream_processes_gpu_test.ts: the producer of a stream that it gets by its fd.
 * `stream_child.ts PATH FRAMES FIFO REUSE`.
 *
 * @module
 */
import { connect } from "../../src/channel/mod.ts";
import { CudaContext, CudaStreamProducer } from "../../src/cuda/mod.ts";
import { frameOf, openEgl, pixelsOf, SIZE } from "./streams.ts";

const POOL = 8;
const [path, frames, fifo, reuse] = Deno.args;
using peer = connect(path);
using port = await peer.receivePort("egl-stream");
using cuda = CudaContext.open();
using egl = openEgl();
using stream = egl.attachStream(port!.fd, { fifo: Number(fifo), reuse: reuse === "true" });
await stream.waitFor("connecting");
using producer = CudaStreamProducer.connect(cuda.createStream(), stream, SIZE);
const pool = Array.from({ length: POOL }, () => frameOf(cuda));
const writer = producer.writable.getWriter();
for (let n = 0; n < Number(frames); n++) {
  while (producer.lent >= POOL - 1) await producer.returned();
  const frame = pool[n % POOL];
  producer.stream.write(frame.planes[0], pixelsOf(n));
  await writer.write(frame);
}
console.log(`presented ${stream.produced}, ${producer.lent} out`);
await peer.receivePort("end").catch(() => undefined); // the other side closes when it has seen them all
