/**
 * GStreamer's dma-bufs go on to OpenCL, Vulkan, EGL and VA-API, in place: what the device writes GStreamer sees at the
 * offsets and strides of its GstVideoMeta, and the other way round. In the guest.
 */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessError,
  type Frame,
  host,
  type ImageFormat,
  ledger,
  MapperGraph,
  NoRouteError,
  type Tensor,
} from "../../mod.ts";
import type { DeviceQueue } from "../../backend.ts";
import { GST_FD_MEMORY_FLAG_NONE } from "../../ffi/gst_allocators/constants.ts";
import { dmabuf } from "../../src/dmabuf/mod.ts";
import { EglContext } from "../../src/egl/mod.ts";
import { gst as calls, gstAllocators } from "../../src/gstreamer/library.ts";
import { GStreamerContext } from "../../src/gstreamer/mod.ts";
import type { OpenCLImageFormat } from "../../src/opencl/mod.ts";
import { VaapiContext } from "../../src/vaapi/mod.ts";
import { VulkanContext } from "../../src/vulkan/mod.ts";
import { assertAlive } from "../alive.ts";
import { openFiles } from "../gc.ts";
import { CBuffer } from "../gstreamer/buffers.ts";
import { open } from "../opencl/help.ts";
import { behave, buildDriver, NODE, useDriver } from "../vaapi/driver.ts";
import { guestTest, withoutDrm } from "./needs.ts";

if (await buildDriver() === undefined) useDriver();

const EGL = (Deno.env.get("LD_LIBRARY_PATH") ?? "").split(":")[0] || "LD_LIBRARY_PATH";
const DRIVER = Deno.env.get("VK_DRIVER_FILES") ?? "VK_DRIVER_FILES";
const NODES = ["/dev/udmabuf", DRIVER, `${EGL}/libEGL_mesa.so.0`];
const [WIDTH, HEIGHT] = [64, 32];
const PAGE = 4096;
const GAP = 0xee;

/** Where a plane lies: in which memory, from which byte of it on, and how far apart its rows are. */
interface Place {
  readonly memory: number;
  readonly offset: number;
  readonly stride: number;
  readonly rows: number;
  /** Bytes of a row. */
  readonly row: number;
}

const plane = (memory: number, offset: number, stride: number, row: number, rows: number): Place => (
  { memory, offset, stride, row, rows }
);

/** Pictures by how many dma-bufs they lie in. */
const NV12 = {
  "one dma-buf": [plane(0, 256, 128, WIDTH, HEIGHT), plane(0, 2 * PAGE, 192, WIDTH, HEIGHT / 2)],
  "a dma-buf for each plane": [plane(0, 256, 128, WIDTH, HEIGHT), plane(1, 512, 192, WIDTH, HEIGHT / 2)],
} as const;
const I420 = {
  "one dma-buf": [
    plane(0, 256, 128, WIDTH, HEIGHT),
    plane(0, 2 * PAGE, 64, WIDTH / 2, HEIGHT / 2),
    plane(0, 3 * PAGE, 128, WIDTH / 2, HEIGHT / 2),
  ],
  "a dma-buf for each plane": [
    plane(0, 256, 128, WIDTH, HEIGHT),
    plane(1, 512, 64, WIDTH / 2, HEIGHT / 2),
    plane(2, 0, 128, WIDTH / 2, HEIGHT / 2),
  ],
} as const;
const R8: OpenCLImageFormat = { order: "R", type: "UNSIGNED_INT8" };
const WAYS = ["one dma-buf", "a dma-buf for each plane"] as const;

/** A buffer of GStreamer's over dma-bufs, of which each byte is {@link GAP}. */
class Picture extends CBuffer {
  readonly caps: string;
  readonly places: readonly Place[];

