/** Images of Vulkan's in CUDA, on a GPU: what one writes the other reads, by coordinates; and which images do not cross. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { LayoutError, MapperGraph, NoRouteError } from "@samepage/interop";
import type { CudaImageFormat } from "@samepage/interop/cuda";
import type { VulkanFormatName } from "@samepage/interop/vulkan";
import { assertSame } from "../conformance/bytes.ts";
import { assertFdsEnd, gpus, pattern, sharingTest } from "./gpu.ts";

/** No power of two, and a size at which wrong pixels fit. */
const SIZES = [[33, 70], [256, 256], [1080, 1920]] as const;

const FORMATS: readonly (readonly [vulkan: VulkanFormatName, cuda: Required<CudaImageFormat>, bytes: number])[] = [
  ["R8G8B8A8_UNORM", { dtype: "u8", channels: 4 }, 1],
  ["B8G8R8A8_UNORM", { dtype: "u8", channels: 4 }, 1],
  ["R8_UINT", { dtype: "u8", channels: 1 }, 1],
  ["R8G8_SINT", { dtype: "i8", channels: 2 }, 1],
  ["R16_UNORM", { dtype: "u16", channels: 1 }, 2],
  ["R16G16B16A16_SFLOAT", { dtype: "f16", channels: 4 }, 2],
  ["R32_UINT", { dtype: "u32", channels: 1 }, 4],
  ["R32G32B32A32_SFLOAT", { dtype: "f32", channels: 4 }, 4],
];

const RGBA = { dtype: "u8", channels: 4 } as const;

/** One GPU in Vulkan and in CUDA. */
function open() {
  using made = new DisposableStack();
  const [gpu] = gpus;
  const [vulkan, cuda] = [made.use(gpu.vulkan()), made.use(gpu.cuda())];
  const graph = made.use(new MapperGraph([vulkan, cuda]));
  const kept = made.move();
  return { vulkan, cuda, graph, [Symbol.dispose]: () => kept.dispose() };
}

sharingTest("an image is CUDA's, in place, at every size and in every format", () => {
  using all = open();
  const { vulkan, cuda, graph } = all;
  for (const [name, format, bytes] of FORMATS) {
    if (!vulkan.image(name).abilities.of("optimal", 1)?.exports) {
      console.log(`images: Vulkan has no ${name} by an opaque fd`);
      continue;
    }
    for (const [height, width] of SIZES) {
      const shape = format.channels === 1 ? [height, width] : [height, width, format.channels];
      const length = height * width * format.channels * bytes;
      using image = vulkan.image(name).allocate({ shape });
      using pixels = cuda.allocate({ shape, dtype: format.dtype });
      const seen = new Uint8Array(length);
      const what = `${name} ${width} × ${height}`;
      vulkan.queue.write(image, pattern(length, 1));
      {
        using mapped = graph.map(image, cuda.image(format));
        assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
          ["vulkan.image→cuda.image", "alias"],
        ]);
        const { array } = mapped;
        assertEquals([array.shape, array.dtype], [[height, width, format.channels], format.dtype], what);
        cuda.stream.copy(array, pixels);
        cuda.stream.read(pixels, seen);
        assertSame(seen, pattern(length, 1), `${what}, at CUDA`);
        cuda.stream.write(pixels, pattern(length, 2));
        cuda.stream.copy(pixels, array);
      }
      vulkan.queue.read(image, seen);
      assertSame(seen, pattern(length, 2), `${what}, back at Vulkan`);
    }
  }
});

const INVERT = `extern "C" __global__ void invert(cudaTextureObject_t from, cudaSurfaceObject_t to, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  uchar4 pixel = tex2D<uchar4>(from, x + 0.5f, y + 0.5f);
  surf2Dwrite(make_uchar4(255 - pixel.x, 255 - pixel.y, 255 - pixel.z, 255 - pixel.w), to, 4 * x, y);
}`;

