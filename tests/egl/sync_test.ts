import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ledger, NativeCallError } from "@samepage/interop";
import { EGL_SYNC_FENCE } from "../../ffi/egl/constants.ts";
import { EglContext } from "@samepage/interop/egl";
import { createSync, destroySync } from "../../src/egl/lane.ts";
import { gles } from "../../src/egl/library.ts";
import { test } from "./help.ts";

test("a fence is reached once its commands are over, asked, blocked on or awaited", async (egl) => {
  using picture = egl.image.allocate({ format: "RGBA", width: 256, height: 256 });
  for (const wait of ["finish", "wait", "poll"] as const) {
    for (let i = 0; i < 20; i++) egl.queue.fill(picture, [i / 20, 0, 0, 1]);
    const fence = egl.queue.fence();
    if (wait === "finish") egl.queue.finish();
    else if (wait === "wait") await fence.wait();
    else while (!fence.reached());
    assert(fence.reached());
  }
});

test("a sync that another thread waits for is destroyed behind that wait, though a poll has seen it over", async (egl) => {
  using picture = egl.image.allocate({ format: "RGBA", width: 64, height: 64 });
  const syncs = () => ledger.alive["egl.EGLSync"] ?? 0;
  const before = syncs();
  egl.queue.fill(picture, [0, 1, 0, 1]);
  const { line, mark } = egl.queue.fence();
  const waiting = line.waitElsewhere(mark);
  line.block(mark);
  assertEquals([line.wasOver(mark), syncs()], [true, before + 1]);
  await waiting;
  assertEquals(syncs(), before);
});

test("syncs are destroyed once they are over", async (egl) => {
  using picture = egl.image.allocate({ format: "RGBA", width: 64, height: 64 });
  const before = ledger.alive["egl.EGLSync"] ?? 0;
  for (let i = 0; i < 100; i++) {
    egl.queue.fill(picture, [0, i / 100, 0, 1]);
    await Promise.all([egl.queue.fence().wait(), egl.queue.fence().wait()]);
  }
  assert((ledger.alive["egl.EGLSync"] ?? 0) - before <= 1);
});

test("a program's EGLSync is a fence", async (egl) => {
  const { openContext: { display: { handle: display } } } = egl;
  const sync = egl.openContext.within(() => {
    const made = createSync(display, EGL_SYNC_FENCE);
    gles().glFlush();
    return made;
  });
  await egl.attachFence(sync).wait();
  egl.attachFence(sync).waitSync();
  assert(egl.attachFence(sync).reached());
  destroySync(display, sync);
});

test("anything but an EGLSync is an error", (egl) => {
  const error = assertThrows(() => egl.attachFence(64n), NativeCallError);
  assertStringIncludes(error.message, "eglGetSyncAttrib failed with EGL_BAD_");
});

test("a reusable sync is signalled and reset, and other threads wait for it", async (egl) => {
  using sync = egl.reusableSync();
  assertEquals(sync.signalled, false);
  const fence = egl.attachFence(sync.handle);
  assertEquals(fence.reached(), false);
  const waited = fence.wait();
  sync.signal();
  await waited;
  assertEquals(sync.signalled, true);
  sync.reset();
  assertEquals([sync.signalled, fence.reached()], [false, true]); // a fence that was reached stays so
});

test("a reusable sync that ends takes along what stands on it, also where other lines wait for that", async (egl) => {
  using picture = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
  for (const signals of [true, false]) {
    const sync = egl.reusableSync();
    const [asked, blocked, awaited] = [1, 2, 3].map(() => egl.attachFence(sync.handle));
    const waits = [awaited.wait(), awaited.wait(), egl.attachFence(sync.handle).wait()];
    picture.usedBy(egl.attachFence(sync.handle));
    if (signals) sync.signal();
    sync[Symbol.dispose]();
    egl.queue.fill(picture, [0, 0, 0, 1]);
    assertEquals(asked.reached(), true);
    blocked.waitSync();
    await Promise.all(waits);
  }
});

test("a context that ends with an unsignalled sync does not wait for it", () => {
  const egl = EglContext.open();
  const fence = egl.attachFence(egl.reusableSync().handle);
  egl[Symbol.dispose]();
  assertEquals(fence.reached(), true);
});
