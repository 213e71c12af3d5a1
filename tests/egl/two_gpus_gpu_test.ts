/** OpenGL's memory of one GPU, in CUDA on another. Streams from one GPU to another are in stream_gpu_test.ts. */
import { assertStringIncludes, assertThrows } from "@std/assert";
import { MapperGraph, NoRouteError } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { gpuTest } from "../cuda/help.ts";
import { lacks } from "./gpu.ts";
import { openEgl } from "./streams.ts";

gpuTest(
  "two GPUs: pictures and buffers of OpenGL's are refused by CUDA on another, by UUID",
  () => {
    using egl = openEgl(0);
    using cuda = CudaContext.open({ ordinal: 1 });
    using graph = new MapperGraph([egl, cuda]);
    using picture = egl.image.allocate({ format: "RGBA", width: 64, height: 64 });
    using buffer = egl.buffer.allocate({ shape: [4096], dtype: "u8" });
    const maps = {
      picture: () => graph.map(picture.planes[0], cuda.image({ dtype: "u8", channels: 4 })),
      buffer: () => graph.map(buffer, cuda),
    };
    for (const [what, map] of Object.entries(maps)) {
      const { message } = assertThrows(map, NoRouteError);
      console.log(`two GPUs: OpenGL's ${what}: ${message}`);
      assertStringIncludes(message, cuda.id.uuid!, what);
    }
  },
  2,
  lacks,
);
