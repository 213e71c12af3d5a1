/** Images of Vulkan's in OpenCL, on a GPU: what one writes the other reads, by coordinates; and which images do not cross. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { MapperGraph, NoRouteError } from "@samepage/interop";
import type { OpenCLImageFormat } from "@samepage/interop/opencl";
import type { VulkanFormatName } from "@samepage/interop/vulkan";
import { assertSame } from "../conformance/bytes.ts";
import { assertFdsEnd, gpus, pattern, sharingTest } from "./gpu.ts";

/** No power of two, and a size at which wrong pixels fit. */
const SIZES = [[33, 70], [256, 256], [1080, 1920]] as const;

const FORMATS:
  readonly (readonly [vulkan: VulkanFormatName, opencl: OpenCLImageFormat, channels: number, bytes: number])[] = [
    ["R8G8B8A8_UNORM", { order: "RGBA", type: "UNORM_INT8" }, 4, 1],
    ["R8_UINT", { order: "R", type: "UNSIGNED_INT8" }, 1, 1],
    ["R32G32B32A32_SFLOAT", { order: "RGBA", type: "FLOAT" }, 4, 4],
  ];

/** One GPU in Vulkan and in OpenCL. */
function open() {
  using made = new DisposableStack();
  const [gpu] = gpus;
  const [vulkan, cl] = [made.use(gpu.vulkan()), made.use(gpu.opencl())];
  const graph = made.use(new MapperGraph([vulkan, cl]));
  const kept = made.move();
  return { vulkan, cl, graph, [Symbol.dispose]: () => kept.dispose() };
}

sharingTest("an image is OpenCL's, in place, at every size and in every format", () => {
  using all = open();
  const { vulkan, cl, graph } = all;
  for (const [name, format, channels, bytes] of FORMATS) {
    const target = cl.image(format, { type: "2D" });
    for (const [height, width] of SIZES) {
      const length = height * width * channels * bytes;
      using image = vulkan.image(name).allocate({
        shape: channels === 1 ? [height, width] : [height, width, channels],
      });
      const seen = new Uint8Array(length);
      const what = `${name} ${width} × ${height}`;
      vulkan.queue.write(image, pattern(length, 1));
      {
        using mapped = graph.map(image, target);
        assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
          ["vulkan.image→opencl.image", "alias"],
        ]);
        cl.queue.read(mapped, seen);
        assertSame(seen, pattern(length, 1), `${what}, at OpenCL`);
        cl.queue.write(mapped, pattern(length, 2));
      }
      vulkan.queue.read(image, seen);
      assertSame(seen, pattern(length, 2), `${what}, back at Vulkan`);
    }
  }
});

sharingTest("an OpenCL kernel inverts Vulkan's images into each other, a hundred times by turns", () => {
  using all = open();
  const { vulkan, cl, graph } = all;
  const target = cl.image({ order: "RGBA", type: "UNSIGNED_INT8" }, { type: "2D" });
  using program = cl.program(`kernel void invert(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(to, at, 255 - read_imageui(from, at));
  }`);
  using invert = program.kernel("invert");
  const [height, width] = [97, 131];
  const length = height * width * 4;
  using one = vulkan.image("R8G8B8A8_UINT").allocate({ shape: [height, width, 4] });
  using other = vulkan.image("R8G8B8A8_UINT").allocate({ shape: [height, width, 4] });
  const seen = new Uint8Array(length);
  vulkan.queue.write(one, pattern(length, 3));
  for (let turn = 1; turn <= 100; turn++) {
    const [from, to] = turn % 2 === 1 ? [one, other] : [other, one];
    {
      using source = graph.map(from, target, { access: "read" });
      using result = graph.map(to, target, { access: "write" });
      invert.run({ items: [width, height] }, [source, result]);
    }
    vulkan.queue.read(to, seen);
    const expected = turn % 2 === 0 ? pattern(length, 3) : pattern(length, 3).map((byte) => 255 - byte);
    assertSame(seen, expected, `turn ${turn}`);
  }
});

sharingTest("rows of pixels, other formats and other kinds of image are refused with the reason", () => {
  using all = open();
  const { vulkan, cl, graph } = all;
  const target = cl.image({ order: "RGBA", type: "UNORM_INT8" });
  using rows = vulkan.image("R8G8B8A8_UNORM").allocate({
    shape: [256, 256, 4],
    tiling: "linear",
    exportAs: "opaque-fd",
  });
  const { refused } = assertThrows(() => graph.map(rows, target), NoRouteError);
  assertStringIncludes(refused.map(({ reason }) => reason).join("; "), "its pixels lie row by row");
  using buffer = vulkan.allocate({ shape: [256, 256, 4], dtype: "u8" });
  assertThrows(() => graph.map(buffer, target), NoRouteError);
  using other = vulkan.image("R8G8B8A8_UINT").allocate({ shape: [16, 16, 4] });
  assertThrows(() => graph.map(other, target), NoRouteError, "its pixels are rgba uint8, and those of RGBA UNORM_INT8");
});

sharingTest("an image's fds end with it", () => {
  using all = open();
  const { vulkan, cl, graph } = all;
  const target = cl.image({ order: "RGBA", type: "UNORM_INT8" });
  const turn = () => {
    using image = vulkan.image("R8G8B8A8_UNORM").allocate({ shape: [64, 64, 4] });
    using _ = graph.map(image, target);
  };
  turn(); // the proof
  assertFdsEnd(turn);
});