  constructor(format: ImageFormat, places: readonly Place[]) {
    const count = 1 + Math.max(...places.map(({ memory }) => memory));
    const byteLength = (count === 1 ? 4 : 2) * PAGE;
    const allocator = gstAllocators().gst_dmabuf_allocator_new();
    const { gst_dmabuf_allocator_alloc_with_flags: alloc } = gstAllocators();
    const memories = Array.from({ length: count }, () => {
      using made = dmabuf.allocate({ shape: [byteLength], dtype: "u8" });
      return alloc(allocator, made.exportFd(), BigInt(byteLength), GST_FD_MEMORY_FLAG_NONE);
    });
    calls().gst_object_unref(allocator);
    super(...memories);
    this.caps = `video/x-raw,format=${format},width=${WIDTH},height=${HEIGHT}`;
    this.places = places;
    const offsets = places.map(({ memory, offset }) => memory * byteLength + offset);
    this.addVideoMeta(format, [WIDTH, HEIGHT], offsets, places.map(({ stride }) => stride));
    for (let i = 0; i < count; i++) this.set(new Uint8Array(byteLength).fill(GAP), 0, i);
  }

  /** The rows of a plane, as GStreamer itself sees them; what lies beside them is as it was. */
  rowsOf({ memory, offset, stride, row, rows }: Place): Uint8Array {
    const bytes = new Uint8Array(this.bytes(memory).buffer);
    const others = this.places.filter((other) => other.memory === memory);
    for (let at = 0; at < bytes.length; at++) {
      const isPixel = others.some((one) => {
        const from = at - one.offset;
        return from >= 0 && from < one.stride * one.rows && from % one.stride < one.row;
      });
      if (!isPixel) assertEquals(bytes[at], GAP, `byte ${at} of memory ${memory} is not a pixel's`);
    }
    return Uint8Array.from({ length: rows * row }, (_, i) => bytes[offset + Math.floor(i / row) * stride + i % row]);
  }
}

interface There {
  readonly gst: GStreamerContext;
}

/** Afterwards nothing is alive that was not before, and no fd of memory or of a fence is open. */
function test(name: string, fn: (there: There) => unknown): void {
  guestTest(`gstreamer: ${name}`, async () => {
    using _covered = withoutDrm();
    behave();
    GStreamerContext.openSync()[Symbol.dispose](); // what libraries open once, and keep
    EglContext.open()[Symbol.dispose]();
    VulkanContext.open()[Symbol.dispose]();
    const [alive, fds] = [ledger.alive, openFiles(/dmabuf|sync_file/)];
    {
      using gst = GStreamerContext.openSync({ on: dmabuf });
      await fn({ gst });
    }
    await assertAlive(alive, "alive after the test");
    assertEquals(openFiles(/dmabuf|sync_file/), fds);
  }, NODES);
}

// deno-lint-ignore no-explicit-any -- whichever API's
type AnyQueue = DeviceQueue<any, any>;

/** What each writes into each plane, the other sees; offsets and strides are GStreamer's. */
function assertSame(picture: Picture, planes: readonly Tensor[], queue: AnyQueue): void {
  assertEquals(planes.length, picture.places.length);
  for (const [i, place] of picture.places.entries()) {
    const noise = crypto.getRandomValues(new Uint8Array(place.rows * place.row));
    queue.write(planes[i], noise, { at: "dense" });
    queue.finish();
    assertEquals(picture.rowsOf(place), noise, `plane ${i}, written there`);
    const row = crypto.getRandomValues(new Uint8Array(place.row));
    picture.set(row, place.offset + 3 * place.stride, place.memory);
    noise.set(row, 3 * place.row);
    const seen = new Uint8Array(noise.length);
    queue.read(planes[i], seen, { at: "dense" });
    assertEquals(seen, noise, `plane ${i}, written by GStreamer`);
  }
}

function assertAliases({ route }: { readonly route: Frame["route"] }, ...edges: readonly string[]): void {
  const steps = route!.steps.map(({ edge, transfer }) => [edge, transfer]);
  assertEquals([steps, route!.bytesMoved], [edges.map((edge) => [edge, "alias"]), 0]);
}