sharingTest("a CUDA kernel inverts Vulkan's images into each other by texture and surface, a hundred times", () => {
  using all = open();
  const { vulkan, cuda, graph } = all;
  using program = cuda.program(INVERT);
  using invert = program.kernel("invert", ["cudaTextureObject_t", "cudaSurfaceObject_t", "int"]);
  const [height, width] = [97, 131];
  const length = height * width * 4;
  using one = vulkan.image("R8G8B8A8_UINT").allocate({ shape: [height, width, 4] });
  using other = vulkan.image("R8G8B8A8_UINT").allocate({ shape: [height, width, 4] });
  const seen = new Uint8Array(length);
  vulkan.queue.write(one, pattern(length, 3));
  for (let turn = 1; turn <= 100; turn++) {
    const [from, to] = turn % 2 === 1 ? [one, other] : [other, one];
    {
      using source = graph.map(from, cuda.image(RGBA), { access: "read" });
      using result = graph.map(to, cuda.image(RGBA));
      assertThrows(() => source.array.surface(), Error, "read");
      using texture = source.array.texture();
      using surface = result.array.surface();
      invert.run({ groups: [2, height], groupSize: [128] }, [texture.handle, surface.handle, width]);
      const done = cuda.stream.fence();
      texture.usedBy(done);
      surface.usedBy(done);
    }
    vulkan.queue.read(to, seen);
    const expected = turn % 2 === 0 ? pattern(length, 3) : pattern(length, 3).map((byte) => 255 - byte);
    assertSame(seen, expected, `turn ${turn}`);
  }
});

sharingTest("a texture interpolates between the pixels of Vulkan's image, and repeats its edges", () => {
  using all = open();
  const { vulkan, cuda, graph } = all;
  using image = vulkan.image("R8_UNORM").allocate({ shape: [2, 2] });
  vulkan.queue.write(image, Uint8Array.of(0, 100, 200, 100));
  using mapped = graph.map(image, cuda.image({ dtype: "u8" }), { access: "read" });
  using texture = mapped.array.texture({ filter: "linear", read: "normalized" });
  using program = cuda.program(`extern "C" __global__ void sample(cudaTextureObject_t from, float* to) {
    to[0] = 255 * tex2D<float>(from, 1, 0.5f);
    to[1] = 255 * tex2D<float>(from, 1, 1);
    to[2] = 255 * tex2D<float>(from, -5, 1.5f);
  }`);
  using sample = program.kernel("sample", ["cudaTextureObject_t", "float*"]);
  using to = cuda.allocate({ shape: [3], dtype: "f32" });
  sample.run({ groups: [1], groupSize: [1] }, [texture.handle, to]);
  texture.usedBy(cuda.stream.fence());
  const seen = new Float32Array(3);
  cuda.stream.read(to, seen);
  assertEquals(Array.from(seen, Math.round), [50, 100, 200]);
});

sharingTest("rows of pixels, other formats and buffers are not images of CUDA's, with the reason", () => {
  using all = open();
  const { vulkan, cuda, graph } = all;
  const target = cuda.image(RGBA);
  const shape = [256, 256, 4];
  using rows = vulkan.image("R8G8B8A8_UNORM").allocate({ shape, tiling: "linear", exportAs: "opaque-fd" });
  const { refused } = assertThrows(() => graph.map(rows, target), NoRouteError);
  assertStringIncludes(refused.map(({ reason }) => reason).join("; "), "its pixels lie row by row");
  using buffer = vulkan.allocate({ shape, dtype: "u8" });
  assertThrows(() => graph.map(buffer, target), NoRouteError);
  using image = vulkan.image("R8G8B8A8_UINT").allocate({ shape });
  assertThrows(() => graph.map(image, cuda.image({ dtype: "u8" })), NoRouteError, "its pixels are 4 × u8");
  using mapped = graph.map(image, target);
  assertThrows(() => mapped.slice({ shape: [1, 1, 4], dtype: "u8" }), LayoutError, "no parts");
});

sharingTest("an image's fds and arrays end with its map", () => {
  using all = open();
  const { vulkan, cuda, graph } = all;
  const turn = () => {
    using image = vulkan.image("R8G8B8A8_UNORM").allocate({ shape: [64, 64, 4] });
    using mapped = graph.map(image, cuda.image(RGBA));
    assertEquals(mapped.array.extent, { width: 64, height: 64, depth: 0 });
  };
  turn(); // the proof
  assertFdsEnd(turn);
});

sharingTest("memory for one object alone is CUDA's too: what the driver asks for, and what it gets besides", () => {
  using all = open();
  const { vulkan, graph, cuda } = all;
  using buffer = vulkan.allocate({ shape: [1024], dtype: "u32" });
  using image = vulkan.image("R8G8B8A8_UNORM").allocate({ shape: [64, 64, 4] });
  const dedicated = { buffers: buffer.rawHandle.info!.dedicated, images: image.rawHandle.info!.dedicated };
  console.log(`images: ${cuda.name} wants dedicated memory: ${JSON.stringify(dedicated)}`);
  vulkan.queue.fill(buffer, 0x01020304);
  using mapped = graph.map(buffer, cuda);
  const seen = new Uint32Array(1024);
  cuda.stream.read(mapped, seen);
  assertEquals(seen, new Uint32Array(1024).fill(0x01020304));
});
