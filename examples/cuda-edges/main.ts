/**
 * Edges of a picture that lies in pinned, mapped memory: a Gaussian blur and Canny by kernels that reach it there, and put
 * the result where the CPU sees it. Not a byte is copied; the pixels are those of the CPU, of OpenCL and of OpenCV. And
 * once more over the memory of two Mats.
 *
 * Run it as `deno run -A examples/cuda-edges/main.ts [photo]`: without one, the picture is 640 × 480 pixels of stripes.
 *
 * @module
 */
import { host, InteropError, MapperGraph } from "@samepage/interop";
import type { CudaContext, CudaTensor } from "@samepage/interop/cuda";
import { gpuMatHeader, OpenCVContext, type OpenCVTensor } from "@samepage/interop/opencv";
import { detectEdgesInGrey } from "../edges/host.ts";
import { milliseconds, print, Times } from "../edges/report.ts";
import { verdict } from "../edges/verdict.ts";
import { onGpu, says } from "./gpu.ts";
import { CudaEdges } from "./kernels.ts";
import { openOr } from "./open.ts";
import { byOpenCL, byOpenCV, findEdges } from "./peers.ts";
import { photograph, type Picture, stripes } from "./picture.ts";

/** Runs that are measured. */
const RUNS = 9;

const picture = Deno.args[0] === undefined ? stripes() : await photograph(Deno.args[0]);
const { width, height } = picture;
print("picture", `${picture.name}, ${width} × ${height}`);

const onHost = new Times();
const expected = onHost.measure(() => detectEdgesInGrey(picture.grey, width, height));
const bright = expected.reduce((count, value) => count + Number(value === 255), 0);
print("host", `${bright} pixels are edges; ${milliseconds(onHost.total)} in TypeScript`);
for (const [api, find] of [["OpenCL", byOpenCL], ["OpenCV", byOpenCV]] as const) {
  const found = find(picture);
  if (found instanceof InteropError) print(api, `none. ${found.message}`);
  else print(api, `${found.who}: ${verdict(found.edges, expected)}`);
}

await onGpu((cuda) => {
  using edges = new CudaEdges(cuda, width, height);
  inMappedMemory(cuda, edges, picture);
  const opened = openOr(() => OpenCVContext.open());
  if (opened instanceof InteropError) return print("mats", `none. ${opened.message}`);
  using cv = opened;
  overMats(cuda, cv, edges, picture);
});

/** Both ends in pinned memory that is mapped for kernels (cudaHostAllocMapped). */
function inMappedMemory(cuda: CudaContext, edges: CudaEdges, { grey }: Picture): void {
  using graph = new MapperGraph([host, cuda]);
  using input = mapped(cuda);
  using output = mapped(cuda);
  {
    using pixels = graph.map(input, host);
    pixels.bytes().set(grey);
    print("route", ...String(pixels.route).split("\n"));
  }
  const copiedBefore = cuda.bytesCopied;
  const times = new Times();
  let launches = 0;
  for (let i = 0; i < RUNS; i++) {
    times.measure(() => {
      launches = edges.run(input, output);
      cuda.stream.finish();
    });
  }
  using found = graph.map(output, host, { access: "read" });
  print("CUDA", verdict(found.bytes(), expected));
  print("time", `${milliseconds(times.total)}, the middle of ${RUNS} runs; hysteresis took ${launches} launches`);
  print("copied", copied(cuda.bytesCopied - copiedBefore));
}

/** Mats over both ends, and kernels over the memory of the Mats. */
function overMats(cuda: CudaContext, cv: OpenCVContext, edges: CudaEdges, { grey }: Picture): void {
  using graph = new MapperGraph([host, cuda, cv]);
  using input = mapped(cuda);
  using output = mapped(cuda);
  using inMemory = graph.map(input, host);
  using outMemory = graph.map(output, host);
  inMemory.bytes().set(grey);
  using image = graph.map(inMemory, cv.mat);
  using result = graph.map(outMemory, cv.mat);
  const places = [[image, input], [result, output]] as const;
  const same = places.every(([mat, pinned]) => mat.data === pinned.hostHandle);
  print("mats", `${cv.name}: ${says(same, "their data is the pinned memory", "their data lies elsewhere")}`);

  const copiedBefore = cuda.bytesCopied;
  {
    using from = graph.map(image, cuda, { access: "read" });
    using to = graph.map(result, cuda);
    print("", "the result as CUDA sees it:", ...String(to.route).split("\n"));
    print("", header(from, image));
    edges.run(from, to);
  } // unmapped: the kernels are done, and the Mats are OpenCV's again
  {
    using seen = graph.map(result, host, { access: "read" });
    print("", verdict(seen.bytes(), expected), copied(cuda.bytesCopied - copiedBefore));
  }
  // OpenCV works on the same memory: what the kernels have found is overwritten.
  findEdges(cv, image, result);
  using seen = graph.map(result, host, { access: "read" });
  print("", `by OpenCV, over the same two Mats: ${verdict(seen.bytes(), expected)}`);
}

/** The bytes of a GpuMat over a Mat's pinned bytes, for an OpenCV with CUDA: the address that kernels use, the Mat's step. */
function header(onDevice: CudaTensor, mat: OpenCVTensor): string {
  const bytes = new DataView(gpuMatHeader(onDevice).buffer);
  const [step, data] = [bytes.getBigUint64(16, true), bytes.getBigUint64(24, true)]; // GpuMat::step, GpuMat::data
  const same = data === onDevice.address && step === BigInt(mat.matShape.steps[0]);
  const what = `data 0x${data.toString(16)}, step ${step}`;
  return `a GpuMat's header: ${says(same, `${what}, as kernels and the Mat have them`, `${what}, which is another's`)}`;
}

/** A picture's plane in pinned memory. */
function mapped(cuda: CudaContext): CudaTensor {
  return cuda.pinned.allocate({ shape: [height, width], dtype: "u8", mapped: true });
}

function copied(bytes: number): string {
  return says(bytes === 0, "0 bytes between host and GPU, counted", `${bytes} bytes were copied`);
}
