// Decoding into pinned memory: on a GPU. Into dma-bufs: tests/guest/ffmpeg_into_test.ts.

import { assertEquals } from "@std/assert";
import { host, type HostTensor, MapperGraph } from "@samepage/interop";
import { gpuTest, withCuda } from "../cuda/help.ts";
import { decodeInto, luma } from "./decode_into.ts";

gpuTest("decoding into pinned memory: a frame is CUDA's at once", () =>
  withCuda(async (cuda) => {
    using graph = new MapperGraph([host, cuda]);
    await using program = cuda.program(`extern "C" __global__ void first(const unsigned char *x, unsigned int *out) {
      out[0] = x[0] + 256 * x[317];
    }`);
    const first = program.kernel("first", ["unsigned char*", "unsigned int*"]);
    using out = cuda.pinned.allocate({ shape: [1], dtype: "u32" });
    await decodeInto(cuda.pinned, async (frame) => {
      const bytes = luma(graph, frame);
      {
        await using mapped = graph.map(frame.planes[0], cuda, { access: "read" });
        assertEquals(mapped.route.bytesMoved, 0);
        first.run({ groups: [1], groupSize: [1] }, [mapped, out]);
      }
      using seen = graph.map(out, host, { access: "read" }) as HostTensor<"u32">;
      assertEquals(seen.view()[0], bytes[0] + 256 * bytes[317]);
    });
  }));
