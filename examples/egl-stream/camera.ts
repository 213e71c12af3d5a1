/**
 * The camera of main.ts, a process of its own: `camera.ts SOCKET FRAMES`. It gets the stream by its fd, paints frames with a
 * kernel, and writes them to the stream; a full stream holds it up.
 *
 * @module
 */
import { Frame, imageInfo } from "@samepage/interop";
import { connect } from "@samepage/interop/channel";
import { CudaContext, CudaStreamProducer } from "@samepage/interop/cuda";
import { FIFO, openEgl, SIZE, TILES } from "./both.ts";
import source from "./kernels.cu" with { type: "text" };

/** Frames that are painted while others are in the stream. */
const POOL = FIFO + 2;

const [path, frames] = Deno.args;
using peer = connect(path);
using port = await peer.receivePort("egl-stream");
using cuda = CudaContext.open();
using program = cuda.program(source);
using paint = program.kernel("paint", ["unsigned char*", "unsigned int", "unsigned int", "unsigned int"]);
using egl = openEgl(cuda);
using stream = egl.attachStream(port!.fd, { fifo: FIFO });
await stream.waitFor("connecting"); // the consumer connects first
using producer = CudaStreamProducer.connect(cuda.stream, stream, SIZE);

const { width, height } = SIZE;
const pool = Array.from(
  { length: POOL },
  () => Frame.of([cuda.allocate({ shape: [height, width, 4], dtype: "u8" })], imageInfo(SIZE)),
);
const writer = producer.writable.getWriter();
for (let n = 0; n < Number(frames); n++) {
  while (producer.lent === POOL) await producer.returned();
  const frame = pool[n % POOL]; // frames come back in order
  paint.run(TILES, [frame.planes[0], n, width, height]);
  await writer.write(frame);
}
await peer.receivePort("end"); // undefined, once the viewer has seen them all
