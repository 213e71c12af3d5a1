// NV12 as images, over PoCL as a driver that has images of RG. PoCL 3.1 has none itself, nor has rusticl on llvmpipe.

import { made } from "./rg_driver.ts"; // first: it taps OpenCL
import { assertEquals } from "@std/assert";
import { host, imageInfo, MapperGraph } from "@samepage/interop";
import { open, test } from "./help.ts";

test("NV12 becomes an image of R for luma and one of RG for chroma, in one map", ["pocl"], () => {
  using opencl = open("pocl");
  using graph = new MapperGraph([host, opencl]);
  using program = opencl.program(`
    kernel void swap(read_only image2d_t from, write_only image2d_t to) {
      int2 at = (int2)(get_global_id(0), get_global_id(1));
      uint both = read_imageui(from, at).x;
      write_imageui(to, at, (uint4)((both >> 8) | (both & 255) << 8, 0, 0, 0));
    }`);
  using swap = program.kernel("swap");
  const info = imageInfo({ format: "NV12", width: 64, height: 32 });
  using frame = host.allocateFrame(info);
  using other = host.allocateFrame(info);
  frame.planes[1].bytes().forEach((_, i, bytes) => bytes[i] = i);
  const luma = opencl.image({ order: "R", type: "UNSIGNED_INT8" });
  {
    using from = graph.map(frame, luma, { access: "read" });
    using to = graph.map(other, luma, { access: "write" });
    assertEquals(made.slice(-4), ["R 64 × 32", "RG 32 × 16", "R 64 × 32", "RG 32 × 16"]);
    assertEquals(from.planes.map(({ format, target }) => [format.order, target === luma]), [["R", true], [
      "RG",
      false,
    ]]);
    assertEquals([from.target === luma, from.info], [true, info]);
    swap.run({ items: [32, 16] }, [from.planes[1], to.planes[1]]);
    using borrowed = to.borrow("write");
    assertEquals(borrowed.planes[1].format.order, "RG");
  }
  assertEquals(other.planes[1].bytes().slice(0, 6), Uint8Array.of(1, 0, 3, 2, 5, 4));
});

test("an image of other channels in front is refused, and chroma does not follow it", ["pocl"], () => {
  using opencl = open("pocl");
  using graph = new MapperGraph([host, opencl]);
  using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 64, height: 32 }));
  const { refused } = graph.explain(frame, opencl.image({ order: "RGBA", type: "UNSIGNED_INT8" }));
  assertEquals(refused[0].reason, "format: a pixel of its first plane has 1 channel, and one of RGBA UNSIGNED_INT8 4.");
});
