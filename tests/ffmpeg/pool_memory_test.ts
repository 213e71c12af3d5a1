// Decoding into memory that other APIs have made.

import { assert, assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, MapperGraph, type Tensor } from "@samepage/interop";
import { dmabuf, type DmaBufTensor } from "@samepage/interop/dmabuf";
import type { FrameMemory } from "../../src/core/tensors/native_buffers.ts";
import { gpuTest, withCuda } from "../cuda/help.ts";
import { type Clip, clipOf, CODECS } from "./codecs.ts";
import { testClips } from "./clip_tests.ts";
import { hashOf, RawDecoder } from "./raw.ts";

const H264: Clip = { ...CODECS[0], size: "318x182", frames: 30 };

/** Decodes into memory of any kind. `use` is given each frame, and its bytes of luma as FFmpeg's own buffers have them. */
async function decodeInto<T extends Tensor>(into: FrameMemory<T>, use: (frame: Frame<T>) => unknown): Promise<void> {
  const path = await clipOf(H264);
  const hashes: bigint[] = [];
  {
    await using decoder = await RawDecoder.open(path);
    for await (const pointer of decoder.frames()) hashes.push(hashOf(pointer));
  }
  let count = 0;
  await using decoder = await RawDecoder.open<T>(path, { threads: 4, into });
  for await (const pointer of decoder.frames()) {
    assertEquals(hashOf(pointer), hashes[count++]);
    await using frame = decoder.frameOf(pointer)!;
    assert(frame !== undefined, "it is FFmpeg's");
    await use(frame);
  }
  assertEquals(count, 30);
}

/** The bytes of luma, as the host sees them by a map that moves none. */
function luma(graph: MapperGraph, frame: Frame): Uint8Array {
  using mapped = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
  assertEquals(mapped.route.bytesMoved, 0);
  return mapped.planes[0].bytes().slice();
}

const noDmaBuf = dmabuf.allocators().some(({ open }) => open) ? "" : " (not here: no allocator of dma-bufs is open)";

testClips(`a dma-buf: each plane is one, by an fd of its own${noDmaBuf}`, async () => {
  if (noDmaBuf) return;
  using graph = new MapperGraph([host, dmabuf]);
  await decodeInto(dmabuf, (frame: Frame<DmaBufTensor>) => {
    const [plane] = frame.planes;
    using again = dmabuf.attach(plane.exportFd(), { ...plane.layout, shape: [...plane.layout.shape] }, {
      access: "read",
    });
    using seen = graph.map(again, host, { access: "read" }) as HostTensor;
    assertEquals(seen.bytes(), luma(graph, frame));
  });
});

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
