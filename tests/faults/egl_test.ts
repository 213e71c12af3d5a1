/** Every native call of EGL's and OpenGL ES's fails once: what comes of it is typed, and nothing stays behind. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { NULL } from "../../ffi/address.ts";
import { ArgumentError, host, MapperGraph } from "../../mod.ts";
import { EglContext, eglDevices } from "../../src/egl/mod.ts";
import { EGL_CONTEXT_MAJOR_VERSION, EGL_NONE, EGL_SYNC_FENCE } from "../../ffi/egl/constants.ts";
import { createSync, destroySync, type Sync } from "../../src/egl/lane.ts";
import { egl } from "../../src/egl/library.ts";
import { onThread } from "../../src/egl/thread.ts";
import { frameOver } from "../egl/external.ts";
import { bytesOf, missing } from "../egl/help.ts";
import { sweep } from "./sweep.ts";
import { Counted, installTap } from "./tap.ts";

installTap();
const reason = missing();

/** What each operation finds there, and leaves as it was. */
interface There {
  readonly egl: EglContext;
  readonly graph: MapperGraph;
  readonly signalled: Sync;
}

/** A device may have no render node: then it returns NULL. A question about a mark makes a fence; it is asked again. */
const SILENT = [
  "gles.glGetError",
  "egl_extensions.eglQueryDeviceStringEXT",
  "egl.eglMakeCurrent",
  "egl.eglCreateSync",
];

function test(name: string, operation: (there: There) => unknown): void {
  Deno.test({
    name: `faults: egl: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
    ignore: reason !== undefined,
    async fn() {
      using syncs = new DisposableStack();
      using egl = EglContext.open();
      const { display } = egl;
      const signalled = egl.openContext.within(() => createSync(display, EGL_SYNC_FENCE));
      syncs.defer(() => onThread(() => destroySync(display, signalled))); // behind all who ask for it
      using graph = new MapperGraph([host, egl]);
      using picture = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
      const there = { egl, graph, signalled };
      await operation(there);
      const intact = () => {
        egl.queue.fill(picture, [1, 0, 1, 0]);
        assertEquals([...bytesOf(egl, picture).subarray(0, 4)], [255, 0, 255, 0]);
      };
      const faults = await sweep(() => operation(there), intact, SILENT);
      assert(faults.length > 0, "it makes no native call");
      for (const { call, error } of faults) { // GL's error is reported by the name of the command that has left it
        if (call === "gles.glGetError" && error !== undefined) assertStringIncludes(error, "GL_OUT_OF_MEMORY");
      }
    },
  });
}

test("listing the devices", () => eglDevices());

Deno.test({
  name: "faults: egl: a thread is released behind its last use, unless the program has made something current",
  ignore: reason !== undefined,
  fn() {
    let count = 0;
    const releases = (use: () => void) => {
      count = 0;
      using _counted = new Counted((call) => {
        if (call === "egl.eglReleaseThread") count++;
        return false;
      });
      use();
      return count;
    };
    assertEquals(releases(() => eglDevices()), 1);
    assertThrows(() => releases(() => EglContext.open({ device: 1000 })), ArgumentError);
    assertEquals(count, 1);
    const first = EglContext.open();
    assertEquals(releases(() => EglContext.open()[Symbol.dispose]()), 0);
    const { display } = first;
    assertEquals(releases(() => first[Symbol.dispose]()), 1);
    const own = egl().eglCreateContext(display, NULL, NULL, Int32Array.of(EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE));
    egl().eglMakeCurrent(display, NULL, NULL, own);
    assertEquals(releases(() => EglContext.open()[Symbol.dispose]()), 0);
    assertEquals(egl().eglGetCurrentContext(), own);
    egl().eglMakeCurrent(display, NULL, NULL, NULL);
    egl().eglDestroyContext(display, own);
    assertEquals(releases(() => eglDevices()), 1);
  },
});

for (const platform of ["surfaceless", "device", undefined] as const) {
  test(`opening a context: ${platform ?? "by itself"}`, () => {
    using egl = EglContext.open(platform === undefined ? {} : { platform });
    egl.queue.finish();
  });
}

test("attaching to a program's", ({ egl }) => {
  using attached = EglContext.attach({ display: egl.display, context: egl.handle });
  attached.queue.finish();
});

for (const storage of ["texture", "renderbuffer"] as const) {
  test(`a ${storage}, its image, cleared, copied and read`, ({ egl }) => {
    using one = egl.image.allocate({ format: "RGBA", width: 8, height: 8, storage });
    using two = egl.image.allocate({ format: "RGB", width: 8, height: 8 });
    assert(one.planes[0].handle.image > 0n);
    egl.queue.fill(one, [0, 1, 0, 1]);
    egl.queue.copy(one, two);
    assertEquals([...bytesOf(egl, two).subarray(0, 3)], [0, 255, 0]);
    egl.queue.write(two, new Uint8Array(192));
  });
}

test("an external texture, drawn", ({ egl }) => {
  using from = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
  using to = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
  egl.queue.fill(from, [0, 1, 0, 1]);
  using frame = frameOver(egl, from.planes[0].handle.image);
  frame.drawTo(to);
  assertEquals([...bytesOf(egl, to).subarray(0, 4)], [0, 255, 0, 255]);
});

test("a picture of several planes, mapped to the host", ({ egl, graph }) => {
  using picture = egl.image.allocate({ format: "NV12", width: 8, height: 8 });
  using mapped = graph.map(picture, host, { copy: "allow" });
  mapped.planes[0].bytes().fill(3);
});

test("a buffer, written, read, mapped to the host, and wrapped", ({ egl, graph }) => {
  using buffer = egl.buffer.allocate({ shape: [16], dtype: "u8" });
  egl.queue.write(buffer, new Uint8Array(16).fill(5));
  {
    using mapped = graph.map(buffer, host, { copy: "allow" });
    mapped.bytes()[0] = 6;
  }
  using wrapped = egl.buffer.attach(buffer.handle.name, { shape: [2], dtype: "u8" });
  const seen = new Uint8Array(2);
  egl.queue.read(wrapped, seen);
  assertEquals([...seen], [6, 5]);
});

test("a program's own commands", ({ egl }) => egl.queue.run([], (gl) => gl.glFlush()));

test("contexts that wait for each other", async ({ egl }) => {
  using other = EglContext.attach({ display: egl.display });
  using picture = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
  egl.queue.fill(picture, [1, 1, 1, 1]);
  await other.queue.waitFor(egl.queue.fence()).wait();
});

Deno.test({
  name: "faults: egl: a context waits in the driver for another's newest command",
  ignore: reason !== undefined,
  fn() {
    using first = EglContext.open();
    using second = EglContext.attach({ display: first.display });
    using picture = first.image.allocate({ format: "RGBA", width: 8, height: 8 });
    let waits = 0;
    using _counted = new Counted((call) => {
      if (call === "egl.eglWaitSync") waits++;
      return false;
    });
    for (let i = 1; i <= 3; i++) {
      first.queue.fill(picture, [i / 3, 1, 1, 1]);
      second.line.lane.waitFor(first.line.lane, first.queue.fence().mark);
      assertEquals(waits, i);
      first.queue.finish();
    }
  },
});

test("a sync that the program signals", ({ egl }) => {
  using sync = egl.reusableSync();
  sync.signal();
  assert(sync.signalled);
});

test("a sync of a program's as a fence", async ({ egl, signalled }) => {
  await egl.attachFence(signalled).wait();
  egl.attachFence(signalled).waitSync();
});
