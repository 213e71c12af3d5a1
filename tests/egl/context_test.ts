import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, host, ledger } from "@samepage/interop";
import { EglContext, eglDevices } from "@samepage/interop/egl";
import { VulkanContext, vulkanDevices } from "@samepage/interop/vulkan";
import { type Address, NULL } from "../../ffi/address.ts";
import { EGL_CONTEXT_MAJOR_VERSION, EGL_NONE, EGL_OPENGL_ES_API } from "../../ffi/egl/constants.ts";
import { GL_TEXTURE_2D } from "../../ffi/gles/constants.ts";
import { egl as native, gles } from "../../src/egl/library.ts";
import { OpenContext } from "../../src/egl/open_context.ts";
import { assertAlive } from "../alive.ts";
import { missing as vulkanMissing } from "../vulkan/help.ts";
import { bytesOf, missing, test } from "./help.ts";

/** EGL_OPENGL_API, which is not an API of ours. */
const OPENGL = 0x30a2;

test("a context says who draws, and what it has", (egl) => {
  assert(egl.name.length > 0);
  assert(/^1\.[5-9]/.test(egl.version), egl.version);
  assertStringIncludes(egl.glVersion, "OpenGL ES 3");
  assert(egl.handle > 0n && egl.display > 0n);
  assert(egl.extensions.includes("EGL_KHR_surfaceless_context"));
  assertEquals(egl.targets, [egl.image, egl.buffer]);
});

/** The extension, if the display lacks it. */
function lackOf(extension: string): string | undefined {
  if (missing() !== undefined) return undefined; // test() names that reason
  using egl = EglContext.open();
  return egl.openContext.display.extensions.has(extension) ? undefined : extension;
}

/** GL_RESET_NOTIFICATION_STRATEGY and GL_LOSE_CONTEXT_ON_RESET of GL_KHR_robustness. */
const [STRATEGY, LOSES] = [0x8256, 0x8252];

test("a context reports a reset of its device, also one that shares with a program's of either kind", (egl) => {
  const strategyOf = (context: EglContext) => {
    const out = new Int32Array(1);
    context.openContext.command("glGetIntegerv", () => gles().glGetIntegerv(STRATEGY, out));
    return out[0];
  };
  assertEquals(strategyOf(egl), LOSES);
  using alike = EglContext.attach({ display: egl.display, context: egl.handle });
  assertEquals(strategyOf(alike), LOSES);
  const attributes = Int32Array.of(EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE);
  const display = egl.display as Address;
  const other = native().eglCreateContext(display, NULL, NULL, attributes);
  try {
    using unlike = EglContext.attach({ display, context: other });
    assert(strategyOf(unlike) !== LOSES);
  } finally {
    native().eglDestroyContext(display, other);
  }
}, lackOf("EGL_EXT_create_context_robustness"));

test("an extension is there, or absent with a reason that names it", (egl) => {
  for (const [extension, reason] of egl.absent) {
    assert(!egl.extensions.includes(extension) && reason.includes(extension), reason);
  }
});

test("each way to a display opens one", () => {
  Deno.env.set("EGL_PLATFORM", "surfaceless"); // what Mesa's default is where there is no display
  for (const platform of ["surfaceless", "device", "default"] as const) {
    using egl = EglContext.open({ platform });
    using picture = egl.image.allocate({ format: "RGBA", width: 4, height: 4 });
    egl.queue.fill(picture, [1, 1, 1, 1]);
    assertEquals(new Set(bytesOf(egl, picture)), new Set([255]), platform);
  }
});

test("devices are listed, and opened by their places", () => {
  for (const { index, extensions, software, cuda } of eglDevices()) {
    assertEquals(extensions.includes("EGL_MESA_device_software"), software);
    assert(cuda === undefined || cuda >= 0);
    using egl = EglContext.open({ device: index });
    assert(egl.name.length > 0);
  }
  assertThrows(() => EglContext.open({ device: 1000 }), ArgumentError, "EGL lists");
});

test("nothing is current between its commands", (egl) => {
  using picture = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
  egl.queue.fill(picture, [1, 0, 0, 1]);
  egl.queue.finish();
  assertEquals(native().eglGetCurrentContext(), NULL);
});

test("what a program had made current is so again, also where a command fails", (egl) => {
  const undo: (() => void)[] = [];
  const { handle, display } = new OpenContext(egl.openContext.display, NULL, false, undo);
  using picture = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
  assertEquals(native().eglMakeCurrent(display.handle, NULL, NULL, handle), 1);
  try {
    egl.queue.fill(picture, [0, 1, 0, 1]);
    assertEquals(native().eglGetCurrentContext(), handle);
    egl.queue.run([], () => assertEquals(native().eglGetCurrentContext(), egl.handle));
    assertThrows(() => egl.queue.run([], () => JSON.parse("{")), SyntaxError);
    assertEquals(native().eglGetCurrentContext(), handle);
  } finally {
    native().eglMakeCurrent(display.handle, NULL, NULL, NULL);
    undo.reverse().forEach((step) => step());
  }
});

test("the thread's API stays what it was", () => {
  const before = native().eglQueryAPI();
  assertEquals(native().eglBindAPI(OPENGL), 1);
  try {
    using egl = EglContext.open();
    assert(egl.handle > 0n);
    assertEquals(native().eglQueryAPI(), OPENGL);
  } finally {
    native().eglBindAPI(before === EGL_NONE ? EGL_OPENGL_ES_API : before);
  }
});

