/** EGL's images over dma-bufs, and its sync files, with a Mesa that has them: in the guest. */
import { assert, assertEquals } from "@std/assert";
import {
  Frame,
  host,
  type ImageFormat,
  imageInfo,
  ledger,
  MapperGraph,
  NativeCallError,
  NoRouteError,
  region,
} from "../../mod.ts";
import { dmabuf } from "../../src/dmabuf/mod.ts";
import { EglContext } from "../../src/egl/mod.ts";
import { VulkanContext } from "../../src/vulkan/mod.ts";
import { assertAlive } from "../alive.ts";
import { assertSame } from "../conformance/bytes.ts";
import { openFiles } from "../gc.ts";
import { bytesOf, noiseFor } from "../egl/help.ts";
import { installTap } from "../faults/tap.ts";
import { sweep } from "../faults/sweep.ts";
import { guestTest, withoutDrm } from "./needs.ts";

installTap();

/** The guest's EGL; this machine's need not have dma-bufs. */
const EGL = (Deno.env.get("LD_LIBRARY_PATH") ?? "").split(":")[0] || "LD_LIBRARY_PATH";
const NODES = ["/dev/udmabuf", `${EGL}/libEGL_mesa.so.0`];
const FORMATS: readonly ImageFormat[] = ["GRAY8", "RGBA", "BGRA", "NV12", "I420", "P010"];
const SIZE = { width: 64, height: 32 } as const;

const isHere = NODES.every((path) => isThere(path)) && isThere("/dev/dri");
let covered: Disposable | undefined;
Deno.test.beforeAll(() => void (covered = isHere ? withoutDrm() : undefined));
Deno.test.afterAll(() => covered?.[Symbol.dispose]());

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path) !== undefined;
  } catch {
    return false;
  }
}

interface Open {
  readonly egl: EglContext;
  readonly graph: MapperGraph;
}

/** Afterwards nothing is alive that was not before, and no fd of memory or of a fence is open. */
function test(name: string, fn: (open: Open) => void | Promise<void>): void {
  guestTest(`egl: ${name}`, async () => {
    EglContext.open()[Symbol.dispose](); // what a driver opens once, and keeps
    VulkanContext.open()[Symbol.dispose]();
    const [alive, fds] = [ledger.alive, sharedFds()];
    {
      using egl = EglContext.open();
      using graph = new MapperGraph([host, dmabuf, egl]);
      await fn({ egl, graph });
    }
    await assertAlive(alive, "alive after the test");
    assertEquals(sharedFds(), fds);
  }, NODES);
}

/** The open fds that show memory or fences. */
const sharedFds = () => openFiles(/dmabuf|sync_file/);

/** The pixels of a frame of dma-bufs as the CPU sees them, without the padding of rows. */
function pixelsOf(graph: MapperGraph, frame: Frame, write?: Uint8Array): Uint8Array {
  using mapped = graph.map(frame, host, { access: write === undefined ? "read" : "write" }) as Frame;
  const all: number[] = [];
  let at = 0;
  for (const plane of mapped.planes) {
    const { shape, strides, dtype } = plane.layout;
    const bytes = (plane as unknown as { bytes(): Uint8Array }).bytes();
    const row = shape.slice(1).reduce((product, count) => product * count, dtype === "u16" ? 2 : 1);
    for (let y = 0; y < shape[0]; y++) {
      if (write !== undefined) bytes.set(write.subarray(at, at += row), y * strides[0]);
      else all.push(...bytes.subarray(y * strides[0], y * strides[0] + row));
    }
  }
  return Uint8Array.from(all);
}

test("the driver has dma-bufs and sync files, both ways, and lacks what is NVIDIA's", ({ egl }) => {
  assertEquals([...egl.absent.keys()], ["EGL_NV_cuda_event"]);
});

test("a dma-buf is an image, in place: each sees what the other writes, in every format", ({ egl, graph }) => {
  for (const format of FORMATS) {
    for (const rowAlign of [1, 256]) {
      using frame = dmabuf.allocateFrame(imageInfo({ format, ...SIZE }), { rowAlign });
      let noise: Uint8Array<ArrayBuffer>;
      {
        using mapped = graph.map(frame, egl.image);
        const [{ edge, transfer, evidence, hostWait }] = mapped.route.steps;
        assertEquals([edge, transfer, evidence], ["dmabuf→egl.image", "alias", "the same memory, by its dma-buf"]);
        assertEquals(hostWait, false);
        noise = noiseFor(mapped);
        egl.queue.write(mapped, noise);
      }
      assertEquals(pixelsOf(graph, frame), noise, `${format}, drawn`);
      const other = crypto.getRandomValues(new Uint8Array(noise.length));
      pixelsOf(graph, frame, other);
      using mapped = graph.map(frame, egl.image, { access: "read" });
      assertEquals(bytesOf(egl, mapped), other, `${format}, read`);
    }
  }
});

