/**
 * Frames of the GPU's from another process: a camera paints them with a CUDA kernel, an EGLStream brings them here in order,
 * and a kernel looks at every pixel where it lies. The last frame goes through a second stream to OpenGL ES, as a texture that
 * a shader samples: a pipeline CUDA → CUDA → GL, in which no frame is copied.
 *
 * Run it as `deno run -A examples/egl-stream/main.ts [picture.png]`.
 *
 * @module
 */
import { dirname, fromFileUrl } from "@std/path";
import { type Frame, InteropError, Port } from "@samepage/interop";
import { listen } from "@samepage/interop/channel";
import { type CudaContext, CudaStreamConsumer, CudaStreamProducer, type CudaTensor } from "@samepage/interop/cuda";
import type { EglContext, EglStream } from "@samepage/interop/egl";
import sharp from "sharp";
import { onGpu, says } from "../cuda-edges/gpu.ts";
import { openOr } from "../cuda-edges/open.ts";
import { print } from "../edges/report.ts";
import { eglDeviceOf, FIFO, openEgl, SIZE, TILES } from "./both.ts";
import source from "./kernels.cu" with { type: "text" };

const FRAMES = 300;
const CAMERA = fromFileUrl(new URL("camera.ts", import.meta.url));
const [out = "out/egl-stream.png"] = Deno.args;

await onGpu(async (cuda) => {
  const device = openOr(() => eglDeviceOf(cuda));
  if (device instanceof InteropError) return print("EGL", `none. ${device.message}`);
  if (device === undefined) return print("EGL", "none of its devices is this GPU");
  using egl = openEgl(cuda);
  print("EGL", `${egl.name}, EGL ${egl.version}`);
  const opened = openOr(() => egl.stream({ fifo: FIFO }));
  if (opened instanceof InteropError) return print("stream", `none. ${opened.message}`);
  using stream = opened;
  const folder = await Deno.makeTempDir();
  try {
    await view(cuda, egl, stream, `${folder}/camera`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Starts the camera, sends it the stream, and looks at what comes. */
async function view(cuda: CudaContext, egl: EglContext, stream: EglStream, path: string): Promise<void> {
  using server = listen(path);
  const args = ["run", "-A", "--no-check", "-q", CAMERA, path, `${FRAMES}`];
  const camera = new Deno.Command(Deno.execPath(), { args, stdin: "null", stdout: "inherit", stderr: "inherit" })
    .spawn();
  using peer = await server.accept({ signal: AbortSignal.timeout(60_000) });
  {
    using port = new Port("egl-stream", { fd: stream.exportFd() }); // before the ends connect
    await peer.sendPort(port);
  }
  using consumer = CudaStreamConsumer.connect(cuda.createStream(), stream);
  using program = cuda.program(source);
  const words = ["unsigned int", "unsigned int", "unsigned int"] as const;
  using check = program.kernel("check", ["const unsigned char*", ...words, "unsigned int*"]);
  using wrong = cuda.allocate({ shape: [1], dtype: "u32" });
  const { width, height } = SIZE;
  consumer.stream.fill(wrong, 0);

  let [n, start, each] = [0, 0, 0];
  for await (using frame of consumer) {
    check.run(TILES, [frame.planes[0], n, width, height, wrong], { stream: consumer.stream });
    if (++n === 1) start = performance.now(); // the camera has started
    if (n === FRAMES) {
      each = (1000 * (performance.now() - start)) / (FRAMES - 1);
      await save(cuda, egl, frame);
      break;
    }
    consumer.release(frame); // in the order of the CUDA stream: the host does not wait for the kernel
  }
  print("stream", `${n} frames of ${width} × ${height} from process ${camera.pid}, ${each.toFixed(0)} µs each`);
  const count = new Uint32Array(1);
  consumer.stream.read(wrong, count);
  print(
    "pixels",
    says(n === FRAMES && count[0] === 0, "every one is its frame's, in its place", `${count[0]} are not`),
  );
  peer[Symbol.dispose](); // the camera no longer has to wait
  const { success } = await camera.status;
  print("camera", says(success, "it has ended well", "it has failed"));
}

/** Sends a frame on to OpenGL ES, and writes what a shader sees. */
async function save(cuda: CudaContext, egl: EglContext, frame: Frame<CudaTensor>): Promise<void> {
  using second = egl.stream({ fifo: 1, reuse: false });
  using screen = egl.consumer(second);
  using producer = CudaStreamProducer.connect(cuda.stream, second, SIZE);
  producer.present(frame);
  using shown = (await screen.next())!;
  using picture = egl.image.allocate(SIZE);
  shown.drawTo(picture);
  const pixels = new Uint8Array(SIZE.width * SIZE.height * 4);
  egl.queue.read(picture, pixels);
  const [x, y] = [100, 60];
  const seen = pixels.subarray(4 * (y * SIZE.width + x), 4 * (y * SIZE.width + x) + 4);
  const n = FRAMES - 1;
  const expected = Uint8Array.of(x + 3 * n, y + 5 * n, (x ^ y) + n, n);
  print(
    "GL",
    says(String(seen) === String(expected), "its shader sees the same pixels", `it sees ${seen}, not ${expected}`),
  );
  for (let i = 3; i < pixels.length; i += 4) pixels[i] = 255; // the number is not a transparency
  await Deno.mkdir(dirname(out), { recursive: true });
  await sharp(pixels, { raw: { width: SIZE.width, height: SIZE.height, channels: 4 } }).png().toFile(out);
  print("picture", out);
}