for (const way of WAYS) {
  test(`a picture in ${way} is OpenCL's buffers, in place`, ({ gst }) => {
    using cl = open("pocl");
    using graph = new MapperGraph([host, dmabuf, gst, cl]);
    using made = new Picture("NV12", NV12[way]);
    using frame = gst.attach(made.address, { caps: made.caps });
    using mapped = graph.map(frame, cl);
    assertAliases(mapped, "dmabuf→host", "host→opencl");
    assertSame(made, mapped.planes, cl.queue);
  });

  test(`a picture in ${way} is OpenCL's images, in place, or it says why not`, ({ gst }) => {
    using cl = open("pocl");
    using graph = new MapperGraph([host, dmabuf, gst, cl]);
    {
      using made = new Picture("I420", I420[way].map((place) => ({ ...place, stride: place.row })));
      using frame = gst.attach(made.address, { caps: made.caps });
      using mapped = graph.map(frame, cl.image(R8));
      assertAliases(mapped, "dmabuf→host", "host→opencl.image");
      assertSame(made, mapped.planes, cl.queue);
    }
    // To OpenCL the padding behind the last row is a part of the image, and the plane's tensor ends before it.
    using padded = new Picture("I420", I420[way]);
    using frame = gst.attach(padded.address, { caps: padded.caps });
    const [{ reason }] = graph.explain(frame, cl.image(R8)).refused.filter(({ edge }) => edge === "host→opencl.image");
    assertStringIncludes(reason, "the padding behind its last row included");
  });

  test(`a picture in ${way} whose pixels OpenCL's driver has no images of says so`, ({ gst }) => {
    using cl = open("pocl");
    using graph = new MapperGraph([host, dmabuf, gst, cl]);
    using made = new Picture("NV12", NV12[way]);
    using frame = gst.attach(made.address, { caps: made.caps });
    const { refused } = assertThrows(() => graph.map(frame, cl.image(R8)), NoRouteError);
    assertStringIncludes(refused.map(({ reason }) => reason).join(), "no 2D images of RG UNSIGNED_INT8");
  });

  test(`a picture in ${way} is Vulkan's buffers, in place`, ({ gst }) => {
    using vulkan = VulkanContext.open();
    using graph = new MapperGraph([dmabuf, gst, vulkan]);
    using made = new Picture("NV12", NV12[way]);
    using frame = gst.attach(made.address, { caps: made.caps });
    using mapped = graph.map(frame, vulkan);
    assertAliases(mapped, "dmabuf→vulkan");
    assertSame(made, mapped.planes, vulkan.queue);
  });

  test(`each plane of a picture in ${way} is an image of Vulkan's, in place`, ({ gst }) => {
    using vulkan = VulkanContext.open();
    using graph = new MapperGraph([dmabuf, gst, vulkan]);
    using made = new Picture("NV12", NV12[way]);
    using frame = gst.attach(made.address, { caps: made.caps });
    using luma = graph.map(frame.planes[0], vulkan.image("R8_UNORM"));
    using chroma = graph.map(frame.planes[1], vulkan.image("R8G8_UNORM"));
    for (const image of [luma, chroma]) assertAliases(image, "dmabuf→vulkan.image");
    assertSame(made, [luma, chroma], vulkan.queue);
    for (const image of [luma, chroma]) image[Symbol.dispose]();
    const { refused } = assertThrows(() => graph.map(frame, vulkan.image("R8_UNORM")), NoRouteError);
    assertStringIncludes(refused.map(({ remedy }) => remedy).join(), "frame.planes[0]");
  });

  test(`a picture in ${way} is one of OpenGL ES, in place`, ({ gst }) => {
    using egl = EglContext.open();
    using graph = new MapperGraph([dmabuf, gst, egl]);
    for (const format of ["NV12", "I420"] as const) {
      using made = new Picture(format, { NV12, I420 }[format][way]);
      using frame = gst.attach(made.address, { caps: made.caps });
      using mapped = graph.map(frame, egl.image);
      assertAliases(mapped, "dmabuf→egl.image");
      assertSame(made, mapped.planes, egl.queue);
    }
  });

  test(`a picture in ${way} is a surface of VA-API, in place`, ({ gst }) => {
    behave("plain"); // the driver shows pixels by copies of its own: it derives no image of two dma-bufs
    using va = VaapiContext.open({ node: NODE });
    using graph = new MapperGraph([host, dmabuf, gst, va]);
    using made = new Picture("NV12", NV12[way]);
    using frame = gst.attach(made.address, { caps: made.caps });
    const [luma, chroma] = made.places;
    made.set(Uint8Array.of(1, 2, 3), luma.offset, luma.memory);
    {
      using mapped = graph.map(frame, va);
      assertAliases(mapped, "dmabuf→vaapi");
      using shown = graph.map(mapped, host, { copy: "allow" }) as Frame;
      const [y, uv] = shown.planes as readonly (Tensor & { bytes(): Uint8Array })[];
      assertEquals([...y.bytes().subarray(0, 4)], [1, 2, 3, GAP]);
      y.bytes()[y.layout.strides[0]] = 77;
      uv.bytes()[uv.layout.strides[0] + 1] = 88;
    }
    const rows = made.places.map((place) => made.rowsOf(place));
    assertEquals([rows[0][luma.row], rows[1][chroma.row + 1]], [77, 88]);
  });
}