test("planes in several dma-bufs, at offsets, are one picture", ({ egl, graph }) => {
  const info = imageInfo({ format: "NV12", ...SIZE });
  using luma = dmabuf.allocate({ shape: [32, 64], dtype: "u8", strides: [256, 1], byteOffset: 4096 });
  using chroma = dmabuf.allocate({ shape: [16, 32, 2], dtype: "u8", strides: [128, 2, 1] });
  using frame = Frame.of([luma, chroma], info);
  {
    using mapped = graph.map(frame, egl.image);
    egl.queue.fill(mapped.planes[0], [1, 0, 0, 0]);
    egl.queue.fill(mapped.planes[1], [0, 1, 0, 0]);
  }
  const seen = pixelsOf(graph, frame);
  assertEquals(new Set(seen.subarray(0, 2048)), new Set([255]));
  assertEquals([...seen.subarray(2048, 2052)], [0, 255, 0, 255]);
});

test("parts of a dma-buf whose rows lie apart are images of GL's and of Vulkan's, and what is beside them stays", async ({ egl }) => {
  using vulkan = VulkanContext.open();
  using graph = new MapperGraph([host, dmabuf, egl, vulkan]);
  const [height, width] = [24, 96];
  const info = (height: number, width: number) => imageInfo({ format: "RGBA", width, height });
  const taken = { "egl.image": 0, "vulkan.image": 0, refused: 0 };
  for (const [byteOffset, stride] of [[0, 384], [4096, 512]]) {
    using whole = dmabuf.allocate({ shape: [height, width, 4], dtype: "u8", strides: [stride, 4, 1], byteOffset });
    const model = crypto.getRandomValues(new Uint8Array(height * width * 4));
    using frame = Frame.of([whole], info(height, width));
    pixelsOf(graph, frame, model);
    for (let i = 0; i < 12; i++) {
      const below = (count: number) => Math.floor(Math.random() * count);
      // The rows above are the CPU's meanwhile: a promise has them.
      const top = 1 + below(height - 1);
      using above = whole.slice(region(whole.layout, [0, 0, 0], [top, width, 4]));
      using onHost = graph.map(above, host);
      const { promise, resolve } = Promise.withResolvers<void>();
      const lent = onHost.lend(async (view) => {
        await promise;
        for (let y = 0; y < top; y++) {
          const row = crypto.getRandomValues(new Uint8Array(width * 4));
          (view as Uint8Array).set(row, y * stride);
          model.set(row, y * width * 4);
        }
      });
      const [y, x] = [top + below(height - top), below(4) === 0 ? below(width) : 16 * below(width / 16)];
      const [h, w] = [1 + below(height - y), 1 + below(width - x)];
      using part = whole.slice(region(whole.layout, [y, x, 0], [h, w, 4]));
      using picture = Frame.of([part], info(h, w));
      const noise = crypto.getRandomValues(new Uint8Array(h * w * 4));
      const what = `${w} × ${h} at ${x}, ${y} in rows of ${stride}`;
      try {
        if (i % 2 === 0) {
          using mapped = graph.map(picture, egl.image);
          const seen = bytesOf(egl, mapped);
          for (let row = 0; row < h; row++) {
            const first = ((y + row) * width + x) * 4;
            assertSame(seen.subarray(row * w * 4, (row + 1) * w * 4), model.subarray(first, first + w * 4), what);
          }
          egl.queue.write(mapped, noise);
          taken["egl.image"]++;
        } else {
          using mapped = graph.map(part, vulkan.image("R8G8B8A8_UNORM"));
          vulkan.queue.write(mapped, noise);
          taken["vulkan.image"]++;
        }
        for (let row = 0; row < h; row++) {
          model.set(noise.subarray(row * w * 4, (row + 1) * w * 4), ((y + row) * width + x) * 4);
        }
      } catch (error) {
        if (!(error instanceof NoRouteError || error instanceof NativeCallError)) throw error;
        taken.refused++; // not every driver takes every place
      }
      resolve();
      await lent;
      onHost[Symbol.dispose]();
      picture[Symbol.dispose]();
      part[Symbol.dispose]();
      above[Symbol.dispose]();
      assertSame(pixelsOf(graph, frame), model, what);
    }
  }
  assert(taken["egl.image"] > 0 && taken["vulkan.image"] > 0, JSON.stringify(taken));
});

