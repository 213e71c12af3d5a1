// What `console.log` shows of an object: one line that says what it is, and whether it was disposed.

import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  Frame,
  host,
  imageInfo,
  InteropError,
  layout,
  LayoutError,
  ledger,
  MapperGraph,
  Metadata,
  NoRouteError,
  Port,
  Route,
  Tensor,
} from "@samepage/interop";
import { Printed } from "@samepage/interop/backend";
import { FrameRing } from "@samepage/interop/channel";
import { dmabuf } from "@samepage/interop/dmabuf";
import { LocalMemory } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import { type EglContext, GlBuffer } from "@samepage/interop/egl";
import { VulkanContext } from "@samepage/interop/vulkan";
import { ImagePort } from "../../src/core/device/port.ts";
import { MemoryClass } from "../../src/core/device/proofs.ts";
import { test as eglTest } from "../egl/help.ts";
import { entryPoints } from "../misuse/run.ts";
import { testMat } from "../opencv/help.ts";
import { open, testEach } from "../opencl/help.ts";
import { temporaryFolder } from "./project.ts";
import { driverTest } from "../vaapi/help.ts";
import { shader, test as vulkanTest } from "../vulkan/help.ts";

/** Parts of contexts, and of drivers, which no program has in its hands: they are for backends. */
const PARTS = [
  "Allocation",
  "BufferImages",
  "Checks",
  "ClLane",
  "CudaHostMemory",
  "CudaLane",
  "CudaPeers",
  "FrameRing", // nothing is made of it
  "HostBuffers",
  "LevelZeroLane",
  "ManagedTurns",
  "MappedRange",
  "OpenCLDriver",
  "OpenCLExternalMemory",
  "OpenCLImages",
  "OpenCLMemory",
  "OpenContext",
  "PointerCommands",
  "Proofs",
  "SharedContext",
  "SharedImport",
  "StreamEnds",
  "StreamLane",
  "SvmMaps",
  "TensorViews",
  "Views",
];

Deno.test("every exported class prints as one line, but for errors and the parts of contexts", async () => {
  const without: string[] = [];
  for (const exports of Object.values(await entryPoints())) {
    for (const [name, value] of Object.entries(exports)) {
      if (typeof value !== "function" || !Function.prototype.toString.call(value).startsWith("class")) continue;
      const { prototype } = value;
      if (!(prototype instanceof Printed) && !(prototype instanceof InteropError) && value !== InteropError) {
        if (value !== Printed) without.push(name);
      }
    }
  }
  assertEquals([...new Set(without)].sort(), PARTS);
});

Deno.test("Printed shows a prototype, what inherits from an object, and a proxy, without a throw", async () => {
  for (const exports of Object.values(await entryPoints())) {
    for (const [name, value] of Object.entries(exports)) {
      if (typeof value !== "function" || !(value.prototype instanceof Printed)) continue;
      for (const object of [value.prototype, Object.create(value.prototype)]) {
        assertEquals(Deno.inspect(object), `${object}`, name); // its class's name, as a rule; it does not throw
      }
    }
  }
  using tensor = host.allocate({ shape: [4], dtype: "u8" });
  for (const object of [new Proxy(tensor, {}), Object.create(tensor)]) {
    assertEquals([`${object}`, String(object), object + ""], Array(3).fill("HostTensor"));
  }
  assertEquals([`${tensor}`, tensor + ""], Array(2).fill(tensor.toString()));
});

/** Those whose objects are data: their JSON has the fields of a description, and no internals. */
const DATA = [Tensor, Frame, Route];

/** Checks what `JSON.stringify` makes of an object, alone and as a field. */
function assertJson(object: object): void {
  const json = JSON.parse(JSON.stringify({ object })).object;
  const type = DATA.find((one) => object instanceof one);
  if (type === undefined) return assertEquals(json, String(object));
  const names = {
    [Tensor.name]: "kind,shape,dtype,byteLength",
    [Frame.name]: object instanceof Frame && object.info.type === "audio"
      ? "kind,format,channels,samples,sampleRate,byteLength,planes"
      : "kind,format,width,height,byteLength,planes",
    [Route.name]: "steps,refused,open",
  };
  assertEquals(Object.keys(json).join(), names[type.name]);
}

/** Checks what `console.log`, `String` and `JSON.stringify` show of objects, and what is shown once they were disposed. */
async function assertPrinted(expected: readonly (readonly [object, RegExp])[]): Promise<void> {
  for (const [object, line] of expected) {
    const printed = Deno.inspect(object);
    assertEquals(String(object), printed);
    assertMatch(printed, line);
    assert(!/[\n]/.test(printed) && printed.length < 300, printed);
    assertJson(object);
  }
  const disposed = expected.flatMap(([object]) => Symbol.asyncDispose in object ? [object as AsyncDisposable] : []);
  for (const object of disposed.toReversed()) {
    await object[Symbol.asyncDispose]();
    assertMatch(Deno.inspect(object), /disposed\)$/);
  }
}

