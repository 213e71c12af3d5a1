/**
 * A texture of OpenGL ES that CUDA reads and writes where it lies: the programs of CUDA for Tegra, §4.2.1 and §4.3.3. GL
 * makes a texture of 256 × 256 pixels, kernels change it through a surface object, CUDA copies its array out (cudaMemcpy3D),
 * and GL reads the same pixels: by the `EGLImage`, where the program waits by itself; by the same with an `EGLSync` each way,
 * where the devices wait if the drivers can; and by a map, which waits.
 *
 * Run it as `deno run -A examples/egl-image-cuda/main.ts [picture.png]`.
 *
 * @module
 */
import { dirname } from "@std/path";
import { type Fence, host, InteropError, MapperGraph } from "@samepage/interop";
import { type CudaArray, type CudaContext, CudaEglImage, type CudaKernel } from "@samepage/interop/cuda";
import { EglContext, eglDevices, type Picture } from "@samepage/interop/egl";
import sharp from "sharp";
import { onGpu, says } from "../cuda-edges/gpu.ts";
import { openOr } from "../cuda-edges/open.ts";
import { print } from "../edges/report.ts";
import { changed, HEIGHT, ringed, WIDTH } from "./expected.ts";
import source from "./kernels.cu" with { type: "text" };

/** Threads of a block in x and in y. */
const TILE = 32;

const SIZE = { format: "RGBA", width: WIDTH, height: HEIGHT } as const;
const [out = "out/egl-image-cuda.png"] = Deno.args;

await onGpu(async (cuda) => {
  const device = openOr(() => eglDevices().find((one) => one.cuda === cuda.device.ordinal));
  if (device instanceof InteropError) return print("EGL", `none. ${device.message}`);
  if (device === undefined) return print("EGL", "none of its devices is this GPU");
  using egl = EglContext.open({ device: device.index });
  print("EGL", `${egl.name}, ${egl.glVersion}`);
  using program = cuda.program(source);
  using changeTexture = program.kernel("changeTexture", ["cudaSurfaceObject_t", "unsigned int", "unsigned int"]);
  using addRings = program.kernel("addRings", ["cudaSurfaceObject_t", "unsigned int", "unsigned int"]);
  byImage(cuda, egl, changeTexture);
  bySync(cuda, egl, changeTexture);
  const pixels = byMap(cuda, egl, [changeTexture, addRings]);
  await Deno.mkdir(dirname(out), { recursive: true });
  await sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels: 4 } }).png().toFile(out);
  print("picture", out);
});

/** As the listing has it: an EGLImage orders nothing, so the program waits for GL's work, and for CUDA's. */
function byImage(cuda: CudaContext, egl: EglContext, changeTexture: CudaKernel): void {
  using picture = egl.image.allocate(SIZE);
  const registered = openOr(() => CudaEglImage.register(cuda, picture.planes[0].handle.image));
  if (registered instanceof InteropError) return print("EGLImage", `CUDA takes none here. ${registered.message}`);
  using image = registered;
  egl.queue.finish(); // glFinish
  const [array] = image.arrays;
  run(cuda, changeTexture, array);
  const copied = copyOf(cuda, array); // it blocks, as cuCtxSynchronize does
  print("EGLImage", verdict(copied, pixelsOf(egl, picture), changed()));
}

/**
 * The listing with `EGLSync` in place of glFinish. A GL fence is an `EGLSync`, of which CUDA makes an event; a fence of
 * CUDA's is an event that was recorded, of which EGL makes a sync. A Tegra has both; where a driver has not, the host waits.
 */