test("GL's pictures are dma-bufs, in place: each sees what the other writes", ({ egl, graph }) => {
  for (
    const [format, storage] of [["RGBA", "texture"], ["RGBA", "renderbuffer"], ["BGRA", "texture"], [
      "NV12",
      "texture",
    ]] as const
  ) {
    using picture = egl.image.allocate({ format, ...SIZE, storage });
    const noise = noiseFor(picture);
    if (storage === "texture") egl.queue.write(picture, noise);
    else noise.set(bytesOf(egl, picture));
    const other = crypto.getRandomValues(new Uint8Array(noise.length));
    {
      using mapped = graph.map(picture, dmabuf);
      const [{ edge, transfer, hostWait }] = mapped.route.steps;
      assertEquals([edge, transfer, hostWait], ["egl.image→dmabuf", "alias", false]);
      assertEquals(pixelsOf(graph, mapped), noise, format);
      pixelsOf(graph, mapped, other);
    }
    assertEquals(bytesOf(egl, picture), other, `${format}, written`);
  }
});

test("a format that the driver stores otherwise says so", ({ egl, graph }) => {
  using picture = egl.image.allocate({ format: "RGB", ...SIZE });
  let message = "";
  try {
    graph.map(picture, dmabuf);
  } catch (error) {
    message = String(error);
  }
  assert(/the driver stores rgb unorm8 as DRM format .*egl\.queue\.copy/.test(message), message);
});

test("a picture goes on to Vulkan, and its pixels stay where they are", ({ egl }) => {
  using vulkan = VulkanContext.open();
  using graph = new MapperGraph([host, dmabuf, egl, vulkan]);
  using picture = egl.image.allocate({ format: "RGBA", ...SIZE });
  egl.queue.fill(picture, [0, 1, 0, 1]);
  {
    using shared = graph.map(picture, dmabuf);
    using mapped = graph.map(shared.planes[0], vulkan);
    const seen = new Uint8Array(mapped.layout.byteLength);
    vulkan.queue.read(mapped, seen);
    assertEquals([...seen.subarray(0, 4)], [0, 255, 0, 255]);
    vulkan.queue.fill(mapped, 7);
  }
  assertEquals([...bytesOf(egl, picture).subarray(0, 4)], [7, 7, 7, 7]);
});

test("GL's work is a sync file, which the kernel gives to a dma-buf", async ({ egl }) => {
  using buffer = dmabuf.allocate({ shape: [64], dtype: "u8" });
  using picture = egl.image.allocate({ format: "RGBA", width: 1024, height: 1024 });
  for (let i = 1; i <= 10; i++) {
    for (let j = 0; j < 10; j++) egl.queue.fill(picture, [i / 255, j / 10, 0, 1]);
    const fence = egl.queue.fence();
    buffer.addFence(fence);
    await buffer.finished();
    assertEquals(fence.reached(), true);
  }
});

test("GL waits for another driver's sync files, and not the host", ({ egl }) => {
  using vulkan = VulkanContext.open();
  using graph = new MapperGraph([host, dmabuf, egl, vulkan]);
  using frame = dmabuf.allocateFrame(imageInfo({ format: "RGBA", ...SIZE }));
  for (let i = 1; i < 20; i++) {
    {
      using words = graph.map(frame.planes[0], vulkan);
      vulkan.queue.fill(words, i);
    }
    using mapped = graph.map(frame, egl.image);
    egl.queue.waitFor(vulkan.queue.fence());
    assertEquals(bytesOf(egl, mapped)[0], i);
  }
});

/** Questions that are asked again, or are reported by the command's own name. */
const SILENT = ["gles.glGetError", "egl.eglMakeCurrent", "egl.eglCreateSync", "libc.open", "libc.read", "libc.close"];

/** Runs it once for each of its native calls, and has that call fail. */
async function sweepOf(operation: () => void): Promise<void> {
  operation(); // makes what is made once
  assert((await sweep(operation, () => {}, SILENT)).length > 5);
}

test("every native call of an import fails once", async ({ egl, graph }) => {
  using frame = dmabuf.allocateFrame(imageInfo({ format: "NV12", ...SIZE }));
  await sweepOf(() => {
    using mapped = graph.map(frame, egl.image);
    egl.queue.fill(mapped.planes[0], [1, 1, 1, 1]);
  });
});

test("every native call of an export fails once", async ({ egl, graph }) => {
  using picture = egl.image.allocate({ format: "NV12", ...SIZE });
  await sweepOf(() => {
    using mapped = graph.map(picture, dmabuf);
    assertEquals(mapped.planes.length, 2);
  });
  assertEquals(new Set(bytesOf(egl, picture)), new Set([0]));
});
