/** EGLImages in OpenCL, over PoCL and a recording of cl_khr_egl_image: no driver here has it. */
import { driver } from "./simulated_opencl.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { AccessError, ledger, MapperGraph, NativeCallError, NoRouteError } from "@samepage/interop";
import { EglContext } from "@samepage/interop/egl";
import { OpenCLContext } from "@samepage/interop/opencl";
import { CL_MEM_READ_WRITE } from "../../ffi/opencl/constants.ts";
import { POCL, simulatedTests } from "./simulated_tests.ts";

const test = simulatedTests("OpenCL", { lists: true, listsGl: false }, () => OpenCLContext.open({ platform: POCL }));

const SIZE = { format: "RGBA", width: 8, height: 4 } as const;
const RGBA = { order: "RGBA", type: "UNORM_INT8" } as const;

test("an EGLImage is an image, acquired while it is mapped, and GL's again then", ({ egl, cl, graph }) => {
  using picture = egl.image.allocate(SIZE);
  const [plane] = picture.planes;
  const before = ledger.alive["opencl.cl_mem"] ?? 0;
  {
    using mapped = graph.map(plane, cl.image(RGBA));
    assertEquals(ledger.alive["opencl.cl_mem"], before + 1);
    assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
      ["egl.image→opencl.image", "alias"],
    ]);
    assertThrows(() => egl.queue.read(plane, new Uint8Array(128)), AccessError, "mapped to another driver");
    cl.queue.finish();
  }
  assertEquals(driver.told, [
    ["create", true, true, CL_MEM_READ_WRITE],
    ["acquire", 1],
    ["release", 1],
    ["clReleaseMemObject"],
  ]);
  egl.queue.read(plane, new Uint8Array(128));
});

for (const name of ["create", "acquire"]) {
  test(`where ${name} fails, the picture is GL's again`, ({ egl, cl, graph }) => {
    using picture = egl.image.allocate(SIZE);
    driver.fails = name;
    assertThrows(() => graph.map(picture.planes[0], cl.image(RGBA)), NativeCallError, "CL_OUT_OF_RESOURCES");
    driver.fails = undefined;
    egl.queue.fill(picture, [0, 0, 0, 0]);
    graph.map(picture.planes[0], cl.image(RGBA))[Symbol.dispose]();
  });
}

test("open({ on }) takes the device with the other context's UUID, in both directions", ({ egl, cl }) => {
  using same = OpenCLContext.open({ on: egl });
  assertEquals([same.device.handle, same.id.uuid], [cl.device.handle, egl.id.uuid]);
  using back = EglContext.open({ on: same });
  assertEquals(back.id.uuid, egl.id.uuid);
});

test("a picture of another format is refused before OpenCL is asked", ({ egl, cl, graph }) => {
  using picture = egl.image.allocate({ ...SIZE, format: "BGRA" });
  const target = cl.image(RGBA);
  const error = assertThrows(() => graph.map(picture.planes[0], target), NoRouteError, "its pixels are bgra unorm8");
  assertStringIncludes(error.message, 'Map it to cl.image({ order: "BGRA", type: "UNORM_INT8" }).');
  assertEquals(driver.told, []);
});

test("a driver that lists cl_khr_egl_event, and has not its function, has the host wait", ({ egl }) => {
  Object.assign(driver, { listsEglEvent: true, hasEvents: false });
  using cl = OpenCLContext.open({ platform: POCL });
  egl.queue.run([], () => {});
  const why = cl.queue.line.whyHostWaits([egl.queue.fence()]);
  assertEquals(why, "Portable Computing Language has no clCreateEventFromEGLSyncKHR");
});

test("a driver without the extension says so", () => {
  driver.lists = false;
  using egl = EglContext.open();
  using cl = OpenCLContext.open({ platform: POCL });
  using graph = new MapperGraph([egl, cl]);
  using picture = egl.image.allocate(SIZE);
  const said = String(graph.explain(picture.planes[0], cl.image(RGBA)));
  assertStringIncludes(said, "has no cl_khr_egl_image");
});