Deno.test({
  name: "egl: the end of a thread's last context leaves what a program has made current, and its API",
  ignore: missing() !== undefined, // test() itself has one more context
  fn() {
    const before = native().eglQueryAPI();
    const egl = EglContext.open();
    const display = egl.display as Address;
    const attributes = Int32Array.of(EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE);
    const theirs = native().eglCreateContext(display, NULL, NULL, attributes);
    assertEquals(native().eglMakeCurrent(display, NULL, NULL, theirs), 1);
    try {
      egl[Symbol.dispose]();
      assertEquals(native().eglGetCurrentContext(), theirs);
      eglDevices();
      assertEquals(native().eglGetCurrentContext(), theirs);
      assertEquals(native().eglMakeCurrent(display, NULL, NULL, NULL), 1);
      assertEquals(native().eglBindAPI(OPENGL), 1);
      EglContext.open()[Symbol.dispose]();
      assertEquals(native().eglQueryAPI(), OPENGL);
    } finally {
      native().eglMakeCurrent(display, NULL, NULL, NULL);
      native().eglDestroyContext(display, theirs);
      native().eglBindAPI(before === EGL_NONE ? EGL_OPENGL_ES_API : before);
    }
  },
});

test("a context of a program's shares its textures, and stays as it is", (egl) => {
  using theirs = EglContext.open(); // it stands for the program's
  const { display, handle: context, openContext } = theirs;
  const names = new Uint32Array(1);
  const pixels = new Uint8Array(4 * 4 * 4).fill(77);
  using picture = theirs.image.allocate({ format: "RGBA", width: 4, height: 4 });
  theirs.queue.write(picture, pixels);
  theirs.queue.finish();
  names[0] = picture.planes[0].handle.name;
  const before = ledger.alive;
  {
    using attached = EglContext.attach({ display, context });
    using wrapped = attached.image.attach([names[0]], { format: "RGBA", width: 4, height: 4 });
    assertEquals(bytesOf(attached, wrapped), pixels);
    attached.queue.fill(wrapped, [0, 0, 1, 1]);
    attached.queue.finish();
    assertEquals(wrapped.planes[0].handle.name, names[0]);
  }
  assertEquals(ledger.alive, before);
  openContext.within(() => {
    gles().glBindTexture(GL_TEXTURE_2D, names[0]); // it is still there
    assertEquals(gles().glGetError(), 0);
  });
  assertEquals([...bytesOf(theirs, picture).subarray(0, 4)], [0, 0, 255, 255]);
  using alone = EglContext.attach({ display: egl.display });
  assertEquals(alone.display, egl.display);
});

test("a context ends what was made in it", async () => {
  const before = ledger.alive;
  const inner = EglContext.open();
  const picture = inner.image.allocate({ format: "NV12", width: 8, height: 8 });
  assert(picture.planes[0].handle.image > 0n);
  using sync = inner.reusableSync();
  inner[Symbol.dispose]();
  assertThrows(() => picture.planes[0].handle, "disposed");
  assertThrows(() => sync.handle, "disposed");
  await assertAlive(before, "alive after the context");
});

test("an invalid display is an error", () => {
  const error = assertThrows(() => EglContext.attach({ display: 64n as Address }));
  assertStringIncludes(String(error), "EGL_BAD_DISPLAY");
});

Deno.test("egl: importing it opens no library", async () => {
  const code = `import "${new URL("../../src/egl/mod.ts", import.meta.url)}"; console.log(1)`;
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", code] }).output(); // it has no permission
  assertEquals(new TextDecoder().decode(stdout), "1\n");
});

Deno.test({
  name: "egl: without a library it says what to install",
  ignore: missing() !== undefined,
  fn: async () => {
    const code = `
      import { EglContext } from "${new URL("../../src/egl/mod.ts", import.meta.url)}";
      try { EglContext.open(); } catch (error) { console.log(error.name, error.hint); }`;
    const env = { SAMEPAGE_LIB_EGL: "/nowhere/libEGL.so" };
    const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", code], env }).output();
    assertStringIncludes(new TextDecoder().decode(stdout), "LibraryNotFoundError SAMEPAGE_LIB_EGL names it");
  },
});

test("open({ on }) takes the device of another context, and refuses where none is known to be that", (egl) => {
  using same = EglContext.open({ on: egl });
  assertEquals(same.id, egl.id);
  const error = assertThrows(() => EglContext.open({ on: host }), ArgumentError, "is known to be host (host)");
  assertEquals(error.argument, "on");
});

test("open({ on }) takes Vulkan's device, where both report one UUID", (egl) => {
  using on = VulkanContext.open({ uuid: egl.id.uuid! });
  using same = EglContext.open({ on });
  assertEquals(same.id.uuid, on.id.uuid);
}, lacksVulkan());

/** Why Vulkan does not have EGL's device here. */
function lacksVulkan(): string | undefined {
  if (missing() !== undefined || vulkanMissing() !== undefined) return missing() ?? vulkanMissing();
  using egl = EglContext.open();
  const has = egl.id.uuid !== undefined && vulkanDevices().some(({ id }) => id.uuid === egl.id.uuid);
  return has ? undefined : "Vulkan does not have this device";
}
