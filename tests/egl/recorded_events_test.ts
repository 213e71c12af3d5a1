/** EGL's and OpenGL's syncs as OpenCL events, over PoCL and recorded extensions, which no driver here has. */
import { driver } from "./simulated_opencl.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type Fence, NativeCallError } from "@samepage/interop";
import { EglContext } from "@samepage/interop/egl";
import { OpenCLContext } from "@samepage/interop/opencl";
import { EGL_SYNC_FENCE } from "../../ffi/egl/constants.ts";
import { createSync, destroySync } from "../../src/egl/lane.ts";
import { POCL, simulatedTests, type There } from "./simulated_tests.ts";

const byEgl = simulatedTests(
  "OpenCL's events",
  { lists: false, listsGl: false, listsEglEvent: true },
  () => OpenCLContext.open({ platform: POCL }),
);
const byGl = simulatedTests(
  "OpenCL's events",
  { lists: false, listsGl: true, listsGlEvent: true },
  (egl) => OpenCLContext.open({ platform: POCL, gl: egl }),
);

/** Commands of GL's, which are never reported as over. */
function unfinished(egl: EglContext): Fence & Disposable {
  egl.queue.run([], () => {});
  const { lane } = egl.line;
  Object.assign(lane, { poll: () => 0 });
  const end = () => void Reflect.deleteProperty(lane, "poll");
  return Object.assign(egl.queue.fence(), { [Symbol.dispose]: end }) as Fence & Disposable;
}

/** OpenCL's commands behind a fence run once the driver's event is complete, and no sooner. */
function assertWaits({ cl }: There, after: Fence, told: unknown[]): void {
  using tensor = cl.allocate({ shape: [16], dtype: "u8" });
  cl.queue.finish();
  driver.told = [];
  assertEquals(cl.queue.line.whyHostWaits([after]), undefined);
  cl.queue.fill(tensor, 7, { after });
  const filled = cl.queue.fence();
  assertEquals([driver.told, filled.reached()], [[told], false]);
  for (const signal of driver.signal.splice(0)) signal();
  const bytes = new Uint8Array(16);
  cl.queue.read(tensor, bytes);
  assertEquals([new Set(bytes), filled.reached()], [new Set([7]), true]);
}

byEgl("a fence of EGL's is an event, for which OpenCL waits on the device (cl_khr_egl_event)", (there) => {
  using fence = unfinished(there.egl);
  assertWaits(there, fence, ["EGLSync", true, true]);
});

byEgl("a program's own EGLSync is one too, unless only the program can signal it", (there) => {
  const { egl, cl } = there;
  const { display } = egl;
  const sync = egl.openContext.within(() => createSync(display, EGL_SYNC_FENCE));
  const fence = egl.attachFence(sync);
  const { lines } = fence.line.driver;
  const { poll } = lines;
  Object.assign(lines, { poll: () => 0 });
  assertWaits(there, fence, ["EGLSync", true, true]);
  Object.assign(lines, { poll });
  fence.waitSync();
  destroySync(display, sync);
  using reusable = egl.reusableSync();
  const byHand = egl.attachFence(reusable.handle);
  assertEquals(typeof cl.queue.line.whyHostWaits([byHand]), "string");
  reusable.signal();
  byHand.waitSync();
});

byGl(
  "OpenGL's commands are an event by a GLsync, where OpenCL was opened for their context (cl_khr_gl_event)",
  (there) => {
    {
      using fence = unfinished(there.egl);
      assertWaits(there, fence, ["GLsync", true]);
    }
    using other = EglContext.open();
    using theirs = unfinished(other);
    assertStringIncludes(there.cl.queue.line.whyHostWaits([theirs])!, "where OpenCL is opened for their context");
  },
);

for (const [test, name] of [[byEgl, "EGLSync"], [byGl, "GLsync"]] as const) {
  test(`where the driver makes no event of an ${name}, that is the command's error, and nothing stays`, (there) => {
    const { egl, cl } = there;
    using fence = unfinished(egl);
    using tensor = cl.allocate({ shape: [16], dtype: "u8" });
    driver.fails = "event";
    assertThrows(
      () => cl.queue.fill(tensor, 7, { after: fence }),
      NativeCallError,
      `clCreateEventFrom${name}KHR failed`,
    );
    driver.fails = undefined;
    assertWaits(there, fence, name === "EGLSync" ? [name, true, true] : [name, true]);
  });
}

byEgl("a driver without the extension has the host wait, and says so", ({ egl }) => {
  driver.listsEglEvent = false;
  using cl = OpenCLContext.open({ platform: POCL });
  using fence = unfinished(egl);
  assertStringIncludes(cl.queue.line.whyHostWaits([fence])!, "has no semaphores and no fences for other drivers");
});