test("a crop of a picture in dma-bufs is what devices see", ({ gst }) => {
  using egl = EglContext.open();
  using cl = open("pocl");
  using graph = new MapperGraph([host, dmabuf, gst, egl, cl]);
  using made = new Picture("NV12", NV12["a dma-buf for each plane"]);
  made.addCrop(16, 4, 32, 16);
  const cropped = made.places.map(({ memory, offset, stride }, i) => (
    { memory, stride, row: 32, rows: 16 >> i, offset: offset + (4 >> i) * stride + 16 }
  ));
  for (const target of [cl, egl.image]) {
    using frame = gst.attach(made.address, { caps: made.caps });
    using mapped = graph.map(frame, target) as Frame;
    const queue: AnyQueue = target === cl ? cl.queue : egl.queue;
    for (const [i, place] of cropped.entries()) {
      queue.write(mapped.planes[i], new Uint8Array(place.rows * place.row).fill(10 + i), { at: "dense" });
      queue.finish();
      const { row, rows, stride, offset, memory } = place;
      const bytes = new Uint8Array(made.bytes(memory).buffer);
      const seen = Uint8Array.from(
        { length: rows * row },
        (_, at) => bytes[offset + Math.floor(at / row) * stride + at % row],
      );
      assertEquals(
        [new Set(seen), bytes[offset - 1], bytes[offset + row]],
        [new Set([10 + i]), GAP, GAP],
        `plane ${i}`,
      );
    }
    for (let i = 0; i < 2; i++) made.set(new Uint8Array(2 * PAGE).fill(GAP), 0, i);
  }
});

test("a picture that devices read only stays GStreamer's to read, and its writer is refused", ({ gst }) => {
  using vulkan = VulkanContext.open();
  using graph = new MapperGraph([dmabuf, gst, vulkan]);
  using made = new Picture("NV12", NV12["one dma-buf"]);
  using frame = gst.attach(made.address, { caps: made.caps, access: "read" });
  using mapped = graph.map(frame, vulkan, { access: "read" });
  const noise = new Uint8Array(WIDTH * HEIGHT);
  assertThrows(() => vulkan.queue.write(mapped.planes[0], noise, { at: "dense" }), AccessError);
  vulkan.queue.read(mapped.planes[0], noise, { at: "dense" });
  assert(noise.every((byte) => byte === GAP));
});
