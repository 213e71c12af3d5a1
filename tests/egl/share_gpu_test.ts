/** GL's pictures and buffers in CUDA, on a GPU: what one writes the other reads, in place, in turns. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, type ImageFormat, layout, MapperGraph, NoRouteError } from "@samepage/interop";
import type { EglContext } from "@samepage/interop/egl";
import type { CudaContext, CudaImageFormat, CudaStreamContext } from "@samepage/interop/cuda";
import { assertAlive } from "../alive.ts";
import { ledger } from "../../mod.ts";
import { eglCudaTest, noise } from "./gpu.ts";

/** No power of two, a usual size, and a large one. */
const SIZES = [[34, 70], [256, 256], [1080, 1920]] as const;

/** The planes of each format, as CUDA's images. */
const FORMATS: readonly (readonly [format: ImageFormat, planes: readonly Required<CudaImageFormat>[]])[] = [
  ["RGBA", [{ dtype: "u8", channels: 4 }]],
  ["BGRA", [{ dtype: "u8", channels: 4 }]],
  ["GRAY8", [{ dtype: "u8", channels: 1 }]],
  ["NV12", [{ dtype: "u8", channels: 1 }, { dtype: "u8", channels: 2 }]],
  ["I420", [{ dtype: "u8", channels: 1 }, { dtype: "u8", channels: 1 }, { dtype: "u8", channels: 1 }]],
  ["P010", [{ dtype: "u16", channels: 1 }, { dtype: "u16", channels: 2 }]],
];

function graphOf(egl: EglContext, cuda: CudaStreamContext): MapperGraph {
  return new MapperGraph([egl, cuda as CudaContext]);
}

function assertSame(found: Uint8Array, expected: Uint8Array, what: string): void {
  const wrong = found.findIndex((byte, i) => byte !== expected[i]);
  assert(wrong < 0, `${what}: byte ${wrong} is ${found[wrong]}, expected ${expected[wrong]}`);
}

for (const [format, planes] of FORMATS) {
  eglCudaTest(`a picture of ${format} is CUDA's, plane by plane, in place, at every size`, (egl, cuda) => {
    using graph = graphOf(egl, cuda);
    for (const [height, width] of SIZES) {
      using picture = egl.image.allocate({ format, width, height });
      for (const [i, plane] of picture.planes.entries()) {
        const what = `${format}[${i}] ${width}×${height}`;
        const { shape, dtype, byteLength } = plane.layout;
        using pixels = cuda.allocate({ shape, dtype });
        const [sent, answered, seen] = [noise(byteLength), noise(byteLength), new Uint8Array(byteLength)];
        egl.queue.write(plane, sent);
        {
          using mapped = graph.map(plane, cuda.image(planes[i]));
          assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
            ["egl.image→cuda.image", "alias"],
          ]);
          const { array } = mapped;
          assertEquals([array.extent.width, array.extent.height], [shape[1], shape[0]], what);
          cuda.stream.copy(array, pixels);
          cuda.stream.read(pixels, seen);
          assertSame(seen, sent, `${what}, at CUDA`);
          cuda.stream.write(pixels, answered);
          cuda.stream.copy(pixels, array);
        }
        egl.queue.read(plane, seen);
        assertSame(seen, answered, `${what}, back at GL`);
      }
    }
  });
}

eglCudaTest("a renderbuffer that GL has drawn to is CUDA's", (egl, cuda) => {
  using graph = graphOf(egl, cuda);
  using picture = egl.image.allocate({ format: "RGBA", width: 64, height: 32, storage: "renderbuffer" });
  using pixels = cuda.allocate({ shape: [32, 64, 4], dtype: "u8" });
  egl.queue.fill(picture, [1, 0, 0.2, 1]);
  {
    using mapped = graph.map(picture.planes[0], cuda.image({ dtype: "u8", channels: 4 }), { access: "read" });
    cuda.stream.copy(mapped.array, pixels);
  }
  const seen = new Uint8Array(64 * 32 * 4);
  cuda.stream.read(pixels, seen);
  assertEquals([...seen.subarray(0, 4)], [255, 0, 51, 255]);
});

const INVERT = `extern "C" __global__ void invert(cudaTextureObject_t from, cudaSurfaceObject_t to, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  uchar4 pixel = tex2D<uchar4>(from, x + 0.5f, y + 0.5f);
  surf2Dwrite(make_uchar4(255 - pixel.x, 255 - pixel.y, 255 - pixel.z, 255 - pixel.w), to, 4 * x, y);
}`;