const NV12 = imageInfo({ format: "NV12", width: 64, height: 32 });

Deno.test("console.log() and JSON.stringify() show one line of what needs no library", async () => {
  const graph = new MapperGraph([host]);
  const tensor = host.allocate({ shape: [4, 4], dtype: "u8" });
  const frame = host.allocateFrame(NV12);
  const gray = imageInfo({ format: "GRAY8", width: 4, height: 4 });
  const sound = Frame.of([host.allocate({ shape: [48, 2], dtype: "f32" })], {
    ...{ type: "audio", format: "f32", sampleRate: 48_000, channels: 2, samples: 48, layout: "interleaved" },
  });
  using ports = new DisposableStack();
  await using folder = await temporaryFolder();
  const path = `${folder.path}/ring`;
  const frames = [1, 2].map(() => host.allocate({ shape: [4], dtype: "u8", sharable: true }));
  const ring = FrameRing.create(path, { frames });
  const reader = await FrameRing.open(path, { contexts: [host] });
  const signal = host.signal(Promise.resolve());
  await assertPrinted([
    [host, /^host$/],
    [dmabuf, /^dmabuf$/],
    [graph, /^mapper graph of host$/],
    [ledger, /^ledger: .*\d host\.block/],
    [new Metadata(), /^metadata \{ nothing is set \}$/],
    [
      new Metadata({ timestamp: { pts: 3n }, source: { stream: "a\nb" } }),
      /^metadata \{ timestamp \{ pts: 3 \}, source \{ stream: "a\\nb" \} \}$/,
    ],
    [tensor, /^host tensor \[4,4\] u8$/],
    [tensor.resource, /^host tensor \[4,4\] u8$/],
    [tensor.described, /^description of host, "read-write": \[4,4\] u8$/],
    [frame, /^host frame NV12 64 × 32$/],
    [frame.planes[1], /^plane 1 of host frame NV12 64 × 32$/],
    [sound, /^host frame f32 2 channels of 48 samples$/],
    [Frame.of([graph.map(tensor, host, { access: "read" })], gray), /^host frame GRAY8 4 × 4$/],
    [tensor.route, /^no step: the bytes are there already$/],
    [signal, /^fence at mark 1 of a signal of the host$/],
    [signal.line, /^a signal of the host$/],
    [ports.use(new Port("memfd", { byteLength: 16 })), /^port memfd of 16 bytes$/],
    [
      ports.use(new ImagePort("dma-buf", { objects: [], planes: [], width: 4, height: 2 })),
      /^image port dma-buf of 4 × 2$/,
    ],
    [new MemoryClass("any address", () => ({ aliases: true, evidence: "" })), /^memory class any address$/],
    [ring, /^ring at /],
    [reader, /^ring at /],
  ]);
});

Deno.test("JSON.stringify() shows an error's name, message and fields", () => {
  const cause = Object.assign(new RangeError("too far"), { self: undefined as unknown });
  cause.self = cause;
  const error = new NoRouteError("No route.", [{ edge: "a→b", reason: "closed", remedy: "Open it." }], {
    api: "core",
    cause,
    errors: [new LayoutError("shape: wrong.", { argument: "shape" }), "text", { a: 1n }],
  });
  assertEquals(JSON.parse(JSON.stringify({ error })).error, {
    name: "NoRouteError",
    message: "No route. Open it.",
    api: "core",
    hint: "Open it.",
    refused: [{ edge: "a→b", reason: "closed", remedy: "Open it." }],
    cause: { name: "RangeError", message: "too far" },
    errors: [{ name: "LayoutError", message: "shape: wrong.", argument: "shape" }, "text", "[object Object]"],
  });
});

Deno.test("JSON.stringify() of imageInfo() has its modifier as a text, and its fields are the same", () => {
  const { modifier, ...others } = NV12;
  assertEquals(JSON.parse(JSON.stringify(NV12)), { ...others, modifier: String(modifier) });
  assertEquals(Object.keys(NV12), ["type", "format", "width", "height", "fourcc", "modifier"]);
});

testEach("JSON.stringify() shows a device with its handles as texts, and the times of a command", (platform) => {
  using cl = open(platform);
  const device = JSON.parse(JSON.stringify(cl.device));
  assertEquals([device.name, device.handle], [cl.device.name, String(cl.device.handle)]);
  using queue = cl.createQueue({ profiling: true });
  using tensor = cl.allocate({ shape: [4], dtype: "u8" });
  queue.fill(tensor, 1);
  const fence = queue.fence();
  fence.waitSync();
  const times = queue.times(fence);
  assertEquals(JSON.parse(JSON.stringify(times)).ended, String(times.ended));
});

