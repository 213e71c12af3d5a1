/** EGLStreams between two processes: the stream travels by its fd. */
import { assertEquals } from "@std/assert";
import { Port } from "@samepage/interop";
import { CudaContext, CudaStreamConsumer } from "@samepage/interop/cuda";
import { listen } from "@samepage/interop/channel";
import { temporaryPath } from "../channel/help.ts";
import { assertPixels, openEgl, streamTest } from "./streams.ts";

const FRAMES = 1000;
const CHILD = new URL("stream_child.ts", import.meta.url).pathname;

for (const reuse of [true, false]) {
  streamTest(`${FRAMES} frames from another process, none lost, none torn, reuse ${reuse ? "on" : "off"}`, async () => {
    await using at = await temporaryPath();
    using server = listen(at.path);
    const args = ["run", "-A", "--no-check", CHILD, at.path, `${FRAMES}`, "4", `${reuse}`];
    const child = new Deno.Command(Deno.execPath(), { args, stdin: "null", stdout: "piped", stderr: "inherit" })
      .spawn();
    const output = child.output();
    using peer = await server.accept({ signal: AbortSignal.timeout(30_000) });
    using cuda = CudaContext.open();
    using egl = openEgl();
    using stream = egl.stream({ fifo: 4, reuse });
    {
      using port = new Port("egl-stream", { fd: stream.exportFd() });
      await peer.sendPort(port);
    }
    using consumer = CudaStreamConsumer.connect(cuda.createStream(), stream);
    const seen = new Uint8Array(64 * 64 * 4);
    let read = 0;
    const start = performance.now();
    for await (using frame of consumer) {
      consumer.stream.read(frame.planes[0], seen);
      assertPixels(seen, read);
      if (++read === FRAMES) break;
    }
    console.log(`stream: ${((1000 * (performance.now() - start)) / FRAMES).toFixed(0)} µs a frame between processes`);
    peer[Symbol.dispose]();
    const { success, stdout } = await output;
    assertEquals([success, read, new TextDecoder().decode(stdout).split(",")[0]], [
      true,
      FRAMES,
      `presented ${FRAMES}`,
    ]);
  });
}
