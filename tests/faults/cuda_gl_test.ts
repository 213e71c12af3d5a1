/** Every native call that hands OpenGL's memory to CUDA fails once: what comes of it is typed, and GL has it again. */
import { swept, test } from "./cuda.ts"; // first: it taps the libraries
import { assertEquals } from "@std/assert";
import { MapperGraph } from "../../mod.ts";
import { type CudaContext, CudaEglImage } from "../../src/cuda/mod.ts";
import { EglContext, eglDevices } from "../../src/egl/mod.ts";
import { lacks } from "../egl/gpu.ts";

const SIZE = { width: 8, height: 8 } as const;

/** A sweep with EGL on the same GPU. */
function testGl(name: string, run: (egl: EglContext, cuda: CudaContext, graph: MapperGraph) => unknown): void {
  test(
    `${name} of OpenGL's, in CUDA`,
    async (cuda) => {
      const device = eglDevices().find((one) => one.cuda === cuda.device.ordinal)!;
      using egl = EglContext.open({ device: device.index });
      using graph = new MapperGraph([egl, cuda]);
      await run(egl, cuda, graph);
    },
    1,
    lacks,
  );
}

testGl("a texture", async (egl, cuda, graph) => {
  const target = cuda.image({ dtype: "u8", channels: 4 });
  const seen = new Uint8Array(256);
  await swept(
    () => {
      using picture = egl.image.allocate({ ...SIZE, format: "RGBA" });
      egl.queue.finish();
      using mapped = graph.map(picture.planes[0], target);
      using surface = mapped.array.surface();
      assertEquals(surface.handle > 0n, true);
    },
    [
      "cuda_egl.cudaGraphicsGLRegisterImage",
      "cuda_egl.cudaGraphicsMapResources",
      "cuda_egl.cudaGraphicsSubResourceGetMappedArray",
      "cuda_egl.cudaGraphicsUnmapResources",
      "cuda_egl.cudaGraphicsUnregisterResource",
    ],
    () => {
      using picture = egl.image.allocate({ ...SIZE, format: "RGBA" });
      egl.queue.fill(picture, [1, 0, 1, 0]);
      graph.map(picture.planes[0], target)[Symbol.dispose]();
      egl.queue.read(picture, seen);
      assertEquals([...seen.subarray(0, 4)], [255, 0, 255, 0]);
    },
  );
});

testGl("a buffer", async (egl, cuda, graph) => {
  const seen = new Uint8Array(64);
  await swept(
    () => {
      using buffer = egl.buffer.allocate({ shape: [64], dtype: "u8" });
      using mapped = graph.map(buffer, cuda);
      cuda.stream.fill(mapped, 5);
    },
    [
      "cuda_egl.cudaGraphicsGLRegisterBuffer",
      "cuda_egl.cudaGraphicsMapResources",
      "cuda_egl.cudaGraphicsResourceGetMappedPointer",
      "cuda_egl.cudaGraphicsUnmapResources",
      "cuda_egl.cudaGraphicsUnregisterResource",
    ],
    () => {
      using buffer = egl.buffer.allocate({ shape: [64], dtype: "u8" });
      {
        using mapped = graph.map(buffer, cuda);
        cuda.stream.fill(mapped, 9);
      }
      egl.queue.read(buffer, seen);
      assertEquals(new Set(seen), new Set([9]));
    },
  );
});

testGl("an EGLImage", async (egl, cuda) => {
  using picture = egl.image.allocate({ ...SIZE, format: "RGBA" });
  egl.queue.finish();
  const { image } = picture.planes[0].handle;
  await swept(
    () => CudaEglImage.register(cuda, image)[Symbol.dispose](),
    [
      "cuda_egl.cudaGraphicsEGLRegisterImage",
      "cuda_egl.cudaGraphicsResourceGetMappedEglFrame",
      "cudart.cudaArrayGetInfo",
      "cuda_egl.cudaGraphicsUnregisterResource",
    ],
    () => egl.queue.fill(picture, [0, 0, 0, 0]),
  );
});
