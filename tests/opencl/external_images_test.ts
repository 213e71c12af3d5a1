/** Other APIs' images on PoCL, by a simulated driver: what OpenCL is asked for, what kernels see of it, what is refused. */
import { driver, images, told, UUID } from "./external/simulated.ts"; // first: it taps the libraries
import { simulated } from "./external/on_simulated.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { MapperGraph } from "@samepage/interop";
import type { ImageType, OpenCLContext } from "@samepage/interop/opencl";
import { NULL } from "../../ffi/address.ts";
import { CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY } from "../../ffi/opencl/constants.ts";
import { NativeCallError, NoRouteError } from "../../src/core/errors.ts";
import { pixelFormat } from "../../src/core/layout/frame_info.ts";
import { mapPages, unmapPages } from "../../src/core/native/blocks.ts";
import { assertSame, bytesAt } from "../conformance/bytes.ts";
import { type ForeignImage, foreignImage, LENGTH } from "../foreign_image.ts";
import { pattern } from "../vulkan/pattern.ts";

const RGBA = { order: "RGBA", type: "UNSIGNED_INT8" } as const;
const [CREATE, ACQUIRE, RELEASE] = [
  "clCreateImageWithProperties",
  "clEnqueueAcquireExternalMemObjectsKHR",
  "clEnqueueReleaseExternalMemObjectsKHR",
];

/** Each pixel of layer n, counted from 1, plus n. */
const SOURCE = `
kernel void picture(read_only image2d_t from, write_only image2d_t to) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(to, at, (read_imageui(from, at) + 1) & 255);
}
kernel void layers(read_only image2d_array_t from, write_only image2d_array_t to) {
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imageui(to, at, (read_imageui(from, at) + (uint)at.z + 1) & 255);
}`;

/** The memory of an image, as its owner sees it. */
function memoryOf<R>(image: ForeignImage, use: (bytes: Uint8Array) => R): R {
  const address = mapPages(NULL, LENGTH, image.handle);
  try {
    return use(bytesAt(address, image.layout.byteLength));
  } finally {
    unmapPages(address, LENGTH);
  }
}

function graphOf(cl: OpenCLContext, ...images: readonly ForeignImage[]): MapperGraph {
  return new MapperGraph([cl, ...images.map(({ target }) => target.context)]);
}

for (const layers of [undefined, 1, 5]) {
  const shape = layers === undefined ? [7, 13, 4] : [layers, 7, 13, 4];
  const [type, code] = layers === undefined
    ? ["2D", CL_MEM_OBJECT_IMAGE2D] as const
    : ["2D array", CL_MEM_OBJECT_IMAGE2D_ARRAY] as const;

  simulated(`an image of ${layers ?? "no"} layers is a ${type} image, acquired and handed back`, (cl) => {
    using from = foreignImage(UUID, { shape });
    using to = foreignImage(UUID, { shape });
    using graph = graphOf(cl, from, to);
    using program = cl.program(SOURCE);
    using kernel = program.kernel(layers === undefined ? "picture" : "layers");
    const length = 7 * 13 * 4 * (layers ?? 1);
    memoryOf(from, (bytes) => bytes.set(pattern(length, 1)));
    images.length = 0;
    {
      using source = graph.map(from, cl.image(RGBA), { access: "read" });
      using result = graph.map(to, cl.image(RGBA, { type }), { access: "write" });
      assertEquals([source.type, result.type, source.width], [type, type, 13]);
      const asked = images.map((desc) => [desc.image_type, desc.image_width, desc.image_height, desc.image_array_size]);
      const expected = [code, 13n, 7n, BigInt(layers ?? 0)];
      assertEquals(asked, [expected, expected]);
      assertEquals(images.map((desc) => [desc.image_depth, desc.image_row_pitch]), [[0n, 0n], [0n, 0n]]);
      kernel.run({ items: layers === undefined ? [13, 7] : [13, 7, layers] }, [source, result]);
      assertThrows(() => kernel.run({ items: [13, 7, 1] }, [source, source]), Error, "write");
    }
    const plus = (_: number, i: number) => pattern(length, 1)[i] + Math.floor(i / (7 * 13 * 4)) + 1;
    memoryOf(to, (bytes) => assertSame(bytes, Uint8Array.from({ length }, plus), "the result"));
    assertEquals(told.filter((call) => call === ACQUIRE).length, 2);
    assertEquals(told.filter((call) => call === RELEASE).length, 2);
  });
}

simulated("images of another kind, and pixels that look like layers, are refused before OpenCL is asked", (cl) => {
  using stack = foreignImage(UUID, { shape: [5, 33, 70, 4] });
  using picture = foreignImage(UUID);
  using grey = foreignImage(UUID, { shape: [33, 70, 1], format: pixelFormat("r", "uint8") });
  using graph = graphOf(cl, stack, picture, grey);
  told.length = 0;
  const reasonOf = (image: ForeignImage, type: ImageType, format: Parameters<OpenCLContext["image"]>[0] = RGBA) => {
    const { refused: [{ reason, remedy }] } = assertThrows(
      () => graph.map(image, cl.image(format, { type })),
      NoRouteError,
    );
    return `${reason} ${remedy}`;
  };
  const array = 'Map it to cl.image(format, { type: "2D array" }).';
  assertEquals(reasonOf(stack, "3D"), `it is an array of pictures, and these are 3D images. ${array}`);
  assertEquals(reasonOf(stack, "2D"), `it is an array of pictures, and these are 2D images. ${array}`);
  assertStringIncludes(reasonOf(picture, "2D array"), "it is one picture, and these are 2D array images");
  const r8 = { order: "R", type: "UNSIGNED_INT8" } as const;
  assertStringIncludes(reasonOf(grey, "2D array", r8), "it is one picture");
  assertEquals(told, []);
});

simulated("what the driver refuses leaves no fd", (cl) => {
  using stack = foreignImage(UUID, { shape: [5, 33, 70, 4] });
  using graph = graphOf(cl, stack);
  driver.fails = CREATE;
  assertThrows(() => graph.map(stack, cl.image(RGBA)), NativeCallError, "(999)");
  graph.map(stack, cl.image(RGBA))[Symbol.dispose]();
});
