/**
 * Memory that exists already, and a GPU that works on it where it is: the pixels of a Mat are registered
 * (cudaHostRegister), a kernel changes them, they are unregistered, and the Mat has the new pixels at its old address. Not
 * a byte is copied.
 *
 * Run it as `deno run -A examples/cuda-register/main.ts`. Without OpenCV the same is shown with memory of the host.
 *
 * @module
 */
import { host, HostTensor, InteropError, MapperGraph } from "@samepage/interop";
import type { CudaContext, CudaKernel, CudaTensor } from "@samepage/interop/cuda";
import { OpenCVContext, type OpenCVMat } from "@samepage/interop/opencv";
import { onGpu, says } from "../cuda-edges/gpu.ts";
import { openOr } from "../cuda-edges/open.ts";
import { milliseconds, print } from "../edges/report.ts";
import source from "./kernels.cu" with { type: "text" };

/** Memory that exists already: a tensor, or a Mat's. */
type Existing = OpenCVMat | HostTensor;

/** What all need. */
interface Scene {
  readonly cuda: CudaContext;
  readonly graph: MapperGraph;
  readonly invert: CudaKernel;
}

const PHOTO = new URL("../edges/photo.jpg", import.meta.url).pathname;
const IMAGE = { shape: [480, 640, 3], dtype: "u8" } as const;

await onGpu((cuda) => {
  using program = cuda.program(source);
  const invert = program.kernel("invert", ["unsigned char*", "unsigned int"]);
  const opened = openOr(() => OpenCVContext.open());
  if (opened instanceof InteropError) {
    print("OpenCV", `none. ${opened.message}`);
    using graph = new MapperGraph([host, cuda]);
    using memory = host.allocate(IMAGE);
    return show("memory", "of the host", memory, { cuda, graph, invert });
  }
  using cv = opened;
  print("OpenCV", cv.version);
  using graph = new MapperGraph([host, cuda, cv]);
  const scene = { cuda, graph, invert };
  {
    using mat = cv.mat.create(IMAGE);
    show("Mat", "of samepage's", mat, scene);
  }
  const files = openOr(() => cv.imread(PHOTO));
  if (files instanceof InteropError) return print("Mat", `of OpenCV's: none. ${files.message}`);
  {
    using photo = files;
    const begins = `its data begins ${photo.address % 4096n} bytes into a page`;
    print("Mat", `of OpenCV's, as it comes: ${begins}`, ...String(graph.explain(photo, cuda)).split("\n"));
  }
  using _pages = cv.pageAllocator();
  using photo = cv.imread(PHOTO);
  show("Mat", "of OpenCV's, by the page allocator", photo, scene);
});

/** Changes memory by a kernel twice: while it is kept registered, and registered by the map itself. */
function show(heading: string, whose: string, memory: Existing, { cuda, graph, invert }: Scene): void {
  const { byteLength } = memory.layout;
  const before = withBytes(graph, memory, (bytes) => bytes.map((byte, i) => bytes[i] = byte + i));
  const data = dataOf(memory);
  const copiedBefore = cuda.bytesCopied;
  print(heading, `${whose}: ${byteLength} bytes at 0x${data.toString(16)}`);

  let began = performance.now();
  {
    using _registered = cuda.register(memory);
    print("", `registered in ${milliseconds(performance.now() - began)}`);
    using inPlace = graph.map(memory, cuda);
    print("", ...String(inPlace.route).split("\n"), `kernels call it 0x${inPlace.address.toString(16)}`);
    launch(invert, inPlace);
    began = performance.now();
  } // the map ends when the kernel is done; then the registration does
  print("", `the kernel waited for, and unregistered, in ${milliseconds(performance.now() - began)}`);
  const inverted = withBytes(graph, memory, (bytes) => bytes.every((byte, i) => byte === 255 - before[i]));
  print("", says(inverted, "every byte is what the kernel has made of it", "the bytes are others"));

  {
    using inPlace = graph.map(memory, cuda); // registers by itself: the registration is over
    launch(invert, inPlace);
  }
  const back = withBytes(graph, memory, (bytes) => bytes.every((byte, i) => byte === before[i]));
  print("", says(back, "registered again, by the map: the old bytes are back", "the second time the bytes are others"));
  const stays = dataOf(memory) === data && cuda.bytesCopied === copiedBefore;
  print("", says(stays, "its data is where it was, and 0 bytes were copied", "it has moved, or was copied"));
}

function launch(invert: CudaKernel, bytes: CudaTensor): void {
  const { byteLength } = bytes.layout;
  invert.run({ groups: [Math.ceil(byteLength / 256)], groupSize: [256] }, [bytes, byteLength]);
}

/** Reads memory on the CPU, whether a Mat or a tensor holds it. */
function withBytes<R>(graph: MapperGraph, memory: Existing, look: (bytes: Uint8Array) => R): R {
  if (memory instanceof HostTensor) return look(memory.bytes());
  using seen = graph.map(memory, host);
  return look(seen.bytes());
}

/** Where it is: of a Mat, what its own `data` says now. */
function dataOf(memory: Existing): bigint {
  return memory instanceof HostTensor ? memory.address : memory.data;
}