eglCudaTest(
  "a kernel inverts one picture into another by texture and surface, GL copies it back, a hundred times",
  (egl, cuda) => {
    using graph = graphOf(egl, cuda);
    using program = cuda.program(INVERT);
    using invert = program.kernel("invert", ["cudaTextureObject_t", "cudaSurfaceObject_t", "int"]);
    const [height, width] = [97, 131];
    using one = egl.image.allocate({ format: "RGBA", width, height });
    using other = egl.image.allocate({ format: "RGBA", width, height });
    const target = cuda.image({ dtype: "u8", channels: 4 });
    const sent = noise(4 * height * width);
    const seen = new Uint8Array(sent.length);
    egl.queue.write(one, sent);
    for (let turn = 1; turn <= 100; turn++) {
      {
        using from = graph.map(one.planes[0], target, { access: "read" });
        using to = graph.map(other.planes[0], target);
        using texture = from.array.texture();
        using surface = to.array.surface();
        invert.run({ groups: [2, height], groupSize: [128] }, [texture.handle, surface.handle, width]);
        const done = cuda.stream.fence();
        texture.usedBy(done);
        surface.usedBy(done);
      }
      egl.queue.copy(other, one);
    }
    egl.queue.read(one, seen);
    assertSame(seen, sent, "after an even number of turns");
  },
);

eglCudaTest("a buffer is CUDA's memory, in place, and so is a part of it", (egl, cuda) => {
  using graph = graphOf(egl, cuda);
  using buffer = egl.buffer.allocate({ shape: [1024], dtype: "u32" });
  const sent = Uint32Array.from({ length: 1024 }, (_, i) => i * 3);
  egl.queue.write(buffer, sent);
  const seen = new Uint32Array(1024);
  let address = 0n;
  {
    using mapped = graph.map(buffer, cuda);
    assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [["egl.buffer→cuda", "alias"]]);
    address = mapped.address;
    cuda.stream.read(mapped, seen);
    assertEquals(seen, sent);
    cuda.stream.fill(mapped, 7);
  }
  egl.queue.read(buffer, seen);
  assertEquals(new Set(seen), new Set([7])); // a fill is of values
  {
    using part = buffer.slice(layout({ shape: [4], dtype: "u32", byteOffset: 64 }));
    using mapped = graph.map(part, cuda);
    console.log(`GL buffer: at 0x${address.toString(16)}, its part at +${mapped.address - address}`);
    cuda.stream.fill(mapped, 9);
  }
  egl.queue.read(buffer, seen);
  assertEquals([...seen.subarray(15, 21)], [7, 9, 9, 9, 9, 7]);
});

eglCudaTest("GL and CUDA take turns at a buffer, a thousand times", (egl, cuda) => {
  using graph = graphOf(egl, cuda);
  using program = cuda.program(`extern "C" __global__ void add(unsigned* x) { x[threadIdx.x] += 1 + threadIdx.x; }`);
  using add = program.kernel("add", ["unsigned*"]);
  using buffer = egl.buffer.allocate({ shape: [256], dtype: "u32" });
  const seen = new Uint32Array(256);
  for (let turn = 1; turn <= 1000; turn++) {
    {
      using mapped = graph.map(buffer, cuda);
      add.run({ groups: [1], groupSize: [256] }, [mapped]);
    }
    egl.queue.read(buffer, seen);
    assertEquals([seen[0], seen[255]], [turn, 256 * turn], `turn ${turn}`);
  }
});

eglCudaTest("two readers of one buffer share its map, and GL waits for both", (egl, cuda) => {
  using graph = graphOf(egl, cuda);
  using buffer = egl.buffer.allocate({ shape: [64], dtype: "u8" });
  const one = graph.map(buffer, cuda, { access: "read" });
  const other = graph.map(buffer, cuda, { access: "read" });
  assertEquals(one.address, other.address);
  const use = () => egl.queue.read(buffer, new Uint8Array(64));
  assertThrows(use, AccessError, "mapped to another driver");
  one[Symbol.dispose]();
  assertThrows(use, AccessError, "mapped to another driver");
  cuda.stream.read(other, new Uint8Array(64));
  other[Symbol.dispose]();
  use();
});

eglCudaTest("pictures that CUDA has no arrays of are refused, with the reason", (egl, cuda) => {
  using graph = graphOf(egl, cuda);
  using rgb = egl.image.allocate({ format: "RGB", width: 64, height: 64 });
  const target = cuda.image({ dtype: "u8", channels: 4 });
  assertThrows(() => graph.map(rgb.planes[0], target), NoRouteError, "its pixels are 3 × u8");
  using picture = egl.image.allocate({ format: "RGBA", width: 64, height: 64 });
  assertThrows(() => graph.map(picture, target), NoRouteError);
});

eglCudaTest("what is registered ends with the picture, whatever ends first", async (egl, cuda) => {
  const target = cuda.image({ dtype: "u8", channels: 4 });
  const once = (wait: (made: () => void) => void) => {
    const graph = graphOf(egl, cuda);
    const picture = egl.image.allocate({ format: "RGBA", width: 64, height: 64 });
    for (let i = 0; i < 3; i++) graph.map(picture.planes[0], target)[Symbol.dispose]();
    wait(() => {
      graph[Symbol.dispose]();
      picture[Symbol.dispose]();
    });
  };
  once((end) => end()); // events of the streams stay
  const before = ledger.alive;
  once((end) => {
    assertEquals((ledger.alive["cuda.glResource"] ?? 0) - (before["cuda.glResource"] ?? 0), 1);
    end();
  });
  await assertAlive(before, "after the picture");
});
