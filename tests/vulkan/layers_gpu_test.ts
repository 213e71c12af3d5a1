/** Layers of Vulkan's images in OpenCL and in CUDA, on a GPU: each pixel of each layer, written by either and read by the other. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type Context, MapperGraph, NoRouteError } from "@samepage/interop";
import type { CudaImageFormat } from "@samepage/interop/cuda";
import type { OpenCLImageFormat } from "@samepage/interop/opencl";
import type { VulkanFormatName } from "@samepage/interop/vulkan";
import { assertSame } from "../conformance/bytes.ts";
import { assertFdsEnd, type Gpu, gpus, pattern, sharingTest } from "./gpu.ts";

/** No power of two, sizes at which wrong pixels fit, one layer alone, and many. */
const SIZES = [[5, 33, 70], [4, 256, 256], [1, 61, 31], [67, 3, 5], [2, 540, 961]] as const;

interface Format {
  readonly name: VulkanFormatName;
  readonly opencl: OpenCLImageFormat;
  readonly cuda: Required<CudaImageFormat>;
  readonly pixelBytes: number;
}

const RGBA: Format = {
  name: "R8G8B8A8_UINT",
  opencl: { order: "RGBA", type: "UNSIGNED_INT8" },
  cuda: { dtype: "u8", channels: 4 },
  pixelBytes: 4,
};
const FORMATS: readonly Format[] = [
  RGBA,
  { name: "R8_UINT", opencl: { order: "R", type: "UNSIGNED_INT8" }, cuda: { dtype: "u8", channels: 1 }, pixelBytes: 1 },
  {
    name: "R16G16B16A16_SFLOAT",
    opencl: { order: "RGBA", type: "HALF_FLOAT" },
    cuda: { dtype: "f16", channels: 4 },
    pixelBytes: 8,
  },
  {
    name: "R32G32B32A32_SFLOAT",
    opencl: { order: "RGBA", type: "FLOAT" },
    cuda: { dtype: "f32", channels: 4 },
    pixelBytes: 16,
  },
];

/** One GPU in Vulkan and in another API. */
function opened<C extends Context>(open: (gpu: Gpu) => C) {
  using made = new DisposableStack();
  const [gpu] = gpus;
  const [vulkan, other] = [made.use(gpu.vulkan()), made.use(open(gpu))];
  const graph = made.use(new MapperGraph([vulkan, other]));
  const kept = made.move();
  return { vulkan, other, graph, [Symbol.dispose]: () => kept.dispose() };
}

const withOpenCL = () => opened((gpu) => gpu.opencl());
const withCuda = () => opened((gpu) => gpu.cuda());

function shapeOf(size: readonly number[], { cuda: { channels } }: Format): readonly number[] {
  return channels === 1 ? size : [...size, channels];
}

for (const format of FORMATS) {
  sharingTest(`an image with layers is OpenCL's 2D array, in place, at every size: ${format.name}`, () => {
    using all = withOpenCL();
    const { vulkan, other: cl, graph } = all;
    for (const size of SIZES) {
      const length = size[0] * size[1] * size[2] * format.pixelBytes;
      using image = vulkan.image(format.name).allocate({ shape: shapeOf(size, format) });
      const seen = new Uint8Array(length);
      const what = `${format.name} ${size.join(" × ")}`;
      vulkan.queue.write(image, pattern(length, 1));
      {
        using mapped = graph.map(image, cl.image(format.opencl));
        const [{ edge, transfer }] = mapped.route.steps;
        assertEquals([edge, transfer, mapped.type], ["vulkan.image→opencl.image", "alias", "2D array"]);
        cl.queue.read(mapped, seen);
        assertSame(seen, pattern(length, 1), `${what}, at OpenCL`);
        cl.queue.write(mapped, pattern(length, 2));
      }
      vulkan.queue.read(image, seen);
      assertSame(seen, pattern(length, 2), `${what}, back at Vulkan`);
    }
  });

  sharingTest(`an image with layers is CUDA's layered array, in place, at every size: ${format.name}`, () => {
    using all = withCuda();
    const { vulkan, other: cuda, graph } = all;
    for (const size of SIZES) {
      const length = size[0] * size[1] * size[2] * format.pixelBytes;
      const shape = shapeOf(size, format);
      using image = vulkan.image(format.name).allocate({ shape });
      using pixels = cuda.allocate({ shape, dtype: format.cuda.dtype });
      const seen = new Uint8Array(length);
      const what = `${format.name} ${size.join(" × ")}`;
      vulkan.queue.write(image, pattern(length, 1));
      {
        using mapped = graph.map(image, cuda.image(format.cuda));
        const [{ edge, transfer }] = mapped.route.steps;
        assertEquals([edge, transfer], ["vulkan.image→cuda.image", "alias"]);
        const { array } = mapped;
        assertEquals([mapped.layers, array.layered, array.shape], [size[0], true, [...size, format.cuda.channels]]);
        cuda.stream.copy(array, pixels);
        cuda.stream.read(pixels, seen);
        assertSame(seen, pattern(length, 1), `${what}, at CUDA`);
        cuda.stream.write(pixels, pattern(length, 2));
        cuda.stream.copy(pixels, array);
      }
      vulkan.queue.read(image, seen);
      assertSame(seen, pattern(length, 2), `${what}, back at Vulkan`);
    }
  });
}