Deno.test("JSON.stringify() makes a description of a tensor and of a frame, and does not throw", () => {
  using tensor = host.allocate({ shape: [2, 3], dtype: "u64" });
  const json = { kind: "host", shape: [2, 3], dtype: "u64", byteLength: 48 };
  assertEquals(JSON.parse(JSON.stringify(tensor)), json);
  assertEquals([tensor.shape, tensor.dtype, tensor.byteLength], [json.shape, json.dtype, json.byteLength]);
  assertEquals(tensor.shape, layout({ shape: [2, 3], dtype: "u64" }).shape);
  using frame = host.allocateFrame(NV12);
  const { planes, ...about } = JSON.parse(JSON.stringify({ frame })).frame;
  assertEquals(about, { kind: "host", format: "NV12", width: 64, height: 32, byteLength: 3072 });
  assertEquals(planes.map(({ byteLength }: { byteLength: number }) => byteLength), [2048, 1024]);
  assertEquals(frame.byteLength, 3072);
});

testEach("console.log() and JSON.stringify() show one line of each object", async (platform) => {
  const cl = open(platform);
  using source = host.allocate({ shape: [4], dtype: "u8" });
  const graph = new MapperGraph([host, cl]);
  const tensor = cl.allocate({ shape: [4, 4], dtype: "u8" });
  const program = cl.program("kernel void k(global uchar* x) { x[0] = 1; }");
  const kernel = program.kernel("k");
  await assertPrinted([
    [graph, /^mapper graph of host, opencl \(/],
    [cl, /^opencl context \(.*\)$/],
    [cl.queue, /^opencl queue \(/],
    [cl.svm, /^opencl\.svm \(.*\)$/],
    [cl.usm, /^opencl\.usm \(.*\)$/],
    [cl.image({ order: "RGBA", type: "UNORM_INT8" }), /^opencl\.image \(.*, RGBA UNORM_INT8\)$/],
    [cl.sampler({}), /^opencl sampler/],
    [tensor, /^opencl tensor \[4,4\] u8/],
    [graph.map(source, cl), /^opencl \(.*\) map of .* \(host→opencl [a-z]+\)$/],
    [tensor.base, /^the base of opencl tensor/],
    [new LocalMemory(16), /^16 bytes of local memory$/],
    [program, /^opencl program/],
    [kernel, /^opencl kernel k/],
    [cl.queue.fence(), /^fence at mark \d+ of opencl queue/],
  ]);
});

testMat("console.log() and JSON.stringify() show one line of each object", async () => {
  const cv = OpenCVContext.open();
  await assertPrinted([
    [cv, /^opencv context \(OpenCV 4/],
    [cv.mat, /^opencv\.mat \(OpenCV 4[.\d]+\)$/],
    [cv.matOf({ channels: 3 }), /^opencv\.mat \(OpenCV 4[.\d]+, 3 channels\)$/],
    [cv.umat, /^opencv\.umat \(/],
    [cv.mat.create({ shape: [4, 4], dtype: "u8" }), /^opencv mat \[4,4\] u8$/],
  ]);
});

vulkanTest("console.log() and JSON.stringify() show one line of each object", async () => {
  const vulkan = VulkanContext.open();
  const program = vulkan.program(shader("invert"));
  await assertPrinted([
    [vulkan, /^vulkan context \(/],
    [vulkan.queue, /^vulkan queue \(/],
    [vulkan.image("R8G8B8A8_UNORM"), /^vulkan\.image \(.*, rgba unorm8\)$/],
    [vulkan.allocate({ shape: [4], dtype: "f32" }), /^vulkan tensor \[4\] f32$/],
    [program, /^vulkan program/],
    [program.kernel(), /^vulkan kernel/],
    [vulkan.queue.createFence(), /^VkFence$/],
  ]);
});

eglTest("console.log() and JSON.stringify() show one line of each object", async (egl: EglContext) => {
  const picture = egl.image.allocate({ format: "RGBA", width: 8, height: 4 });
  const buffer = egl.buffer.allocate({ shape: [4], dtype: "u8" });
  assert(buffer.handle instanceof GlBuffer);
  await assertPrinted([
    [egl, /^egl context \(/],
    [egl.queue, /^egl commands \(/],
    [egl.image, /^egl\.image \(/],
    [egl.buffer, /^egl\.buffer \(/],
    [picture.planes[0].handle, /^texture \d+ of 8 × 4$/],
    [buffer.handle, /^buffer \d+ of 4 bytes$/],
    [picture, /^egl\.image frame RGBA 8 × 4$/],
    [buffer, /^egl.* \[4\] u8$/],
  ]);
});

driverTest("console.log() and JSON.stringify() show one line of each object", [], async ({ va }) => {
  const surface = va.allocateFrame(NV12);
  const [{ handle }] = surface.planes;
  await assertPrinted([
    [handle, /^VASurfaceID \d+: NV12 64 × 32$/],
    [surface, /NV12.* 64 × 32$/],
    [va.createPool(NV12, 2), /^vaapi pool/],
  ]);
  assertMatch(Deno.inspect(handle), / \(destroyed\)$/);
});
