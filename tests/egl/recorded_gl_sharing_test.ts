/** GL's pictures and buffers in OpenCL by their names, over PoCL and a recording of cl_khr_gl_sharing: no driver here has it. */
import { driver } from "./simulated_opencl.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  InteropError,
  MapperGraph,
  NativeCallError,
  NoRouteError,
} from "@samepage/interop";
import { EglContext } from "@samepage/interop/egl";
import { OpenCLContext } from "@samepage/interop/opencl";
import {
  CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR,
  CL_GL_CONTEXT_KHR,
  CL_MEM_READ_WRITE,
} from "../../ffi/opencl/constants.ts";
import { GL_TEXTURE_2D } from "../../ffi/gles/constants.ts";
import { openclTraits } from "../../src/doctor/egl/opencl.ts";
import { POCL, simulatedTests } from "./simulated_tests.ts";

const RGBA = { order: "RGBA", type: "UNORM_INT8" } as const;
const SIZE = { format: "RGBA", width: 8, height: 4 } as const;
const BYTES = { shape: [256], dtype: "u8" } as const;

const test = simulatedTests(
  "OpenCL by names",
  { lists: false, listsGl: true },
  (egl) => OpenCLContext.open({ platform: POCL, gl: egl }),
);

test("a context is made for that of GL, on the device that draws, and ends before it", ({ egl, cl }) => {
  const [asked, made] = driver.told;
  assertEquals(asked, ["info", CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR, 7, 8n]);
  assertEquals([made, CL_GL_CONTEXT_KHR], [["context", true, true], 0x2008n]);
  assertEquals([cl.gl, cl.device.handle], [egl, driver.device]);
  const other = EglContext.open();
  const another = OpenCLContext.open({ platform: POCL, gl: other });
  other[Symbol.dispose]();
  assertEquals(another.resource.isLive, false);
});

test("a buffer is OpenCL's in place: its bytes are GL's as it is acquired, and GL's again", ({ egl, cl, graph }) => {
  using buffer = egl.buffer.allocate(BYTES);
  const [sent, seen] = [Uint8Array.from({ length: 256 }, (_, i) => i), new Uint8Array(256)];
  egl.queue.write(buffer, sent);
  driver.told = [];
  {
    using mapped = graph.map(buffer, cl);
    assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [["egl.buffer→opencl", "alias"]]);
    assertThrows(() => egl.queue.read(buffer, new Uint8Array(256)), AccessError, "mapped to another driver");
    cl.queue.read(mapped, seen);
    assertEquals(seen, sent);
    cl.queue.fill(mapped, 7);
  }
  egl.queue.read(buffer, seen);
  assertEquals(new Set(seen), new Set([7]));
  assertEquals(driver.told, [["buffer", CL_MEM_READ_WRITE, true], ["acquire", 1, true], ["release", 1, true]]);
});

test("a part of it is the whole with an offset, and the next map makes nothing", ({ egl, cl, graph }) => {
  using buffer = egl.buffer.allocate(BYTES);
  {
    using part = buffer.slice({ shape: [16], dtype: "u8", byteOffset: 128 });
    using mapped = graph.map(part, cl);
    assertEquals([mapped.origin, mapped.layout.byteOffset], [0, 128]);
    cl.queue.fill(mapped, 9);
  }
  driver.told = [];
  graph.map(buffer, cl)[Symbol.dispose]();
  assertEquals(driver.told.map(([name]) => name), ["acquire", "release"]);
  const seen = new Uint8Array(256);
  egl.queue.read(buffer, seen);
  assertEquals([...seen.subarray(126, 130), ...seen.subarray(143, 145)], [0, 0, 9, 9, 9, 0]);
});

test("two readers of one buffer share it: acquired once, and released by the last", ({ egl, cl, graph }) => {
  using buffer = egl.buffer.allocate(BYTES);
  driver.told = [];
  const one = graph.map(buffer, cl, { access: "read" });
  const other = graph.map(buffer, cl, { access: "read" });
  assertEquals(one.handle, other.handle);
  one[Symbol.dispose]();
  assertEquals(driver.told.map(([name]) => name), ["buffer", "acquire"]);
  other[Symbol.dispose]();
  assertEquals(driver.told.at(-1), ["release", 1, true]);
});

for (const storage of ["texture", "renderbuffer"] as const) {
  test(`a ${storage} is an image, acquired while it is mapped`, ({ egl, cl, graph }) => {
    using picture = egl.image.allocate({ ...SIZE, storage });
    driver.told = [];
    {
      using mapped = graph.map(picture.planes[0], cl.image(RGBA));
      assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
        ["egl.image→opencl.image", "alias"],
      ]);
      assertThrows(() => egl.queue.fill(picture, [0, 0, 0, 0]), AccessError, "mapped to another driver");
      cl.queue.finish();
    }
    const created = storage === "texture" ? ["texture", GL_TEXTURE_2D, 0, true] : ["renderbuffer", true];
    assertEquals(driver.told, [created, ["acquire", 1, true], ["release", 1, true]]);
    egl.queue.fill(picture, [0, 0, 0, 0]);
  });
}