/** Five layers, of sizes that are not powers of two. */
const SHAPE = [5, 97, 131, 4];
const LENGTH = 5 * 97 * 131 * 4;

/** What the kernels make of the layers: each pixel of layer n plus n + 1, in the next layer. */
function turned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const each = LENGTH / 5;
  return Uint8Array.from({ length: LENGTH }, (_, i) => {
    const layer = Math.floor(i / each);
    const from = (layer + 4) % 5;
    return bytes[from * each + i % each] + from + 1;
  });
}

const BY_OPENCL = `kernel void turn(read_only image2d_array_t from, write_only image2d_array_t to) {
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  int4 next = (int4)(at.x, at.y, (at.z + 1) % get_image_array_size(to), 0);
  write_imageui(to, next, (read_imageui(from, at) + (uint)at.z + 1) & 255);
}`;

sharingTest("an OpenCL kernel turns the layers of Vulkan's images, ten times", () => {
  using all = withOpenCL();
  const { vulkan, other: cl, graph } = all;
  const target = cl.image(RGBA.opencl);
  using program = cl.program(BY_OPENCL);
  using turn = program.kernel("turn");
  using one = vulkan.image(RGBA.name).allocate({ shape: SHAPE });
  using two = vulkan.image(RGBA.name).allocate({ shape: SHAPE });
  const seen = new Uint8Array(LENGTH);
  let expected = pattern(LENGTH, 3);
  vulkan.queue.write(one, expected);
  for (let i = 0; i < 10; i++) {
    const [from, to] = i % 2 === 0 ? [one, two] : [two, one];
    {
      using source = graph.map(from, target, { access: "read" });
      using result = graph.map(to, target, { access: "write" });
      turn.run({ items: [131, 97, 5] }, [source, result]);
    }
    vulkan.queue.read(to, seen);
    assertSame(seen, expected = turned(expected), `turn ${i}`);
  }
});

const BY_CUDA =
  `extern "C" __global__ void turn(cudaTextureObject_t from, cudaSurfaceObject_t to, int width, int layers) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, layer = blockIdx.z;
  if (x >= width) return;
  uchar4 pixel = tex2DLayered<uchar4>(from, x + 0.5f, y + 0.5f, layer);
  unsigned char n = layer + 1;
  uchar4 sum = make_uchar4(pixel.x + n, pixel.y + n, pixel.z + n, pixel.w + n);
  surf2DLayeredwrite(sum, to, 4 * x, y, (layer + 1) % layers);
}`;

sharingTest("a CUDA kernel turns the layers of Vulkan's images by texture and surface, ten times", () => {
  using all = withCuda();
  const { vulkan, other: cuda, graph } = all;
  using program = cuda.program(BY_CUDA);
  using turn = program.kernel("turn", ["cudaTextureObject_t", "cudaSurfaceObject_t", "int", "int"]);
  using one = vulkan.image(RGBA.name).allocate({ shape: SHAPE });
  using two = vulkan.image(RGBA.name).allocate({ shape: SHAPE });
  const seen = new Uint8Array(LENGTH);
  let expected = pattern(LENGTH, 3);
  vulkan.queue.write(one, expected);
  for (let i = 0; i < 10; i++) {
    const [from, to] = i % 2 === 0 ? [one, two] : [two, one];
    {
      using source = graph.map(from, cuda.image(RGBA.cuda), { access: "read" });
      using result = graph.map(to, cuda.image(RGBA.cuda));
      using texture = source.array.texture();
      using surface = result.array.surface();
      turn.run({ groups: [2, 97, 5], groupSize: [128] }, [texture.handle, surface.handle, 131, 5]);
      const done = cuda.stream.fence();
      texture.usedBy(done);
      surface.usedBy(done);
    }
    vulkan.queue.read(to, seen);
    assertSame(seen, expected = turned(expected), `turn ${i}`);
  }
});

sharingTest("images of other kinds are refused with the reason, and fds end with the maps", () => {
  using all = withOpenCL();
  const { vulkan, other: cl, graph } = all;
  const layered = vulkan.image(RGBA.name);
  {
    using image = layered.allocate({ shape: [2, 16, 16, 4] });
    using picture = layered.allocate({ shape: [16, 16, 4] });
    const reasonOf = (source: typeof image, type: "2D" | "3D" | "2D array") => {
      const { refused } = assertThrows(() => graph.map(source, cl.image(RGBA.opencl, { type })), NoRouteError);
      return refused.map(({ reason, remedy }) => `${reason} ${remedy}`).join("; ");
    };
    assertStringIncludes(
      reasonOf(image, "3D"),
      'an array of pictures, and these are 3D images. Map it to cl.image(format, { type: "2D array" })',
    );
    assertStringIncludes(reasonOf(image, "2D"), "an array of pictures, and these are 2D images");
    assertStringIncludes(reasonOf(picture, "2D array"), "one picture, and these are 2D array images");
    const other = cl.image({ order: "RGBA", type: "UNORM_INT8" });
    assertThrows(() => graph.map(image, other), NoRouteError, "its pixels are rgba uint8");
  }
  const turn = () => {
    using image = layered.allocate({ shape: [3, 64, 64, 4] });
    using _ = graph.map(image, cl.image(RGBA.opencl));
  };
  turn(); // the proof
  assertFdsEnd(turn);
});