function bySync(cuda: CudaContext, egl: EglContext, changeTexture: CudaKernel): void {
  using picture = egl.image.allocate(SIZE);
  const registered = openOr(() => CudaEglImage.register(cuda, picture.planes[0].handle.image));
  if (registered instanceof InteropError) return;
  using image = registered;
  const [array] = image.arrays;
  egl.queue.fill(picture, [0, 0, 0, 0]);
  const ofGl = egl.queue.fence(); // eglCreateSync(EGL_SYNC_FENCE)
  print("EGLSync", `CUDA waits for GL on the ${whoWaits(cuda, egl, "CUDA", ofGl)}`);
  run(cuda, changeTexture, array, ofGl); // cudaEventCreateFromEGLSync, cudaStreamWaitEvent
  const ofCuda = cuda.stream.fence(); // cudaEventRecord, eglCreateSync(EGL_SYNC_CUDA_EVENT_NV)
  print("", `GL waits for CUDA on the ${whoWaits(cuda, egl, "GL", ofCuda)}`);
  const pixels = pixelsOf(egl, picture, ofCuda); // eglWaitSync
  print("", verdict(copyOf(cuda, array), pixels, changed()));
}

/** Where the next command of one API's waits for a fence of the other's. */
function whoWaits(cuda: CudaContext, egl: EglContext, waiting: "CUDA" | "GL", fence: Fence): string {
  const { line } = waiting === "CUDA" ? cuda.stream : egl;
  const why = line.whyHostWaits([fence]);
  return why === undefined ? "device" : `host: ${why}`;
}

/** The same by a map, in which the two drivers take turns. Returns the pixels. */
function byMap(cuda: CudaContext, egl: EglContext, kernels: readonly CudaKernel[]): Uint8Array {
  using graph = new MapperGraph([egl, cuda]);
  using picture = egl.image.allocate(SIZE);
  let copied: Uint8Array;
  {
    using mapped = graph.map(picture.planes[0], cuda.image({ dtype: "u8", channels: 4 }));
    print("map", ...String(mapped.route).split("\n"));
    for (const kernel of kernels) run(cuda, kernel, mapped.array);
    copied = copyOf(cuda, mapped.array);
  } // unmapped: the texture is GL's again
  const pixels = pixelsOf(egl, picture);
  print("", verdict(copied, pixels, ringed()));
  return pixels;
}

/** Runs a kernel over all pixels of an array, by a surface object. */
function run(cuda: CudaContext, kernel: CudaKernel, array: CudaArray, after: Fence | readonly Fence[] = []): void {
  using surface = array.surface();
  const grid = { groups: [WIDTH / TILE, HEIGHT / TILE], groupSize: [TILE, TILE] };
  kernel.run(grid, [surface.handle, WIDTH, HEIGHT], { after });
  surface.usedBy(cuda.stream.fence());
}

/** The listing's hostSurf: what CUDA sees in the array. */
function copyOf(cuda: CudaContext, array: CudaArray): Uint8Array {
  using graph = new MapperGraph([host, cuda]);
  using hostSurf = cuda.pinned.allocate({ shape: [HEIGHT, WIDTH, 4], dtype: "u8" });
  cuda.stream.copy(array, hostSurf); // cudaMemcpy3DAsync
  using seen = graph.map(hostSurf, host, { access: "read" });
  return seen.bytes().slice();
}

/** What GL sees in the texture. */
function pixelsOf(
  egl: EglContext,
  picture: Picture,
  after: Fence | readonly Fence[] = [],
): Uint8Array<ArrayBuffer> {
  const pixels = new Uint8Array(WIDTH * HEIGHT * 4);
  egl.queue.read(picture, pixels, { after });
  return pixels;
}

/** The listing's checkbuf(), and what the CPU expects. */
function verdict(atCuda: Uint8Array, atGl: Uint8Array, expected: Uint8Array): string {
  const apart = atCuda.findIndex((byte, i) => byte !== atGl[i]);
  const wrong = atGl.findIndex((byte, i) => byte !== expected[i]);
  const same = says(apart < 0, "GL and CUDA see the same pixels", `GL and CUDA differ at byte ${apart}`);
  return `${same}; ${says(wrong < 0, "they are the CPU's", `byte ${wrong} is ${atGl[wrong]}`)}`;
}