for (const name of ["create", "acquire"]) {
  test(`where ${name} fails, the buffer and the picture are GL's again`, ({ egl, cl, graph }) => {
    using buffer = egl.buffer.allocate(BYTES);
    using picture = egl.image.allocate(SIZE);
    for (const map of [() => graph.map(buffer, cl), () => graph.map(picture.planes[0], cl.image(RGBA))]) {
      driver.fails = name;
      assertThrows(map, NativeCallError, name === "create" ? "CL_INVALID_GL_OBJECT" : "CL_OUT_OF_RESOURCES");
      driver.fails = undefined;
      map()[Symbol.dispose]();
    }
    egl.queue.fill(picture, [0, 0, 0, 0]);
    egl.queue.read(buffer, new Uint8Array(256));
  });
}

test("a release that fails is the error of the map's end", ({ egl, cl, graph }) => {
  using buffer = egl.buffer.allocate(BYTES);
  const mapped = graph.map(buffer, cl);
  driver.fails = "release";
  assertThrows(
    () => mapped[Symbol.dispose](),
    InteropError,
    "clEnqueueReleaseGLObjects failed with CL_OUT_OF_RESOURCES",
  );
  driver.fails = undefined; // it is released before the buffer ends
});

test("another GL context's objects are refused, and so is OpenCL without GL, or without the extension", (there) => {
  const { cl } = there;
  using other = EglContext.open();
  using buffer = other.buffer.allocate(BYTES);
  using picture = other.image.allocate(SIZE);
  using graph = new MapperGraph([other, cl]);
  const foreign = "it is of another OpenGL context than the one that";
  assertThrows(() => graph.map(buffer, cl), NoRouteError, foreign);
  assertThrows(() => graph.map(picture.planes[0], cl.image(RGBA)), NoRouteError, foreign);
  using plain = OpenCLContext.open({ platform: POCL });
  using without = new MapperGraph([other, plain]);
  const how = "was opened without OpenGL. Open it for that context: OpenCLContext.open({ gl: egl }).";
  assertStringIncludes(String(without.explain(buffer, plain)), how);
  assertStringIncludes(String(without.explain(picture.planes[0], plain.image(RGBA))), how);
  driver.listsGl = false;
  using bare = OpenCLContext.open({ platform: POCL });
  using closed = new MapperGraph([other, bare]);
  const said = String(closed.explain(picture.planes[0], bare.image(RGBA)));
  for (const extension of ["cl_khr_gl_sharing", "cl_khr_egl_image"]) assertStringIncludes(said, `has no ${extension}`);
  assertStringIncludes(String(closed.explain(buffer, bare)), "has no cl_khr_gl_sharing");
});

test("GL's work is not waited for by the host where acquiring orders it (cl_khr_gl_event)", ({ egl, cl }) => {
  driver.listsGlEvent = true;
  using orders = OpenCLContext.open({ platform: POCL, gl: egl });
  driver.listsGlEvent = false;
  using graph = new MapperGraph([egl, cl]);
  using ordered = new MapperGraph([egl, orders]);
  using buffer = egl.buffer.allocate(BYTES);
  using picture = egl.image.allocate(SIZE);
  egl.queue.finish();
  const { lane } = egl.line;
  const asked: number[] = [];
  const poll = lane.poll.bind(lane);
  const never = () =>
    Object.assign(lane, {
      poll: () => 0, // GL has never finished it, as far as anybody hears
      block: (mark: number) => void (asked.push(mark), Object.assign(lane, { poll })),
    });
  for (const [by, to, hostWait] of [[ordered, orders, false], [graph, cl, true]] as const) {
    for (const use of ["buffer", "picture"] as const) {
      asked.length = 0;
      never();
      if (use === "buffer") egl.queue.write(buffer, new Uint8Array(256));
      else egl.queue.fill(picture, [1, 0, 0, 1]);
      using mapped = use === "buffer" ? by.map(buffer, to) : by.map(picture.planes[0], to.image(RGBA));
      const [step] = mapped.route.steps;
      assertEquals([step.hostWait, asked.length > 0], [hostWait, hostWait], use);
      const why = "has no semaphores and no fences for other drivers";
      if (hostWait) assertStringIncludes(step.waitReason!, why);
      Object.assign(lane, { poll });
    }
  }
});

test("the doctor says what the driver reports of a context", ({ egl }) => {
  const said = () => openclTraits(egl).find(({ text }) => text.startsWith(POCL))?.text ?? "";
  assertStringIncludes(said(), "pictures and buffers by their names, on ");
  driver.drawsElsewhere = true;
  assertStringIncludes(said(), "draws on none of its devices");
  driver.fails = "info";
  assertStringIncludes(said(), "clGetGLContextInfoKHR failed with CL_INVALID_OPERATION (-59).");
  driver.listsGl = false;
  assertEquals(said(), "");
});

test("a context that the driver refuses, one of another device, and an invalid one", ({ egl }) => {
  const open = (gl: unknown) => OpenCLContext.open({ platform: POCL, gl: gl as EglContext });
  driver.fails = "info";
  assertThrows(() => open(egl), NativeCallError, "clGetGLContextInfoKHR failed with CL_INVALID_OPERATION");
  driver.fails = undefined;
  driver.drawsElsewhere = true;
  assertThrows(() => open(egl), ArgumentError, "draws on none of these");
  driver.listsGl = false;
  assertThrows(() => open(egl), ArgumentError, "has no cl_khr_gl_sharing");
  for (const wrong of [{}, 5, null, egl.image]) assertThrows(() => open(wrong), ArgumentError);
});
